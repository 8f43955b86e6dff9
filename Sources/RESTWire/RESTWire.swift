package import HTTP
package import Wiring

/// Dossier's own REST API, `/v1`.
package struct RESTWire: Wire {
  package init() {}

  package var routes: [Route] { Self.chapters.flatMap(\.operations).map(\.route) }

  package func response(to refusal: Refusal, request id: RequestID) -> Response {
    Problem(refusal).response(id)
  }
}
