import Tenancy
import Delivery
import Runtime
import HTTP
import JSON
import Postgres
import Records
import Testing
import WireKit

@testable import CommandKit
@testable import dossier

/// The requests of commands, and the reading of responses.
@Suite struct RequestTests {
  /// Not that of a test that exits.
  typealias Status = CommandKit.ExitStatus

  @Test func `a query is encoded`() {
    var request = APIRequest(.get, "/v1/users")
    #expect(request.target == "/v1/users")
    request.query = [("filter", #"email = "a&b@example.com""#), ("limit", "3")]
    #expect(request.target == "/v1/users?filter=email%20%3D%20%22a%26b%40example.com%22&limit=3")
  }

  @Test func `a name is encoded into one path segment`() {
    #expect(segment("a/../b?c#d%") == "a%2F..%2Fb%3Fc%23d%25")
  }

  @Test func `a body has the media type of its kind`() {
    #expect(APIRequest.Body.none.mediaType == nil)
    #expect(APIRequest.Body.json([:]).mediaType == .json)
    #expect(APIRequest.Body.mergePatch([:]).mediaType == .mergePatch)
    #expect(APIRequest.Body.patch(Array(" {}".utf8)).mediaType == .mergePatch)
    #expect(APIRequest.Body.patch(Array("\n []".utf8)).mediaType == .jsonPatch)
    #expect(APIRequest.Body.json(["a": 1]).bytes == Array(#"{"a":1}"#.utf8))
  }

  @Test func `the cursor of the next page is in the link`() {
    #expect(APIResponse.cursor(in: nil) == nil)
    let link = #"</v1/users?limit=3&cursor=697deec0e5087f36371ad126>; rel="next""#
    #expect(APIResponse.cursor(in: link) == "697deec0e5087f36371ad126")
    let filtered = #"</v1/users?filter=a%20cursor%3D&cursor=7&limit=3>; rel="next""#
    #expect(APIResponse.cursor(in: filtered) == "7")
  }

  @Test(arguments: [
    (Failure.unknownApp, Status.notFound), (.hostTaken, .conflict),
    (.preconditionFailed, .preconditionFailed), (.invalid, .invalid),
    (Failure(JSONError.Reason.syntax.type), .invalid), (.methodNotAllowed, .invalid),
    (.bodyTooLarge, .invalid), (.tooManyAttempts, .overloaded), (.searchTooSlow, .overloaded),
    (.mailNotConfigured, .configuration), (.internalError, .internalError),
    (.tokenMissing, .internalError),
  ])
  func `each type of error has an exit status`(_ failure: Failure, _ expected: Status) {
    #expect(Status(failure) == expected)
  }

  @Test func `a lost connection and an error of the server have different exit statuses`() {
    #expect(Status(Failure.databaseUnavailable) == .cannotConnect)
    let full = DatabaseError(SQLState(rawValue: "53100"), "No space left on device")
    #expect(Status(Failure.databaseUnavailable(cause: full)) == .notReady)
  }

  @Test func `a failed command prints the texts of the error`() {
    let fault = FieldError("/name", "slug", "A name has no spaces.")
    let failure = CommandFailure(.invalid([fault]), at: "/v1/apps")
    #expect(
      failure.reason == """
        \(Failure.invalid.type.title)
        \(Failure.invalid.type.remedy)
        /name: A name has no spaces. (slug)
        """)
    let missing = CommandFailure(.notFound, at: "/v1/apps/x")
    #expect(missing.reason.hasSuffix("\(Failure.notFound.type.remedy)\nPath: /v1/apps/x"))
  }
}

/// The attributes of a record, as operators type them.
@Suite struct RecordArgumentTests {
  private let api = ResourceServerRecord.table.shape
  private let issuer = IssuerRecord.table.shape

  private func values(_ texts: String...) -> [NamedValue] {
    texts.compactMap { NamedValue(argument: $0) }
  }

  @Test func `values are JSON of the type of their column, or text`() throws {
    let patch = try api.patch(
      of: values("name=7", "token_seconds=60", "skips_consent=false", "x=1"))
    #expect(
      JSON.object(patch)
        == ["name": "7", "token_seconds": 60, "skips_consent": false, "x": "1"])
    #expect(try api.patch(of: values("token_seconds=null"))["token_seconds"] == .null)
  }

  @Test func `members of an object are set and removed one by one`() throws {
    let patch = try api.patch(
      of: values("scopes.read:a.b=See = all", "scopes.c=null", "claims.tier={\"value\":1}"))
    #expect(patch["scopes"] == ["read:a.b": "See = all", "c": .null])
    #expect(patch["claims"] == ["tier": ["value": 1]])
  }

  @Test func `a secret comes from a file only`() throws {
    let failure = #expect(throws: CommandFailure.self) {
      try issuer.patch(of: values("secret=in-sight"))
    }
    #expect(failure?.status == .usage)
  }

  @Test func `the first argument is the first required column`() {
    #expect(ResourceServerRecord.first.name == "identifier")
    #expect(IssuerRecord.first.name == "name")
  }
}
