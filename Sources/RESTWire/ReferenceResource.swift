import Declarations
import Tenancy
import Runtime
import EventLoop
import HTTP
package import JSON
import Pages
import Reference
import WireKit
package import Records

/// `/openapi.json`, `/reference` and `/problems/{code}`.
@EventLoop enum ReferenceResource {
  nonisolated private static let page = Answer(
    status: .ok, says: "A page.", shape: nil, types: [.html]
  )

  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/openapi.json", access: .open, takes: .query(.audience),
      gives: [.ok(.object.shown(as: Example.openAPI), "An OpenAPI 3.1 document.")],
      summary: "Read the OpenAPI document"
    ) { (call) async throws(Failure) in
      show("application/json", try await reference(for: call).document)
    },
    Operation(
      .get, "/reference", access: .open, takes: .query(.audience, .search), gives: [page],
      summary: "Read the start of the reference, or search it"
    ) { (call) async throws(Failure) in
      let query = try ReferenceQuery(call, knows: ["for", "q"])
      let reference = await reference(query.audience, call)
      guard let text = query.text else { return show(reference.start, call) }
      return show(reference.results(for: text), call)
    },
    Operation(
      .get, "/reference/{chapter}", access: .open, takes: .query(.audience), gives: [page],
      refuses: [.routeNotFound], summary: "Read a chapter of the reference"
    ) { (call) async throws(Failure) in
      guard let page = try await reference(for: call).chapter(call.text("chapter")) else {
        throw .routeNotFound
      }
      return show(page, call)
    },
    Operation(
      .get,
      "/reference/assets/{file}",
      access: .open,
      gives: [
        Answer(status: .ok, says: "A file of the pages.", shape: nil, types: [.css, .javaScript])
      ],
      refuses: [.routeNotFound],
      summary: "Read the stylesheet or the script of the reference"
    ) { (call) throws(Failure) in
      guard let response = ReferenceFiles.all.response(for: call.text("file")) else {
        throw .routeNotFound
      }
      return response
    },
    Operation(
      .get, "/problems/{code}", access: .open, gives: [page], refuses: [.routeNotFound],
      summary: "Read the cause of a problem, and what to do"
    ) { (call) async throws(Failure) in
      let code = call.text("code")
      guard let type = RESTWire.problems.first(where: { $0.code.hasSameBytes(as: code) }) else {
        throw .routeNotFound
      }
      return show(await reference(.all, call).problem(type), call)
    },
  ]

  private static func reference(for call: Call) async throws(Failure) -> Reference {
    await reference(try ReferenceQuery(call, knows: ["for"]).audience, call)
  }

  private static func reference(_ audience: Reference.Audience, _ call: Call) async -> Reference {
    await Reference.shared(for: audience, subject(call.context.apps.catalog.settings))
  }

  nonisolated static func subject(_ settings: RecordShape) -> Reference.Subject {
    Reference.Subject(RESTWire.chapters, settings, RESTWire.problems) {
      Problem(Failure($0)).json(of: nil)
    }
  }

  private static func show(_ page: Reference.Rendered, _ call: Call) -> Response {
    show("text/html; charset=utf-8", page.bytes(at: call.origin))
  }

  private static func show(_ type: String, _ body: [UInt8]) -> Response {
    var response = Response(.ok)
    response.body = body
    response.add(.contentType, type)
    response.add(.cacheControl, "public, max-age=300")
    response.add(.contentSecurityPolicy, PageHeaders.strictPolicy)
    response.add(.referrerPolicy, "no-referrer")
    return response
  }
}

extension RESTWire {
  /// Returns the reference as `Reference.site` does, for the programs that make a site of it.
  ///
  /// - Parameter settings: the settings of apps.
  /// - Returns: the pages, their files and the places of the search.
  @EventLoop package static func referenceSite(_ settings: RecordShape) async -> JSON {
    await Reference.site(ReferenceResource.subject(settings))
  }
}

/// The query of a page of the reference.
private struct ReferenceQuery {
  let audience: Reference.Audience
  /// The text to search for; nil for none.
  let text: String?

  /// Reads the query.
  ///
  /// - Throws: `.invalid` with the errors of the parameters.
  @EventLoop init(_ call: Call, knows names: [String]) throws(Failure) {
    let values = try ListQuery.parameters(of: call.request.query)
    var faults = values.names.filter { !names.contains($0) }.map { name in
      let rule = "The query may have only \(names.joined(separator: " and "))."
      return FieldError(ofParameter: name, "query", rule)
    }
    switch values["for"] {
    case nil: audience = .all
    case "users": audience = .users
    default:
      audience = .all
      faults.append(FieldError(ofParameter: "for", "for", "The parameter for must be users."))
    }
    let search = values["q"] ?? ""
    if search.unicodeScalars.count > Reference.queryLimit {
      let rule = "q may have at most \(Reference.queryLimit) characters."
      faults.append(FieldError(ofParameter: "q", "q", rule))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    text = search.contains { !$0.isWhitespace } ? search : nil
  }
}

extension QueryParameter {
  fileprivate static let search = QueryParameter(
    name: "q", says: "the words to search for",
    shape: .text(0...Reference.queryLimit).like("forgot password")
  )
}
