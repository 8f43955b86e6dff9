import Declarations
import Runtime
import JSON
import TestSupport
import Testing

@testable import RESTWire

/// Tests the registry of errors.
@Suite struct ErrorTypeTests {
  @Test func `every declared type is listed`() throws {
    // The errors of these modules have a form of their own, and are no problems of the API.
    let declared =
      try Self.declaredCodes {
        !$0.hasPrefix("OpenID") && !$0.hasPrefix("ManagementWire")
      } + JSONError.Reason.allCases.map(\.rawValue)
    #expect(declared.sorted() == RESTWire.problems.map(\.code).sorted())
  }

  @Test func `a code belongs to one type`() throws {
    let codes = try Self.declaredCodes { _ in true } + JSONError.Reason.allCases.map(\.rawValue)
    let repeated = Dictionary(grouping: codes) { $0 }.filter { $0.value.count > 1 }.keys
    #expect(codes.count > RESTWire.problems.count && repeated.isEmpty)
  }

  @Test(arguments: RESTWire.problems)
  func `every type has a cause and a remedy`(_ type: ErrorType) {
    #expect(type.title.hasSuffix(".") && type.remedy.hasSuffix("."))
    #expect(type.title.first?.isUppercase == true && type.remedy.first?.isUppercase == true)
  }

  @Test(arguments: RESTWire.problems)
  func `a response without a detail has the remedy, and never the reason`(_ type: ErrorType) {
    let problem = Problem(Failure(type, reason: "the internal reason")).json(of: nil)
    #expect(problem["code"] == .string(type.code) && problem["title"] == .string(type.title))
    #expect(problem["detail"] == .string(type.remedy))
    #expect(!problem.text.contains("the internal reason"))
  }

  @Test func `a failure is caught by its type`() {
    func thrown(_ failure: Failure) -> String {
      do throws(Failure) {
        throw failure
      } catch .notFound {
        return "not found"
      } catch let error where error.is(.preconditionFailed) {
        return "version \(error["current_version"]?.text ?? "")"
      } catch {
        return "another"
      }
    }
    #expect(thrown(.notFound) == "not found")
    #expect(thrown(.preconditionFailed(current: 7)) == "version 7")
    #expect(thrown(.tokenExpired) == "another")
  }

  /// Returns the codes that the sources of some paths declare.
  private static func declaredCodes(in isRead: (String) -> Bool) throws -> [String] {
    try SourceFiles.all().filter { isRead($0.path) }.flatMap { _, text in
      text.matches(of: /(?m)^ +(?:package )?static let \w+ = Failure\(\s*"([^"]+)"/).map {
        String($0.1)
      }
    }
  }
}
