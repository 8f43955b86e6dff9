import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/openapi.json`, `/reference` and what the `type` of a problem leads to.
@EventLoop enum ReferenceResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get,
      "/openapi.json",
      access: .open,
      query: [.audience],
      gives: [.ok(.object, "An OpenAPI 3.1 document.")],
      summary: "Describe this API for programs"
    ) { (call) throws(Failure) in
      switch call.request.query {
      case "": show("application/json", document)
      case "for=users": show("application/json", usersDocument)
      default: throw .invalid([Fault("", "query", "The query may only be for=users.")])
      }
    },
    Operation(
      .get,
      "/reference",
      access: .open,
      gives: [Answer(status: .ok, says: "A page.", shape: nil, types: [.html])],
      summary: "Describe this API for people"
    ) { _ in show("text/html; charset=utf-8", page) },
    Operation(
      .get,
      "/problems/{code}",
      access: .open,
      gives: [Answer(status: .ok, says: "A page.", shape: nil, types: [.html])],
      summary: "Tell what a kind of problem means and what to do"
    ) { (call) throws(Failure) in
      guard let type = ProblemType(rawValue: call.text("code")) else { throw .notFound }
      let page = ReferencePage.text(of: type, in: RESTWire.chapters)
      return show("text/html; charset=utf-8", Array(page.utf8))
    },
  ]

  // Made once a worker, when somebody asks.
  private static let document = OpenAPI.document(of: RESTWire.chapters).serialized()
  private static let usersDocument = OpenAPI.document(of: RESTWire.chapters.map(\.ofUsers))
    .serialized()
  private static let page = Array(ReferencePage.text(of: RESTWire.chapters).utf8)

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
