import Declarations
import EventLoop
import JSON
import TestSupport
import Testing
import WireKit

@testable import RESTWire

/// Tests that the server reads bodies as the reference describes them.
@Suite(.fewAtOnce) struct DeclaredBodyTests {
  init() { LoopThread.start() }

  private static let operations = RESTWire.chapters.flatMap(\.operations).filter { operation in
    operation.takes.shape?.isClosed == true || operation.takes.shape?.variants.isEmpty == false
  }

  /// Tests a body without required members and with an unknown one.
  @Test(arguments: operations.map(\.route.name))
  @EventLoop func `missing and unknown members are reported together`(_ name: String) async throws {
    let world = try await TestService.shared.value.get()
    let cast = try await world.cast()
    let operation = try #require(Self.operations.first { $0.route.name == name })
    let scenario = try #require(Scenario.all.first { $0.route == name })
    let shape = try #require(operation.takes.shape)
    for shape in shape.isClosed ? [shape] : shape.variants {
      var body = JSONObject()
      body["surplus"] = 1
      let provider = shape.schema["properties"]?["provider"]?["const"]
      body["provider"] = provider
      var question = try await scenario.question(cast)
      question.enter(operation.route.access, as: cast)
      question.body = body.serialized()
      let reply = try await cast.expect(422, question)
      let required = shape.schema["required"]?.array?.compactMap(\.string) ?? []
      let expected =
        required.filter { $0 != "provider" || provider == nil }.map { "/\($0) missing" }
        + ["/surplus unknown_member"]
      let errors = reply.json["errors"]?.array ?? []
      let told = errors.map { "\($0["pointer"]?.string ?? "") \($0["code"]?.string ?? "")" }
      // The domain may report more errors, such as a missing choice.
      #expect(Set(expected).isSubset(of: told), "\(reply)")
    }
  }
}

extension Shape {
  /// Whether the schema is an object without additional members.
  fileprivate var isClosed: Bool { schema["additionalProperties"] == false }

  /// Bodies that the member `provider` selects.
  fileprivate var variants: [Shape] {
    named.filter { $0.schema["properties"]?["provider"]?["const"] != nil }
  }
}
