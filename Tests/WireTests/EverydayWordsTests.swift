import Testing
import Wiring

@testable import RESTWire

/// Tables of the reference that go by the names of routes.
@Suite struct EverydayWordsTests {
  private static let routes = Set(RESTWire.chapters.flatMap(\.operations).map(\.route.name))

  @Test func `everyday words and calls of the client are those of routes that there are`() {
    #expect(Set(EverydayWords.all.keys).subtracting(Self.routes).isEmpty)
    #expect(Set(ClientCalls.all.keys).subtracting(Self.routes).isEmpty)
  }
}
