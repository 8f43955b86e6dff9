import FoundationEssentials
import ParraWire
import Testing
import WireKit

/// Compares the routes for clients of Parra with the list of the end-to-end tests.
@Suite struct ParraRouteTests {
  private static let list =
    #filePath.split(separator: "/").dropLast(2).map { "/\($0)" }.joined()
    + "/EndToEnd/parra_routes.tsv"

  @Test func `each route is in the list that test_parra_access reads`() throws {
    let wire = ParraWire()
    let routes = wire.routes.map { "\($0.name)\t\($0.access)" }
    let listed = try String(contentsOfFile: Self.list, encoding: .utf8).split(separator: "\n")
    #expect(listed.map(String.init).sorted() == routes.sorted())
  }
}
