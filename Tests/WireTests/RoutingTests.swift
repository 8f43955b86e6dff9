import Declarations
import EventLoop
import HTTP
import JSON
import RESTWire
import Testing
import TestSupport
import WireKit

/// Tests routing and CORS.
@Suite(.fewAtOnce) struct RoutingTests {
  init() { LoopThread.start() }

  private static let page = "https://app.example"

  @Test(arguments: [
    "/", "/v1", "/v1/me/", "/v1//me", "/v1/me/metadata/x", "/v2/me", "/v1/users/", "v1/me", "",
  ])
  @EventLoop func `an unknown path is reported`(_ path: String) async throws {
    let cast = try await TestService.shared.value.get().cast()
    let reply = await cast.ask(cast.asUser(.get, path))
    #expect(reply.status == 404 && reply.code == "route_not_found", "\(reply)")
    #expect(reply.route == nil)
  }

  @Test(arguments: ["/v1/me/properties/%", "/v1/me/properties/%g0", "/v1/me/properties/%ff"])
  @EventLoop func `a path that cannot be decoded is refused`(_ path: String) async throws {
    let cast = try await TestService.shared.value.get().cast()
    let reply = await cast.ask(cast.asUser(.get, path))
    #expect(reply.status == 400 && reply.code == "path_malformed", "\(reply)")
  }

  @Test @EventLoop func `each path lists its methods, and refuses others`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    for (pattern, routes) in Dictionary(grouping: TestService.routes, by: \.pattern) {
      var methods = Set(routes.map(\.method.rawValue))
      if methods.contains("GET") { methods.insert("HEAD") }
      let path = pattern.replacing("{", with: "").replacing("}", with: "")
      let other = await cast.ask(TestRequest(HTTP.Method(rawValue: "PURGE"), path))
      #expect(other.status == 405 && other.code == "method_not_allowed", "\(pattern): \(other)")
      #expect(Set(list(other[.allow])) == methods.union(["OPTIONS"]), "\(pattern)")
      let options = await cast.ask(TestRequest(.options, path))
      #expect(options.status == 204)
      #expect(Set(list(options[.allow])) == methods.union(["OPTIONS"]), "\(pattern)")
    }
  }

  private func list(_ field: String?) -> [String] {
    (field ?? "").split(separator: ",").map { $0.filter { $0 != " " } }
  }

  @Test(arguments: Scenario.all.filter { $0.route.hasPrefix("GET ") })
  @EventLoop func `each GET route answers HEAD`(_ scenario: Scenario) async throws {
    let cast = try await TestService.shared.value.get().cast()
    let route = try #require(TestService.routes.first { $0.name == scenario.route })
    var question = try await scenario.question(cast)
    question.enter(route.access, as: cast)
    question.method = .head
    let reply = await cast.ask(question)
    #expect(reply.status == scenario.status, "\(reply)")
    #expect(reply.route?.name == scenario.route)
  }

  // MARK: Pages of other origins

  @Test(arguments: Scenario.all)
  @EventLoop func `only pages of allowed origins may read a response`(
    _ scenario: Scenario
  ) async throws {
    let cast = try await TestService.shared.value.get().cast()
    let route = try #require(TestService.routes.first { $0.name == scenario.route })
    guard route.access != .loopback else { return }
    var question = try await scenario.question(cast)
    question.enter(route.access, as: cast)
    question.fields[.app] = cast.app
    for origin in [
      "https://evil.example", "null", "\(Self.page).evil.example", "http://app.example",
    ] {
      // The body is invalid, so that nothing changes.
      var foreign = question
      foreign.fields[.origin] = origin
      foreign.fields[.ifMatch] = "malformed"
      let reply = await cast.ask(foreign)
      #expect(reply[.accessAllowOrigin] == nil && reply[.accessAllowCredentials] == nil)
      #expect(reply[FieldName("Vary")] == "Origin")
    }
    question.fields[.origin] = Self.page
    let reply = await cast.ask(question)
    #expect(reply.status == scenario.status, "\(reply)")
    #expect(reply[.accessAllowOrigin] == Self.page)
    #expect(reply[.accessAllowCredentials] == "true")
    #expect(list(reply[.accessExposeHeaders]).contains("ETag"))
  }

  @Test @EventLoop func `only pages of allowed origins pass the preflight`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    var question = TestRequest(.options, "/v1/me/metadata")
    question.fields[.origin] = "https://evil.example"
    #expect(await cast.ask(question)[.accessAllowOrigin] == nil)
    question.fields[.origin] = Self.page
    let reply = await cast.ask(question)
    #expect(reply[.accessAllowOrigin] == Self.page && reply[.accessMaxAge] == "600")
    #expect(list(reply[.accessAllowMethods]).contains("PATCH"))
    #expect(list(reply[.accessAllowHeaders]).contains("Authorization"))
  }

  @Test @EventLoop func `an unknown app is reported`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    var question = cast.asUser(.get, "/v1/me")
    question.fields[.app] = "nowhere"
    let reply = await cast.ask(question)
    #expect(reply.status == 404 && reply.code == "app_not_found", "\(reply)")
  }
}
