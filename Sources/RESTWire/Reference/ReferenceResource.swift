import Tenancy
import Runtime
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
      show("application/json", try texts(for: call).document)
    },
    Operation(
      .get,
      "/reference",
      access: .open,
      query: [.audience],
      gives: [Answer(status: .ok, says: "A page.", shape: nil, types: [.html])],
      summary: "Read the reference"
    ) { (call) throws(Failure) in
      show("text/html; charset=utf-8", try texts(for: call).page)
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

  private struct Texts {
    let document: [UInt8]
    let page: [UInt8]
  }

  /// The texts for all readers, and those for users only; a worker makes each once.
  private static var texts: [Bool: Texts] = [:]

  private static func texts(for call: Call) throws(Failure) -> Texts {
    let isForUsers = try isForUsers(call)
    if let texts = texts[isForUsers] { return texts }
    let chapters = isForUsers ? RESTWire.chaptersOfUsers : RESTWire.chapters
    let catalog = call.context.apps.catalog.settings
    let made = Texts(
      document: OpenAPI.document(of: chapters, catalog).serialized(),
      page: Array(ReferencePage.text(of: chapters, catalog, isForUsers: isForUsers).utf8)
    )
    texts[isForUsers] = made
    return made
  }

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
