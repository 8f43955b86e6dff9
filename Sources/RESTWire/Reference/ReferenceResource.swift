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
      gives: [.ok(.object, "An OpenAPI 3.1 document.")],
      summary: "Describe this API for programs"
    ) { _ in show("application/json", document) },
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
      gives: [Answer(status: .seeOther, says: "It is in the reference.", shape: nil)],
      summary: "Lead to what a kind of problem means"
    ) { (call) throws(Failure) in
      guard let type = ProblemType(rawValue: call.text("code")) else { throw .notFound }
      var response = Response(.seeOther)
      response.add(.location, "/reference#\(type.rawValue)")
      return response
    },
  ]

  // Made once a worker, when somebody asks.
  private static let document = OpenAPI.document(of: RESTWire.chapters).serialized()
  private static let page = Array(ReferencePage.text(of: RESTWire.chapters).utf8)

  private static func show(_ type: String, _ body: [UInt8]) -> Response {
    var response = Response(.ok)
    response.body = body
    response.add(.contentType, type)
    response.add(.cacheControl, "public, max-age=300")
    // The page has a style and nothing that runs.
    response.add(
      .contentSecurityPolicy,
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors 'none'"
    )
    response.add(.referrerPolicy, "no-referrer")
    return response
  }
}
