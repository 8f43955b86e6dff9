import Dossier
import EventLoop
import HTTP
import Wiring

/// `/v1/me/sessions` and `/v1/me/audit`.
@EventLoop enum SessionResource {
  nonisolated static let routes =
    [Side.ownAccess, .programs].flatMap(routes) + [
      Route(
        .get,
        "/v1/me/audit",
        access: .user(scope: Scopes.readUser),
        summary: "Read what was done to the user, the newest first"
      ) { (call) async throws(Failure) in
        let cursor: EventID? = try call.cursor()
        let page = try await Audit.page(of: call.caller, before: cursor, call.context)
        var response = Response(.ok, json: page.items)
        if let next = page.next {
          response.add(.link, "</v1/me/audit?cursor=\(next)>; rel=\"next\"")
        }
        return response
      }
    ]

  private nonisolated static func routes(_ side: Side) -> [Route] {
    let pattern = "\(side.prefix)/sessions"
    return [
      Route(.get, pattern, access: side.read, summary: "List the sessions that count") {
        (call) async throws(Failure) in
        Response(.ok, json: try await Sessions.list(of: call.caller, call.context))
      },
      Route(.delete, pattern, access: side.write, summary: "End all sessions but the caller's own")
      {
        (call) async throws(Failure) in
        try await Sessions.end(nil, by: call.caller, call.context)
        return Response(.noContent)
      },
      Route(.delete, "\(pattern)/{session}", access: side.write, summary: "End a session") {
        (call) async throws(Failure) in
        try await Sessions.end(call.captured("session"), by: call.caller, call.context)
        return Response(.noContent)
      },
    ]
  }
}

extension Call {
  /// Where a page of a list goes on: the `cursor` that the `Link` of the page before had.
  func cursor<ID: Identifier>() throws(Failure) -> ID? {
    guard !request.query.isEmpty else { return nil }
    let parts = request.query.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, parts[0] == "cursor", let id = ID(parts[1]) else {
      throw .invalid([Fault("", "query", "The query may only be cursor=… as a Link has it.")])
    }
    return id
  }
}
