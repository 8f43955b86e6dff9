import Declarations
import Testing
import WireKit

@testable import RESTWire
@testable import Reference

/// Tests the tables of the reference whose keys are routes.
@Suite struct EverydayWordsTests {
  private static let routes = Set(RESTWire.chapters.flatMap(\.operations).map(\.route.name))

  @Test func `everyday words and calls of the client belong to existing routes`() {
    #expect(Set(EverydayWords.all.keys).subtracting(Self.routes).isEmpty)
    #expect(Set(ClientCalls.all.keys).subtracting(Self.routes).isEmpty)
  }
}
