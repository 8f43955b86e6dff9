import EventLoop
import TestSupport
import Testing
import WireKit

/// Tests that each route serves its authorized callers.
@Suite(.fewAtOnce) struct ScenarioTests {
  init() { LoopThread.start() }

  @Test func `every route has one scenario`() async {
    let routes = await TestService.routes.map(\.name)
    #expect(routes.count > 100)
    #expect(Scenario.all.map(\.route).sorted() == routes.sorted())
  }

  @Test(arguments: Scenario.all)
  @EventLoop func `a route serves its authorized callers`(_ scenario: Scenario) async throws {
    let world = try await TestService.shared.value.get()
    let cast = try await world.cast()
    let route = try #require(TestService.routes.first { $0.name == scenario.route })
    var question = try await scenario.question(cast)
    question.enter(route.access, as: cast)
    let reply = await cast.ask(question)
    #expect(reply.status == scenario.status, "\(reply)")
    #expect(reply.route?.name == scenario.route)
    #expect(reply.error == nil)
  }
}
