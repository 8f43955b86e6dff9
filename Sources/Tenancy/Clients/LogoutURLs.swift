package import EventLoop
import JSON
package import Postgres
package import Runtime
import Encoding

/// The URLs to which browsers may be sent after a sign-out, compared without query and fragment.
@EventLoop package enum LogoutURLs {
  /// Returns whether a client of an app has registered a URL.
  ///
  /// - Parameters:
  ///   - url: the URL, which may have another query and a fragment.
  ///   - client: the client; nil for any client of the app.
  ///   - context: the context of the request.
  /// - Returns: whether it is registered.
  /// - Throws: `.databaseUnavailable`.
  package static func allow(
    _ url: String, of client: Client?, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    guard let page = page(of: url) else { return false }
    if let client {
      return client.settings.logoutURLs.compactMap(Self.page).contains { $0.hasSameBytes(as: page) }
    }
    return try await context.first(LogoutURLQueries.find, context.app.id, page) != nil
  }

  /// Returns a URL without query and fragment; nil if it cannot stand in a header field.
  ///
  /// The query and the fragment, which no client has registered, may be any text.
  nonisolated static func page(of url: String) -> String? {
    guard (1...ClientURL.longest).contains(url.utf8.count),
      url.utf8.allSatisfy(\.isVisible)
    else { return nil }
    return String(url.prefix { $0 != "?" && $0 != "#" })
  }
}

package enum LogoutURLQueries {
  /// Returns a client that has registered a URL; no row for none.
  ///
  /// Served by `clients_app_id_client_id_key`. Stored settings that are no list are left out.
  /// - Parameter 2: the URL, without query and fragment.
  static let find = Statement<String, AppID, String>(
    "logout_urls.find",
    """
    select c.client_id
    from clients c
    cross join lateral jsonb_array_elements_text(
      case when jsonb_typeof(c.settings -> 'logout_urls') = 'array' then c.settings -> 'logout_urls'
        else '[]' end) u (url)
    where c.app_id = $1 and c.disabled_at is null and split_part(u.url, '?', 1) = $2
    limit 1
    """)

  package static let all: [any PreparedStatement] = [find]
}
