import Declarations
import HTTP
import JSON
import Testing
import WireKit

@testable import RESTWire

/// Tests which responses are stored for repeated requests.
@Suite struct RepeatedResponseTests {
  private static let operations = RESTWire.chapters.flatMap(\.operations)

  @Test func `a response that is sent once is not stored`() {
    let response = Response(.ok, json: Array("{}".utf8))
    #expect(response.isKept && !response.sentOnce().isKept)
  }

  @Test func `the mark of a shape says that it gives secrets, and not its name`() {
    #expect(Shape.grant.named("Renamed", "The tokens of a session.").givesSecrets)
    #expect(Shape.list(of: .grant, atMost: 2).givesSecrets)
    #expect(Shape.list(of: .text.sentOnce(), atMost: 2).givesSecrets)
    #expect(!Shape.object(["name": .text]).named("Tokens", "No secrets.").givesSecrets)
  }

  @Test func `no route with tokens or secrets of a second factor stores responses`() {
    // The response with the secret of a client is stored encrypted.
    let secrets: Set<String> = ["access_token", "recovery_codes", "uri"]
    let giving = Self.operations.filter { operation in
      operation.gives.compactMap(\.shape).flatMap { $0.named + [$0] }.contains { shape in
        let names = shape.schema["properties"]?.object?.map(\.key) ?? []
        return !secrets.isDisjoint(with: names)
      }
    }
    #expect(giving.count > 10)
    #expect(giving.filter { $0.route.keepsAnswers }.map(\.route.name) == [])
  }
}
