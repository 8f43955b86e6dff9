import Encoding
package import EventLoop
package import HTTP
import JSON
package import OpenID
package import Runtime
package import WireKit

/// The browser of a request, which a cookie identifies from page to page.
@EventLoop package final class Browser: RequestPart {
  package let key: BrowserKey
  /// Whether the browser has not sent the cookie, and so gets one.
  let isNew: Bool

  private nonisolated static let cookie = "__Host-dossier-browser"

  fileprivate init(_ request: Request) {
    let sent = Cookie.value(of: Self.cookie, in: request.field(.cookie)).flatMap { BrowserKey($0) }
    key = sent ?? BrowserKey()
    isNew = sent == nil
  }

  /// The field that sets the cookie.
  fileprivate var field: String {
    Cookie.setting(Self.cookie, to: key.text, for: Cookie.longestLifetime, .lax)
  }
}

extension Call {
  /// The browser; a new one if it has sent no cookie.
  ///
  /// Responses to it must be made by `response(with:)` or `redirect(to:)`, or be given to
  /// `keepBrowser(in:)`.
  package var browser: Browser {
    if let browser = context.part(Browser.self) { return browser }
    let browser = Browser(request)
    context.keep(browser)
    return browser
  }

  /// The key of the browser; nil if it has sent none.
  package var knownBrowser: BrowserKey? { browser.isNew ? nil : browser.key }

  /// Sets the cookie of a new browser that a page or an authorization depends on, and of a note.
  package func keepBrowser(in response: inout Response) {
    keepNote(in: &response)
    guard let browser = context.part(Browser.self), browser.isNew else { return }
    response.add(.setCookie, browser.field)
  }
}

/// An address that a browser keeps in an encrypted cookie.
///
/// It is bound to the browser and the app, and expires.
package enum BrowserNote: String {
  /// The address for which the browser last sent the right password, without getting a session.
  case password
  /// The address that the user wants to find in the form of the next sign-in.
  case address

  private var lifetime: Duration { self == .password ? .seconds(3_600) : Cookie.longestLifetime }

  /// Returns the address; nil if the browser has none.
  @EventLoop package func address(_ call: Call) -> String? {
    guard let browser = call.knownBrowser,
      let text = Cookie.value(of: name(call), in: call.request.field(.cookie)),
      let (json, hasExpired) = call.context.keys.master.openedText(
        text, as: sealName(browser.text, call)
      ), !hasExpired
    else { return nil }
    return json["email"]?.string
  }

  /// Sets the cookie with the response to this request; nil deletes it.
  @EventLoop package func keep(_ address: String?, _ call: Call) {
    var value = ""
    if let address {
      let json = JSONObject([("email", .string(address.excerpt(320)))])
      let name = sealName(call.browser.key.text, call)
      value = (try? call.context.keys.master.sealedText(json, as: name, for: lifetime)) ?? ""
    }
    let lifetime = value.isEmpty ? .zero : lifetime
    let field = Cookie.setting(name(call), to: value, for: lifetime, .lax)
    call.context.keep(KeptNote(field))
  }

  @EventLoop private func name(_ call: Call) -> String {
    "__Host-dossier-\(rawValue)-\(call.context.app.id)"
  }

  @EventLoop private func sealName(_ browser: String, _ call: Call) -> String {
    "note \(name(call)) \(browser)"
  }
}

/// The field of a cookie that the response to this request sets.
@EventLoop private final class KeptNote: RequestPart {
  let field: String

  init(_ field: String) { self.field = field }
}

extension Call {
  /// Sets the cookie that this request has kept.
  func keepNote(in response: inout Response) {
    if let note = context.part(KeptNote.self) { response.add(.setCookie, note.field) }
  }
}

extension Call {
  /// Finds the device on which the users of this browser are signed in at the pages.
  ///
  /// The domain then knows it as the device of the request.
  package func findSignInDevice() {
    guard context.device == nil,
      let secret = Cookie.value(of: signInCookie, in: request.field(.cookie))
    else { return }
    context.device = DeviceCredential(secret, isCookie: true, context)
  }

  /// Returns the users who are signed in at the pages in this browser, the active one first.
  ///
  /// A GET shows them, and each of its statements checks the session of the user again.
  /// - Throws: `.databaseUnavailable`.
  package func browserUsers() async throws(Failure) -> [BrowserUser] {
    findSignInDevice()
    return try await BrowserUsers.list(isLatest: request.method != .get, context)
  }

  /// Sets the cookie with the secret of that device.
  package func set(signInDevice secret: String?, in response: inout Response) {
    guard let secret else { return }
    let field = Cookie.setting(signInCookie, to: secret, for: Cookie.longestLifetime, .lax)
    response.add(.setCookie, field)
  }

  /// Browsers keep cookies by host, and one host may serve several apps.
  private var signInCookie: String { "__Host-dossier-signin-\(context.app.id)" }
}
