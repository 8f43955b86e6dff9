import Declarations
import EventLoop
import HTTP
import JSON
import TestSupport
import Testing
import WireKit

@testable import RESTWire

/// Tests that each route with versions evaluates its declared preconditions.
@Suite(.fewAtOnce) struct PreconditionTests {
  init() { LoopThread.start() }

  private static func scenarios(_ wanted: Versions) -> [Scenario] {
    let operations = RESTWire.chapters.flatMap(\.operations).filter { $0.versions == wanted }
    return Scenario.all.filter { scenario in
      operations.contains { $0.route.name == scenario.route }
    }
  }

  @EventLoop private func entered(
    _ scenario: Scenario, _ cast: Fixtures
  ) async throws -> TestRequest {
    let route = try #require(TestService.routes.first { $0.name == scenario.route })
    var question = try await scenario.question(cast)
    question.enter(route.access, as: cast)
    return question
  }

  @Test(arguments: Scenario.all)
  @EventLoop func `malformed preconditions are refused`(_ scenario: Scenario) async throws {
    let cast = try await TestService.shared.value.get().cast()
    var question = try await entered(scenario, cast)
    for (field, value) in [(FieldName.ifMatch, "7"), (.ifNoneMatch, "\"7")] {
      question.fields[.ifMatch] = nil
      question.fields[.ifNoneMatch] = nil
      question.fields[field] = value
      let reply = await cast.ask(question)
      #expect(reply.status == 400 && reply.code == "condition_malformed", "\(value): \(reply)")
    }
  }

  @Test(arguments: scenarios(.read))
  @EventLoop func `an unchanged resource is not sent again`(_ scenario: Scenario) async throws {
    let cast = try await TestService.shared.value.get().cast()
    var question = try await entered(scenario, cast)
    let whole = await cast.ask(question)
    let tag = try #require(whole[.entityTag])
    for value in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
      question.fields[.ifNoneMatch] = value
      let reply = await cast.ask(question)
      #expect(reply.status == 304 && reply.response.body.isEmpty, "\(value): \(reply)")
      for field in [FieldName.entityTag, .cacheControl, FieldName("Vary")] {
        #expect(reply[field] == whole[field], "\(field.text): \(reply)")
      }
    }
    question.fields[.ifNoneMatch] = "\"999\""
    #expect(await cast.ask(question).status == 200)
    question.fields = question.fields.filter { $0.key != .ifNoneMatch }
    question.fields[.ifMatch] = "\"999\""
    let moved = await cast.ask(question)
    #expect(moved.status == 412 && moved.code == "precondition_failed", "\(moved)")
  }

  @Test(arguments: Scenario.all.filter { $0.route.hasPrefix("GET ") && $0.status == 200 })
  @EventLoop func `every read evaluates its preconditions`(_ scenario: Scenario) async throws {
    let cast = try await TestService.shared.value.get().cast()
    var question = try await entered(scenario, cast)
    question.fields[.ifMatch] = "*"
    #expect(await cast.ask(question).status == 200)
    for value in ["\"999\"", ""] {
      question.fields[.ifMatch] = value
      let reply = await cast.ask(question)
      #expect(reply.status == 412 && reply.code == "precondition_failed", "\(value): \(reply)")
    }
    question.fields[.ifMatch] = nil
    question.fields[.ifNoneMatch] = "*"
    let known = await cast.ask(question)
    #expect(known.status == 304 && known.response.body.isEmpty, "\(known)")
    question.fields[.ifNoneMatch] = ""
    #expect(await cast.ask(question).status == 200)
  }

  @Test(arguments: Scenario.all.filter { !$0.route.hasPrefix("GET ") })
  @EventLoop func `a failed precondition prevents the write`(_ scenario: Scenario) async throws {
    let world = try await TestService.shared.value.get()
    let cast = try await world.cast()
    var question = try await entered(scenario, cast)
    let before = try await everything(cast)
    for value in ["\"999\"", ""] {
      question.fields[.ifMatch] = value
      let reply = await cast.ask(question)
      #expect([404, 409, 412].contains(reply.status), "If-Match: \(value): \(reply)")
    }
    question.fields[.ifMatch] = nil
    question.fields[.ifNoneMatch] = "*"
    if !makes(scenario) {
      let reply = await cast.ask(question)
      #expect([404, 409, 412].contains(reply.status), "\(reply)")
    }
    #expect(try await everything(cast) == before)
  }

  /// Returns whether the resource of a scenario does not exist yet.
  private func makes(_ scenario: Scenario) -> Bool {
    // A document in version 0 counts as absent. A POST creates a resource that its path does not name.
    scenario.route.hasSuffix("metadata")
      || scenario.route.hasSuffix("custom-data") && scenario.status == 200
      || scenario.route.hasPrefix("POST ")
      || scenario.route.hasPrefix("PUT ")
        && ["{key}", "{kind}"].contains(where: scenario.route.hasSuffix)
  }

  /// Returns all data of the user.
  @EventLoop private func everything(_ cast: Fixtures) async throws -> String {
    let reply = try await cast.expect(
      200, cast.asProgram(.get, "/v1/users/\(cast.user.id)/metadata")
    )
    let profile = try await cast.expect(200, cast.asProgram(.get, "/v1/users/\(cast.user.id)"))
    let sessions = cast.asProgram(.get, "/v1/users/\(cast.user.id)/sessions")
    return reply.text + profile.text + (try await cast.expect(200, sessions).text)
  }

  @Test @EventLoop func `a property is overwritten only with its current version`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    var question = cast.asUser(.put, "/v1/me/properties/volume", #"{"value":1}"#)
    question.fields[.ifMatch] = "*"
    #expect(await cast.ask(question).code == "version_conflict")
    question.fields[.ifMatch] = nil
    question.fields[.ifNoneMatch] = "*"
    #expect(await cast.ask(question).status == 200)
    #expect(await cast.ask(question).code == "version_conflict")
    question.fields[.ifMatch] = "\"1\""
    #expect(await cast.ask(question).code == "version_conflict")
    question.fields[.ifNoneMatch] = "\"1\""
    #expect(await cast.ask(question).status == 422)
    question.fields[.ifNoneMatch] = nil
    #expect(await cast.ask(question).status == 200)
  }

  @Test(arguments: scenarios(.write))
  @EventLoop func `a changed resource is not overwritten`(_ scenario: Scenario) async throws {
    let cast = try await TestService.shared.value.get().cast()
    var question = try await entered(scenario, cast)
    question.fields[.ifMatch] = "\"999\""
    let moved = await cast.ask(question)
    #expect([404, 412].contains(moved.status), "\(moved)")
    // An absent resource has no version.
    if moved.status == 412, scenario.status != 201 {
      let current = try #require(moved.json["current_version"]?.number?.text)
      #expect(moved.code == "precondition_failed")
      question.fields[.ifMatch] = "\"1\", \"\(current)\""
      #expect(await cast.ask(question).status == scenario.status)
    }
  }

  /// The ways to write a document: the method, the type and a harmless body.
  private static let writes: [(HTTP.Method, MediaType, String)] = [
    (.put, .json, "{}"), (.patch, .mergePatch, "{}"), (.patch, .jsonPatch, "[]"),
    // With so many objects that the worker merges them, not the database.
    (.patch, .mergePatch, "{\"a\":[\((0..<1_001).map { _ in "{}" }.joined(separator: ","))]}"),
  ]

  // With a schema, the worker merges.
  @Test(arguments: [false, true])
  @EventLoop func `a precondition has one meaning for all ways to write a document`(
    _ hasSchema: Bool
  ) async throws {
    let cast = try await TestService.shared.value.get().cast()
    for path in ["metadata", "custom-data"] {
      if hasSchema {
        try await cast.expect(201, cast.asOperator(.put, "/v1/schemas/\(path)", "true"))
      }
      for (field, value, first, second) in [
        (FieldName.ifMatch, "*", 200, 200), (.ifMatch, "\"0\"", 200, 412),
        (.ifMatch, "\"1\", \"7\"", 412, 200), (.ifNoneMatch, "*", 200, 412),
      ] {
        for (method, type, body) in Self.writes {
          cast.become(try await cast.person())
          var question = cast.asUser(method, "/v1/me/\(path)", body)
          question.fields[.contentType] = type.rawValue
          question.fields[field] = value
          let before = await cast.ask(question)
          #expect(before.status == first, "\(question.fields): \(before)")
          if before.status > 200 {
            try await cast.expect(200, cast.asUser(.put, "/v1/me/\(path)", "{}"))
          }
          let after = await cast.ask(question)
          #expect(after.status == second, "\(question.fields): \(after)")
        }
      }
    }
  }
}
