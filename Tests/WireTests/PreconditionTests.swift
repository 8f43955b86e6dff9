import EventLoop
import HTTP
import JSON
import TestSupport
import Testing
import Wiring

@testable import RESTWire

/// That every route with versions looks at the preconditions of its declaration.
@Suite struct PreconditionTests {
  init() { LoopThread.start() }

  private static func scenarios(_ wanted: Versions) -> [Scenario] {
    let operations = RESTWire.chapters.flatMap(\.operations).filter { $0.versions == wanted }
    return Scenario.all.filter { scenario in
      operations.contains { $0.route.name == scenario.route }
    }
  }

  @EventLoop private func entered(
    _ scenario: Scenario,
    _ cast: Cast
  ) async throws -> Question {
    let route = try #require(World.routes.first { $0.name == scenario.route })
    var question = try await scenario.question(cast)
    question.enter(route.access, as: cast)
    return question
  }

  @Test(arguments: Scenario.all)
  @EventLoop func `malformed preconditions are refused`(_ scenario: Scenario) async throws {
    let cast = try await World.shared.value.get().cast()
    var question = try await entered(scenario, cast)
    for (field, value) in [(FieldName.ifMatch, "7"), (.ifNoneMatch, "\"7"), (.ifMatch, "")] {
      question.fields[.ifMatch] = nil
      question.fields[.ifNoneMatch] = nil
      question.fields[field] = value
      let reply = await cast.ask(question)
      #expect(reply.status == 400 && reply.code == "condition_malformed", "\(value): \(reply)")
    }
  }

  @Test(arguments: scenarios(.read))
  @EventLoop func `what has not changed is not sent again`(_ scenario: Scenario) async throws {
    let cast = try await World.shared.value.get().cast()
    var question = try await entered(scenario, cast)
    let tag = try #require(await cast.ask(question)[.entityTag])
    for value in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
      question.fields[.ifNoneMatch] = value
      let reply = await cast.ask(question)
      #expect(reply.status == 304 && reply.response.body.isEmpty, "\(value): \(reply)")
      #expect(reply[.entityTag] == tag)
    }
    question.fields[.ifNoneMatch] = "\"999\""
    #expect(await cast.ask(question).status == 200)
    question.fields = question.fields.filter { $0.key != .ifNoneMatch }
    question.fields[.ifMatch] = "\"999\""
    let moved = await cast.ask(question)
    #expect(moved.status == 412 && moved.code == "version_moved", "\(moved)")
  }

  @Test(arguments: scenarios(.write))
  @EventLoop func `what has moved is not overwritten`(_ scenario: Scenario) async throws {
    let cast = try await World.shared.value.get().cast()
    var question = try await entered(scenario, cast)
    question.fields[.ifMatch] = "\"999\""
    let moved = await cast.ask(question)
    #expect([404, 412].contains(moved.status), "\(moved)")
    // What is not there yet has no version to be met.
    if moved.status == 412, scenario.status != 201 {
      let current = try #require(moved.json["current_version"]?.number?.text)
      #expect(moved.code == "version_moved")
      question.fields[.ifMatch] = "\"1\", \"\(current)\""
      #expect(await cast.ask(question).status == scenario.status)
    }
  }
}
