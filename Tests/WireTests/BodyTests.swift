import Declarations
import EventLoop
import HTTP
import JSON
import TestSupport
import Testing
import WireKit

@testable import RESTWire

/// Tests that each route enforces its body rule, and reads no body of unauthorized callers.
@Suite(.fewAtOnce) struct BodyTests {
  init() { LoopThread.start() }

  private static let reading: [Scenario] = {
    let routes = RESTWire().routes.filter { $0.body != .none }.map(\.name)
    return Scenario.all.filter { routes.contains($0.route) }
  }()

  /// Returns the request of a scenario by an authorized caller.
  @EventLoop private func entered(
    _ scenario: Scenario, _ cast: Fixtures
  ) async throws -> (question: TestRequest, route: Route) {
    let route = try #require(TestService.routes.first { $0.name == scenario.route })
    var question = try await scenario.question(cast)
    question.enter(route.access, as: cast)
    return (question, route)
  }

  /// Returns the reply to a modified request.
  @EventLoop private func answer(
    _ question: TestRequest, _ cast: Fixtures, _ change: (inout TestRequest) -> Void
  ) async -> TestResponse {
    var question = question
    change(&question)
    return await cast.ask(question)
  }

  @Test(arguments: reading)
  @EventLoop func `a body that breaks the rule of its route is refused`(
    _ scenario: Scenario
  ) async throws {
    let cast = try await TestService.shared.value.get().cast()
    let (question, route) = try await entered(scenario, cast)
    for type in [nil, "text/plain", "application/json; charset=latin1", "json"] {
      let reply = await answer(question, cast) { $0.fields[.contentType] = type }
      #expect(reply.status == 415 && reply.code == "media_type" && !reply.wasRead, "\(reply)")
    }
    let long = await answer(question, cast) {
      $0.body = [UInt8](repeating: UInt8(ascii: " "), count: route.body.limit + 1)
    }
    #expect(long.status == 413 && long.code == "body_too_large", "\(long)")
    let truncated = await answer(question, cast) { $0.isTruncated = true }
    #expect(truncated.status == 400 && truncated.code == "body_truncated", "\(truncated)")
    guard route.body.mediaTypes.contains(where: { $0.rawValue.hasSuffix("json") }) else { return }
    for (text, code) in [
      ("", "json.empty"), ("{\"a\":1,}", "json.syntax"), ("{} {}", "json.trailing"),
      ("{\"a\":1,\"a\":2}", "json.duplicate_key"), ("\"\\u0000\"", "json.nul"),
      ("\"\\ud800\"", "json.surrogate"), ("1e999999", "json.number"),
      (String(repeating: "[", count: 73) + String(repeating: "]", count: 73), "json.depth"),
    ] {
      let reply = await answer(question, cast) { $0.body = Array(text.utf8) }
      #expect(reply.status == 400 && reply.code == code, "\(text): \(reply)")
    }
    let bytes = await answer(question, cast) { $0.body = [0x22, 0xff, 0x22] }
    #expect(bytes.status == 400 && bytes.code == "json.utf8", "\(bytes)")
    if route.body.formats.contains(.jsonPatch) {
      let reply = await answer(question, cast) { $0.send("[1]", as: .jsonPatch) }
      #expect(reply.status == 400 && reply.code == "patch_malformed", "\(reply)")
    }
  }

  @Test(arguments: reading)
  @EventLoop func `no body of an unauthorized caller is read`(_ scenario: Scenario) async throws {
    let route = try #require(TestService.routes.first { $0.name == scenario.route })
    guard route.access != .open else { return }
    let cast = try await TestService.shared.value.get().cast()
    let reply = await cast.ask(try await scenario.question(cast))
    #expect(reply.status == 401 && !reply.wasRead, "\(reply)")
  }

  @Test(arguments: reading)
  @EventLoop func `an unknown member is reported`(_ scenario: Scenario) async throws {
    let operation = RESTWire.chapters.flatMap(\.operations).first {
      $0.route.name == scenario.route
    }
    // The app chooses the members of documents, properties and schemas. Parts of imports are bytes.
    let free = ["metadata", "custom-data", "properties", "{kind}", "{key}", "picture", "{part}"]
    guard let operation, !free.contains(where: operation.route.pattern.hasSuffix) else { return }
    let cast = try await TestService.shared.value.get().cast()
    let question = try await entered(scenario, cast).question
    let reply = await answer(question, cast) { question in
      let text = String(decoding: question.body, as: UTF8.self)
      let rest = text.dropFirst()
      question.body = Array((#"{"is_unknown":1"# + (rest == "}" ? "" : ",") + rest).utf8)
    }
    #expect(reply.status == 422 && reply.code == "validation_failed", "\(reply)")
    let pointers = reply.json["errors"]?.array?.compactMap { $0["pointer"]?.string }
    #expect(pointers?.contains("/is_unknown") == true, "\(reply)")
  }
}
