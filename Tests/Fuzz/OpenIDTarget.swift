import HTTP
import JSON
@testable import OpenID
@testable import OpenIDWire
import Runtime
@testable import Tenancy
import WireKit

extension FuzzTarget {
  /// Lines: the query of `/authorize`, a field `Authorization`, and URLs of a client.
  static let authorizations = FuzzTarget(
    "authorizations",
    words: [
      "client_id=", "&redirect_uri=", "&response_type=code", "&response_mode=", "web_message",
      "form_post", "query", "&scope=openid profile offline_access", "&state=", "&nonce=",
      "&code_challenge=", String(repeating: "A", count: 43), "&code_challenge_method=S256",
      "&prompt=none", "login consent", "&max_age=", "9223372036854775808", "&login_hint=",
      "&ui_locales=", "&screen_hint=signup", "&request_uri=", "%20", "%C3%A9", "%00", "+",
      "Basic ", "Og==", "https://app.example/cb", "myapp:/cb", "https://", "http://localhost:",
      "http://127.0.0.1", ":80/cb", "&prompt=create", "&acr_values=", "&connection=email",
      "[::1]", "@", ":65536", "javascript:", "\n",
    ],
    bound: MemoryBound(factor: 80, base: 262_144)
  ) { input in
    let lines = lines(input)
    checkRequest(text(lines[0]))
    if lines.count > 1, let credentials = BasicCredentials(text(lines[1])) {
      expect(!credentials.id.utf8.contains(0) && !credentials.secret.utf8.contains(0), "a NUL")
    }
    for line in lines.dropFirst(2) {
      checkURL(text(line))
      checkLogout(text(line))
    }
  }

  private static let registered = [
    "https://app.example/cb", "https://app.example/cb?a=1", "myapp:/cb", "http://127.0.0.1/cb",
    "http://[::1]:4000/cb?a=1", anyPort,
  ]
  private static let anyPort = "http://localhost:*"

  /// A client without settings but for its URLs; it has no secret.
  private static let client = Client(
    id: ClientID(),
    app: AppID(),
    kind: .native,
    name: "fuzz",
    scopes: Scopes(""),
    settings: ClientSettings(
      stored: ([
        "callback_urls": .array(registered.map(JSON.string)),
        "web_origins": ["https://app.example"],
      ] as JSON).serialized()
    )
  )

  private static func checkRequest(_ query: String) {
    guard let values = FormValues(query[...], repeating: .any),
      let (request, fault) = try? AuthorizationParameters.request(
        values, of: client, in: .deployment)
    else { return }
    expect(
      (registered + ["https://app.example"]).contains {
        $0.utf8.elementsEqual(request.redirect.utf8)
      } || isAtLoopback(request.redirect) || isAtLocalhost(request.redirect),
      "the browser is sent to \(request.redirect)"
    )
    expect((request.state?.utf8.count ?? 0) <= 2_048, "a long state is kept")
    expect(request.locales.count <= 10, "many languages are kept")
    if fault == nil {
      expect(request.challenge?.utf8.count == 43, "a public client needs no proof")
      expect(values["response_type"] == "code", "a response other than a code")
      expect(
        values.repeated.allSatisfy { $0.utf8.elementsEqual("resource".utf8) },
        "a repeated parameter is read"
      )
      expect(
        !request.prompts.contains(Prompt.none) || request.prompts.count == 1, "none among others"
      )
    }
    let stored = request.json
    expect(
      AuthorizationRequest(stored)?.json == stored, "a request that is stored reads as another"
    )
  }

  /// Returns whether a URL is a registered one at a loopback address, with any port.
  private static func isAtLoopback(_ url: String) -> Bool {
    [("http://127.0.0.1", "/cb"), ("http://[::1]", "/cb?a=1")].contains { host, path in
      guard url.utf8.starts(with: host.utf8),
        url.utf8.reversed().starts(with: path.utf8.reversed())
      else { return false }
      let port = url.utf8.dropFirst(host.utf8.count).dropLast(path.utf8.count)
      return port.isEmpty
        || port.first == UInt8(ascii: ":") && (2...6).contains(port.count)
          && port.dropFirst().allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    }
  }

  /// Returns whether a browser connects to a port of its own machine.
  private static func isAtLocalhost(_ url: String) -> Bool {
    let host = "http://localhost".utf8
    guard url.utf8.starts(with: host) else { return false }
    let port = url.utf8.dropFirst(host.count).prefix { !"/?#".utf8.contains($0) }
    guard port.first == UInt8(ascii: ":") else { return port.isEmpty }
    return UInt16(Substring(port.dropFirst())) ?? 0 > 0
  }

  /// Checks that a URL which counts as a registered one leads to the same host and page.
  private static func checkLogout(_ url: String) {
    if let page = LogoutURLs.page(of: url), ClientURL.matches(anyPort, page) {
      expect(isAtLocalhost(page), "the browser is sent to \(url)")
    }
    for known in registered {
      guard let page = LogoutURLs.page(of: known), LogoutURLs.page(of: url) == page else {
        continue
      }
      expect(url.utf8.starts(with: page.utf8), "the browser is sent to \(url)")
      let origins = [url, known].map { RedirectTarget($0).origin }
      expect(origins[0] == origins[1], "another host than \(known)")
      let rest = url.utf8.dropFirst(page.utf8.count)
      expect(rest.first.map { "?#".utf8.contains($0) } ?? true, "another page: \(url)")
      expect(!url.utf8.contains { $0 <= 0x20 || $0 >= 0x7f }, "a byte that splits a header field")
    }
  }

  private static func checkURL(_ url: String) {
    guard ClientURL.reason(against: url) == nil else { return }
    let target = RedirectTarget(url)
    expect(target.scheme != "javascript" && target.scheme != "data", "a page would run \(url)")
    expect(!target.isOfWeb || target.origin != nil, "a web page without an origin: \(url)")
    expect(!target.name.isEmpty, "people are shown nothing for \(url)")
  }
}
