import Declarations
import EventLoop
import HTTP
import JSON
import RESTWire
import Testing
import TestSupport
import WireKit

/// Tests that each change by an API client records an audit event in the same transaction.
@Suite(.fewAtOnce) struct AuditTests {
  init() { LoopThread.start() }

  /// The scenarios of all writes by API clients.
  static let writes = Scenario.all.filter {
    ($0.route.contains(" /v1/users") || $0.route.contains(" /v1/merges"))
      && !$0.route.hasPrefix("GET ")
  }

  /// A route that only reads; its body keeps the address of a user out of logs.
  private static let reading = "POST /v1/sign-in-checks"

  @Test @EventLoop func `the list has every route for writes by API clients`() {
    let routes = TestService.routes.filter { route in
      guard case .client = route.access else { return false }
      return route.method != .get && route.name != Self.reading
    }
    #expect(routes.map(\.name).sorted() == Self.writes.map(\.route).sorted())
  }

  @Test(arguments: writes)
  @EventLoop func `a write by an API client records an audit event`(_ scenario: Scenario)
    async throws
  {
    let world = try await TestService.shared.value.get()
    let cast = try await world.cast()
    var question = try await scenario.question(cast)
    let before = try await world.entries(of: cast.app, by: cast.program.id)
    question.authorize(cast.program.secret)
    try await cast.expect(scenario.status, question)
    #expect(try await world.entries(of: cast.app, by: cast.program.id) > before)
  }

  @Test(arguments: writes)
  @EventLoop func `a write fails if its audit event cannot be stored`(_ scenario: Scenario)
    async throws
  {
    let world = try await TestService.shared.value.get()
    let cast = try await world.cast()
    var question = try await scenario.question(cast)
    question.authorize(cast.program.secret)
    let before = try await everything(cast)
    try await world.refuseEntries(of: cast.app)
    try await cast.expect(500, question)
    #expect(try await everything(cast) == before)
  }

  /// Returns all data of the app that a write could change.
  @EventLoop func everything(_ cast: Fixtures) async throws -> [String] {
    var all: [String] = []
    let users = try await cast.expect(200, cast.asProgram(.get, "/v1/users")).json.array ?? []
    for user in users {
      let path = "/v1/users/\(user["id"]?.string ?? "")/export"
      var export = try await cast.expect(200, cast.asProgram(.get, path)).json.object
      export?["exported_at"] = nil
      all.append(String(decoding: (export ?? JSONObject()).serialized(), as: UTF8.self))
    }
    return all
  }
}
