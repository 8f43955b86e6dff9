import Encoding
import EventLoop
import HTTP
import Localization
import OpenID
package import Pages
package import Runtime
import Tenancy
package import WireKit

/// The link by which the account page leads back to the client that has sent the user.
///
/// The client names its page in `return_to`. The browser remembers it for an hour, because the user
/// may have to sign in first.
extension Call {
  /// Keeps the page of the query, if a client of the app may name it.
  ///
  /// Another page is ignored, since an attacker could have made the link.
  /// - Throws: `.databaseUnavailable`.
  package func keepWayBack() async throws(Failure) {
    guard let query = FormValues(request.query), let url = query["return_to"] else { return }
    guard let way = try await wayBack(to: url, of: query["client_id"]) else { return }
    context.keep(way)
    BrowserNote.way.keep("\(way.client) \(url)", self)
  }

  /// Returns the link of the query, or else that of the visit; nil without one.
  ///
  /// - Throws: `.databaseUnavailable`.
  package func wayBack() async throws(Failure) -> Link? {
    if let way = context.part(WayBack.self) { return way.link }
    // The client may have changed since.
    guard let parts = BrowserNote.way.text(self)?.split(separator: " ", maxSplits: 1),
      let client = parts.first, let url = parts.last
    else { return nil }
    return try await wayBack(to: String(url), of: String(client))?.link
  }

  private func wayBack(to url: String, of client: String?) async throws(Failure) -> WayBack? {
    guard url.utf8.count <= ClientURL.longest,
      let destination = Destination(url, of: RedirectTarget(url))
    else { return nil }
    let id = client.map { ClientID($0) }
    if case .some(nil) = id { return nil }
    let found = try await ReturnURLs.find(
      url, at: destination.origin?.text, of: id ?? nil, context
    )
    return found.map { WayBack($0.id, .back(to: $0.name, at: destination)) }
  }
}

@EventLoop private final class WayBack: RequestPart {
  let client: ClientID
  let link: Link

  init(_ client: ClientID, _ link: Link) { (self.client, self.link) = (client, link) }
}
