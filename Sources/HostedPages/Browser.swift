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
    keepNotes(in: &response)
    guard let browser = context.part(Browser.self), browser.isNew else { return }
    response.add(.setCookie, browser.field)
  }
}

/// A text that a browser keeps in an encrypted cookie.
///
/// It is bound to the browser and the app, and expires.
package enum BrowserNote: String {
  /// The address for which the browser last sent the right password, without getting a session.
  case password
  /// The address that the user wants to find in the form of the next sign-in.
  case address
  /// The id of the sign-in that waits until the user opens the link of a mail.
  case waiting
  /// The name of the connection by which the user has last signed in.
  case connection
  /// The page to which the account page leads back.
  case way
  /// The ids of the redirects of clients of App Services that have not come back.
  case redirects
  /// The users who want to be asked again about a passkey, on another day.
  case passkeyLater
  /// The users who want no passkey on this device.
  case passkeyNever
  /// The passkey that each of a few users has used last.
  case usedPasskeys

  private var lifetime: Duration {
    switch self {
    case .address, .connection, .usedPasskeys: Cookie.longestLifetime
    case .passkeyLater: .seconds(14 * 86_400)
    case .passkeyNever: .seconds(365 * 86_400)
    case .password, .waiting, .way, .redirects: .seconds(3_600)
    }
  }

  /// The longest text, in bytes: browsers refuse longer cookies.
  static let longest = 2_100

  /// Returns the text; nil if the browser has none.
  @EventLoop package func text(_ call: Call) -> String? {
    guard let browser = call.knownBrowser,
      let text = Cookie.value(of: name(call), in: call.request.field(.cookie)),
      let (json, hasExpired) = call.context.keys.master.openedText(
        text, as: sealName(browser.text, call)
      ), !hasExpired
    else { return nil }
    return json["text"]?.string
  }

  /// Sets the cookie with the response to this request; nil, or a text that is too long, deletes it.
  @EventLoop package func keep(_ text: String?, _ call: Call) {
    var value = ""
    if let text, text.utf8.count <= Self.longest {
      let json = JSONObject([("text", .string(text))])
      let name = sealName(call.browser.key.text, call)
      value = (try? call.context.keys.master.sealedText(json, as: name, for: lifetime)) ?? ""
    }
    let lifetime = value.isEmpty ? .zero : lifetime
    let field = Cookie.setting(name(call), to: value, for: lifetime, .lax)
    if let kept = call.context.part(KeptNotes.self) {
      kept.fields.append(field)
    } else {
      call.context.keep(KeptNotes(field))
    }
  }

  @EventLoop private func name(_ call: Call) -> String {
    "__Host-dossier-\(rawValue)-\(call.context.app.id)"
  }

  @EventLoop private func sealName(_ browser: String, _ call: Call) -> String {
    "note \(name(call)) \(browser)"
  }
}

/// The fields of the cookies that the response to this request sets.
@EventLoop private final class KeptNotes: RequestPart {
  var fields: [String]

  init(_ field: String) { fields = [field] }
}

extension Call {
  /// Sets the cookies that this request has kept.
  fileprivate func keepNotes(in response: inout Response) {
    for field in context.part(KeptNotes.self)?.fields ?? [] { response.add(.setCookie, field) }
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
