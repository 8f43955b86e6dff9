import EventLoop
import HTTP
import OpenID
import Runtime
import WireKit

/// The browser of a request, which a cookie identifies from page to page.
@EventLoop final class Browser: RequestPart {
  let key: BrowserKey
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
  var browser: Browser {
    if let browser = context.part(Browser.self) { return browser }
    let browser = Browser(request)
    context.keep(browser)
    return browser
  }

  /// The key of the browser; nil if it has sent none.
  var knownBrowser: BrowserKey? { browser.isNew ? nil : browser.key }

  /// Sets the cookie of a new browser that a page or an authorization depends on, and of a note.
  func keepBrowser(in response: inout Response) {
    keepNote(in: &response)
    guard let browser = context.part(Browser.self), browser.isNew else { return }
    response.add(.setCookie, browser.field)
  }
}
