import EventLoop
import TestSupport
import Testing
import Wiring

/// That every route does for those who may what it is there for.
@Suite(.fewAtOnce) struct ScenarioTests {
  init() { LoopThread.start() }

  @Test func `every route has one scenario`() async {
    let routes = await World.routes.map(\.name)
    #expect(routes.count > 100)
    #expect(Scenario.all.map(\.route).sorted() == routes.sorted())
  }

  @Test(arguments: Scenario.all)
  @EventLoop func `a route is granted to those who may`(_ scenario: Scenario) async throws {
    let world = try await World.shared.value.get()
    let cast = try await world.cast()
    let route = try #require(World.routes.first { $0.name == scenario.route })
    var question = try await scenario.question(cast)
    question.enter(route.access, as: cast)
    let reply = await cast.ask(question)
    #expect(reply.status == scenario.status, "\(reply)")
    #expect(reply.route?.name == scenario.route)
    #expect(reply.error == nil)
  }
}
