import Dossier
import EventLoop
import HTTP
import Wiring

/// `/v1/me/sessions` and `/v1/me/audit`.
@EventLoop enum SessionResource {
  nonisolated static let operations =
    [Side.ownAccess, .programs].flatMap(operations) + [
      Operation(
        .get,
        "/v1/me/audit",
        access: .user(scope: Scopes.readUser),
        query: [.cursor],
        gives: [.ok(.events)],
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

  private nonisolated static func operations(_ side: Side) -> [Operation] {
    let pattern = "\(side.prefix)/sessions"
    return [
      Operation(
        .get,
        pattern,
        access: side.read,
        gives: [.ok(.sessions)],
        summary: "List the sessions that count"
      ) {
        (call) async throws(Failure) in
        Response(.ok, json: try await Sessions.list(of: call.caller, call.context))
      },
      Operation(
        .delete,
        pattern,
        access: side.write,
        gives: [.noContent],
        summary: "End all sessions but the caller's own"
      ) {
        (call) async throws(Failure) in
        try await Sessions.end(nil, by: call.caller, call.context)
        return Response(.noContent)
      },
      Operation(
        .delete,
        "\(pattern)/{session}",
        access: side.write,
        gives: [.noContent],
        summary: "End a session"
      ) {
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
