import Dossier
import EventLoop
import HTTP
import JSON
import WireKit

/// `/openapi.json`, `/reference` and `/problems/{code}`.
@EventLoop enum ReferenceResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get,
      "/openapi.json",
      access: .open,
      query: [.audience],
      gives: [.ok(.object.shown(as: Example.openAPI), "An OpenAPI 3.1 document.")],
      summary: "Read the OpenAPI document"
    ) { (call) throws(Failure) in
      show("application/json", try isForUsers(call) ? usersDocument : document)
    },
    Operation(
      .get,
      "/reference",
      access: .open,
      query: [.audience],
      gives: [Answer(status: .ok, says: "A page.", shape: nil, types: [.html])],
      summary: "Read the reference"
    ) { (call) throws(Failure) in
      show("text/html; charset=utf-8", try isForUsers(call) ? usersPage : page)
    },
    Operation(
      .get,
      "/problems/{code}",
      access: .open,
      gives: [Answer(status: .ok, says: "A page.", shape: nil, types: [.html])],
      summary: "Read the cause of a problem, and what to do"
    ) { (call) throws(Failure) in
      guard let type = ErrorType.named(call.text("code")) else { throw .notFound }
      let page = ReferencePage.text(of: type, in: RESTWire.chapters)
      return show("text/html; charset=utf-8", Array(page.utf8))
    },
  ]

  // A worker makes each page once, for the first request.
  private static let document = OpenAPI.document(of: RESTWire.chapters).serialized()
  private static let usersDocument = OpenAPI.document(of: RESTWire.chaptersOfUsers).serialized()
  private static let page = Array(ReferencePage.text(of: RESTWire.chapters).utf8)
  private static let usersPage = Array(
    ReferencePage.text(of: RESTWire.chaptersOfUsers, isForUsers: true).utf8
  )

  /// Returns whether the query requests the routes for users only.
  private static func isForUsers(_ call: Call) throws(Failure) -> Bool {
    switch call.request.query {
    case "": false
    case "for=users": true
    default: throw .invalid([Fault("", "query", "The query must be for=users.")])
    }
  }

  private static func show(_ type: String, _ body: [UInt8]) -> Response {
    var response = Response(.ok)
    response.body = body
    response.add(.contentType, type)
    response.add(.cacheControl, "public, max-age=300")
    response.add(.contentSecurityPolicy, ReferencePage.policy)
    response.add(.referrerPolicy, "no-referrer")
    return response
  }
}
