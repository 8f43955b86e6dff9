import HTTP
import JSON
import Testing

@testable import dossier

/// The requests of commands, and the reading of responses.
@Suite struct RequestTests {
  /// Not that of a test that exits.
  typealias Status = dossier.ExitStatus

  @Test func `a query is encoded`() {
    var request = APIRequest(.get, "/v1/users")
    #expect(request.target == "/v1/users")
    request.query = [("filter", #"email = "a&b@example.com""#), ("limit", "3")]
    #expect(
      request.target == "/v1/users?filter=email%20%3D%20%22a%26b%40example.com%22&limit=3"
    )
  }

  @Test func `a name cannot leave its segment of a path`() {
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
    (404, "app_not_found", Status.notFound), (409, "host_taken", .conflict),
    (412, "precondition_failed", .preconditionFailed), (422, "invalid", .invalid),
    (400, "json.syntax", .invalid),
    (405, "method_not_allowed", .invalid), (413, "body_too_large", .invalid),
    (429, "too_many_attempts", .overloaded),
    (503, "search_too_slow", .overloaded), (503, "mail_not_configured", .configuration),
    (500, "internal", .internalError), (401, "token_missing", .internalError),
  ])
  func `each kind of problem has an exit status`(
    _ status: Int,
    _ code: String,
    _ expected: Status
  ) {
    #expect(Status(status, code, isConnected: false) == expected)
  }

  @Test func `a lost connection is told from a server that refuses`() {
    let code = "database_unavailable"
    #expect(Status(503, code, isConnected: false) == .cannotConnect)
    #expect(Status(503, code, isConnected: true) == .notReady)
  }
}
