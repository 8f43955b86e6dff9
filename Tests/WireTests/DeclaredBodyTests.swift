import EventLoop
import JSON
import TestSupport
import Testing
import Wiring

@testable import RESTWire

/// That bodies are read as the reference says that they are.
@Suite(.fewAtOnce) struct DeclaredBodyTests {
  init() { LoopThread.start() }

  private static let operations = RESTWire.chapters.flatMap(\.operations).filter { operation in
    operation.takes?.isClosed == true || operation.takes?.variants.isEmpty == false
  }

  /// A body that has nothing of what it must have, and something that it must not.
  @Test(arguments: operations.map(\.route.name))
  @EventLoop func `what is missing and what is too much is told at once`(
    _ name: String
  ) async throws {
    let world = try await World.shared.value.get()
    let cast = try await world.cast()
    let operation = try #require(Self.operations.first { $0.route.name == name })
    let scenario = try #require(Scenario.all.first { $0.route == name })
    let shape = try #require(operation.takes)
    for shape in shape.isClosed ? [shape] : shape.variants {
      var body = JSONObject()
      body["surplus"] = 1
      let provider = shape.schema["properties"]?["provider"]?["const"]
      body["provider"] = provider
      var question = try await scenario.question(cast)
      question.enter(operation.route.access, as: cast)
      question.body = JSON.object(body).serialized()
      let reply = try await cast.expect(422, question)
      let required = shape.schema["required"]?.array?.compactMap(\.string) ?? []
      let expected =
        required.filter { $0 != "provider" || provider == nil }.map { "/\($0) missing" }
        + ["/surplus unknown_member"]
      let errors = reply.json["errors"]?.array ?? []
      let told = errors.map { "\($0["pointer"]?.string ?? "") \($0["code"]?.string ?? "")" }
      // The domain may find more, such as that none of several is there.
      #expect(Set(expected).isSubset(of: told), "\(reply)")
    }
  }
}

extension Shape {
  /// Whether it is an object that has no other members than those it names.
  fileprivate var isClosed: Bool { schema["additionalProperties"] == false }

  /// Bodies that are told apart by their provider.
  fileprivate var variants: [Shape] {
    named.filter { $0.schema["properties"]?["provider"]?["const"] != nil }
  }
}
