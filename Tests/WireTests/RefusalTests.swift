import Declarations
import Runtime
import EventLoop
import HTTP
import JSON
import TestSupport
import Testing
import WireKit

@testable import RESTWire

/// Tests that each route refuses each kind of unauthorized caller with the right error.
@Suite(.fewAtOnce) struct RefusalTests {
  init() { LoopThread.start() }

  @Test(arguments: Scenario.all)
  @EventLoop func `a route refuses unauthorized callers`(_ scenario: Scenario) async throws {
    let world = try await TestService.shared.value.get()
    let route = try #require(TestService.routes.first { $0.name == scenario.route })
    let strangers = UnauthorizedCaller.allCases.filter { $0.refusal(at: route.access) != nil }
    #expect(!strangers.isEmpty)
    let shared = try await world.cast()
    let first = try await scenario.question(shared)
    for stranger in strangers {
      guard let refusal = stranger.refusal(at: route.access),
        // A browser also sends the cookie with reads, which change nothing.
        stranger != .onAForeignPage || route.method != .get
      else { continue }
      let cast = stranger.isDestructive ? try await world.cast() : shared
      var question = stranger.isDestructive ? try await scenario.question(cast) : first
      try await stranger.disguise(&question, at: route.access, cast)
      let reply = await cast.ask(question)
      let what = "\(stranger): \(reply)"
      #expect(reply.status == refusal.status && reply.code == refusal.code, "\(what)")
      #expect(reply[.contentType] == "application/problem+json")
      if refusal.status == 401, route.access != .open, route.access != .device {
        #expect(reply[.authenticate]?.hasPrefix("Bearer") == true, "\(what)")
      }
      if stranger == .withoutTheScope, case .user(let scope, _) = route.access {
        #expect(reply[.authenticate]?.contains("scope=\"\(scope)\"") == true, "\(what)")
      }
    }
  }

  /// Tests the errors of each route in the reference.
  @Test func `the reference lists the errors of each kind of access`() {
    for operation in RESTWire.chapters.flatMap(\.operations) {
      let told = Set(operation.problems.map(\.code))
      for stranger in UnauthorizedCaller.allCases {
        guard let refusal = stranger.refusal(at: operation.route.access) else { continue }
        #expect(told.contains(refusal.code), "\(operation.route.name)")
      }
    }
  }

  @Test(arguments: Scenario.all.filter { $0.route.contains("/v1/me") })
  @EventLoop func `a user neither reads nor changes data of another user`(
    _ scenario: Scenario
  ) async throws {
    let cast = try await TestService.shared.value.get().cast()
    var question = try await scenario.question(cast)
    let before = try await everything(cast)
    question.authorize(cast.stranger.access)
    let reply = await cast.ask(question)
    #expect(!reply.text.contains(cast.user.id), "\(reply)")
    // An id of the user's resource does not exist for the stranger.
    let captures = scenario.route.split(separator: "{").dropFirst().map { $0.prefix { $0 != "}" } }
    if captures.contains(where: { ["identity", "session"].contains($0) }) {
      #expect(reply.status == 404 && reply.code == "not_found", "\(reply)")
    }
    #expect(try await everything(cast) == before)
  }

  /// Returns all data of the user.
  @EventLoop private func everything(_ cast: Fixtures) async throws -> String {
    let export = try await cast.expect(200, cast.asUser(.get, "/v1/me/export")).text
    return export.replacing(/"exported_at"\s*:\s*"[^"]*"/, with: "")
  }
}
