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
        query: [.limit, .cursor],
        gives: [.ok(.events)],
        summary: "Read what was done to the user, the newest first"
      ) { (call) async throws(Failure) in
        let query = try ListQuery(call.request.query)
        let page = try await Audit.page(
          of: call.caller,
          before: query.cursor(),
          count: query.limit,
          call.context
        )
        return query.response(page, call)
      }
    ]

  private nonisolated static func operations(_ side: Side) -> [Operation] {
    let pattern = "\(side.prefix)/sessions"
    return [
      Operation(
        .get,
        pattern,
        access: side.read,
        query: [.limit, .cursor],
        gives: [.ok(.sessions)],
        summary: "List the sessions that count, the newest first"
      ) {
        (call) async throws(Failure) in
        let query = try ListQuery(call.request.query)
        let page = try await Sessions.page(
          of: call.caller,
          before: query.cursor(),
          count: query.limit,
          call.context
        )
        return query.response(page, call)
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
