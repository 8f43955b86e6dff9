import Encoding
import EventLoop
import FoundationEssentials
import HTTP
import OpenIDWire
import Postgres
import Runtime
import Testing
import WireKit

/// Every form of the hosted pages, sent by another site, another browser or without cookies.
@Suite(.fewAtOnce) struct ForgedFormTests {
  @Test @EventLoop func `a form from another browser or page changes nothing`()
    async throws
  {
    let world = try await TestService.shared.value.get()
    let wire = OpenIDWire()
    let service = world.service(of: [wire])
    let victim = try await PageBrowser(world, service).signedUp("victim@forms.example")
    let attacker = try await PageBrowser(world, service).signedUp("attacker@forms.example")
    let routes = wire.routes.filter { route in
      // Other services send forms to these, with a state or a token of their own.
      route.method == .post && !route.pattern.hasPrefix("/u/callback/")
        && !route.pattern.hasPrefix("/u/backchannel-logout/")
        && ["/u/", "/account", "/oidc/logout/"].contains {
          route.pattern.hasPrefix($0)
        }
    }
    #expect(routes.count > 30)
    #expect(routes.allSatisfy { !$0.body.formats.isEmpty })
    let before = try await world.state()
    for route in routes {
      let forgeries = [
        victim.form(route, token: nil), victim.form(route, token: attacker.tokens[route.flow]),
        victim.form(route, token: "x"), victim.form(route, token: victim.tokens[route.otherFlow]),
        victim.form(route, token: victim.tokens[route.flow], origin: "https://evil.example"),
        victim.form(route, token: victim.tokens[route.flow], origin: "null"),
        victim.form(route, token: victim.tokens[route.flow], hasCookies: false),
      ]
      for (index, forgery) in forgeries.enumerated() {
        let response = await world.ask(forgery, of: service)
        #expect(response.status == 403, "\(route.name) \(index): \(response)")
      }
      #expect(try await world.state() == before, "\(route.name)")
    }
    // The own form is accepted, so the refusals above have their reason.
    let own = try #require(routes.first { $0.pattern == "/account/sign-out" })
    let response = await world.ask(victim.form(own, token: victim.tokens[own.flow]), of: service)
    #expect(response.status == 303, "\(response)")
    #expect(try await world.state() != before)
  }
}

/// A browser at the hosted pages.
@EventLoop private final class PageBrowser {
  private let world: TestService
  private let service: Service
  private var cookies: [String: String] = [:]
  private var authorization = ""
  private static let id = "0123456789abcdef01234567"
  /// The tokens of its forms, by their flow.
  private(set) var tokens: [Flow: String] = [:]

  init(_ world: TestService, _ service: Service) { (self.world, self.service) = (world, service) }

  func signedUp(_ email: String) async throws -> PageBrowser {
    let start = try await open("/account")
    let id = try #require(start[.location]).split(separator: "/")[1]
    let form = try await open("/u/\(id)/sign-up")
    let step = try #require(Self.value(of: "step", in: form.text))
    let token = try #require(Self.value(of: "csrf", in: form.text))
    let fields = "csrf=\(token)&step=\(step)&email=\(email)&new_password=correct+horse+battery"
    let signedIn = await send(request("/u/\(id)/sign-up", fields))
    #expect(signedIn[.location] == "/account", "\(signedIn)")
    // A sign-in that still waits has forms too.
    let another = try await open("/account/switch")
    tokens[.chooser] = Self.value(of: "csrf", in: another.text)
    let fresh = await send(request("/account/switch/another", "csrf=\(tokens[.chooser] ?? "")"))
    authorization = String(try #require(fresh[.location]).split(separator: "/")[1])
    tokens[.signIn] = Self.value(of: "csrf", in: try await open("/u/\(authorization)/sign-in").text)
    tokens[.account] = Self.value(of: "csrf", in: try await open("/account").text)
    tokens[.logout] = Self.value(of: "csrf", in: try await open("/oidc/logout").text)
    return self
  }

  /// Returns a form of a route.
  func form(
    _ route: Route, token: String?, origin: String? = nil, hasCookies: Bool = true
  ) -> TestRequest {
    let values = [
      "csrf": token, "step": "0", "once": "x", "email": "new@example.com",
      "password": "correct horse battery", "new_password": "another horse battery",
      "confirmation": "victim@forms.example", "name": "Eve", "code": "12345678", "token": "x",
      "decision": "allow", "user": "x", "session": Self.id,
    ].compactMapValues(\.self)
    let path = route.pattern.replacing("{authorization}", with: authorization)
      .replacing("{identity}", with: Self.id).replacing("{client}", with: Self.id)
    var request = request(
      path, values.map { "\($0)=\(PercentCoding.encode($1))" }.joined(separator: "&")
    )
    if case .multipart = route.body.formats[0] {
      let part = token.map {
        "--x\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n\($0)\r\n"
      }
      request.body = Array(((part ?? "") + "--x--\r\n").utf8)
      request.fields[.contentType] = "multipart/form-data; boundary=x"
    }
    if let origin { request.fields[.origin] = origin }
    if !hasCookies { request.fields[.cookie] = nil }
    return request
  }

  private func request(_ path: String, _ form: String? = nil) -> TestRequest {
    var request = TestRequest(form == nil ? .get : .post, path)
    if let form { request.send(form, as: .form) }
    request.fields[.host] = "id.example"
    request.fields[.origin] = "https://id.example"
    request.fields[.cookie] = cookies.map { "\($0)=\($1)" }.joined(separator: "; ")
    return request
  }

  private func open(_ path: String) async throws -> TestResponse { await send(request(path)) }

  private func send(_ request: TestRequest) async -> TestResponse {
    let response = await world.ask(request, of: service)
    for line in String(decoding: response.response.kept, as: UTF8.self).split(separator: "\r\n")
    where line.hasPrefix("Set-Cookie: ") {
      let pair = line.dropFirst(12).prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
      cookies[String(pair[0])] = String(pair[1])
    }
    return response
  }

  private static func value(of name: String, in html: String) -> String? {
    guard let start = html.firstRange(of: "name=\"\(name)\" value=\"") else { return nil }
    return String(html[start.upperBound...].prefix { $0 != "\"" })
  }
}

/// The flow or page to which the token of a form is bound.
private enum Flow { case signIn, account, chooser, logout }

extension Route {
  fileprivate var flow: Flow {
    if pattern.hasPrefix("/u/") { return .signIn }
    if pattern.hasPrefix("/oidc/") { return .logout }
    return pattern.hasPrefix("/account/switch") ? .chooser : .account
  }

  fileprivate var otherFlow: Flow { flow == .account ? .signIn : .account }
}

extension TestService {
  /// Returns everything that a form of these pages could change.
  fileprivate func state() async throws -> String {
    try await administration.write(
      Statement<String>(
        "wire.pages",
        """
        with own as (select user_id from users where email like '%@forms.example')
        select md5(string_agg(t, ' ' order by t)) from (
          select u::text from users u join own using (user_id)
          union all select s::text from sessions s join own using (user_id)
          union all select m::text from mail_tokens m join own using (user_id)
          union all select f::text from second_factors f join own using (user_id)
          union all select a::text from authorizations a) as rows (t)
        """)
    ).first ?? ""
  }
}
