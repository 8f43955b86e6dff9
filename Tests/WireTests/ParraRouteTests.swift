import Declarations
import FoundationEssentials
import JSON
import Runtime
import Testing
import WireKit

@testable import ParraWire
@testable import RESTWire

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

/// Tests the errors for clients of Parra.
@Suite struct ParraErrorTests {
  private static let forms: [ErrorForm] = [.api, .oauth, .both]

  @Test func `each failure has a reason of its own in each form`() {
    for form in Self.forms {
      var bodies = RESTWire.problems.map { WireError(Failure($0), isOfIssuer: form != .api) }
      bodies.append(.unknownGrantType)
      let reasons = bodies.compactMap { $0.json(in: form)["reason"]?.string }
      #expect(reasons.count == RESTWire.problems.count + 1)
      #expect(Set(reasons).count == reasons.count)
    }
  }

  @Test(arguments: RESTWire.problems)
  func `a reason leads to its documentation, and the code stays one of the SDK`(_ type: ErrorType) {
    for form in Self.forms {
      let body = WireError(Failure(type), isOfIssuer: form != .api).json(in: form)
      #expect(body["reason"]?.string == type.code)
      let code = body["code"]?.string
      #expect(form == .oauth ? code == nil : code.flatMap(WireError.APICode.init) != nil)
    }
  }
}
