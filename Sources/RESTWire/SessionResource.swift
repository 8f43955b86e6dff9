import Declarations
import Representations
import Runtime
import Sessions
import EventLoop
import HTTP
import WireKit

/// `/v1/me/sessions` and `/v1/me/audit`.
@EventLoop enum SessionResource {
  nonisolated static let operations =
    [BasePath.meIdentities, .users].flatMap(operations) + [
      Operation(
        .get, "/v1/me/audit", access: .user(scope: Scopes.readUser), takes: .query(.limit, .cursor),
        gives: [.ok(.events)], summary: "List the user's audit events, the newest first"
      ) { (call) async throws(Failure) in
        let query = try ListQuery(call.request.query)
        let page = try await Audit.page(
          of: call.user, before: query.cursor(), count: query.limit, call.context
        )
        return query.response(page, call, \.json)
      }
    ]

  private nonisolated static func operations(_ base: BasePath) -> [Operation] {
    let pattern = "\(base.prefix)/sessions"
    return [
      Operation(
        .get, pattern, access: base.read, takes: .query(.limit, .cursor), gives: [.ok(.sessions)],
        summary: "List the live sessions, the newest first"
      ) {
        (call) async throws(Failure) in
        let query = try ListQuery(call.request.query)
        let page = try await Sessions.page(
          of: call.user, before: query.cursor(), count: query.limit, call.context
        )
        let current = call.context.principal.session
        return query.response(page, call) { $0.json(current: current) }
      }.viewing(.sessions),
      Operation(
        .delete, pattern, access: base.write, gives: [.noContent],
        summary: "End all sessions except the caller's own"
      ) {
        (call) async throws(Failure) in
        try await Sessions.end(nil, by: call.user, call.context)
        return Response(.noContent)
      }.needing(.support),
      Operation(
        .delete, "\(pattern)/{session}", access: base.write, gives: [.noContent],
        summary: "End a session"
      ) {
        (call) async throws(Failure) in
        try await Sessions.end(call.captured("session"), by: call.user, call.context)
        return Response(.noContent)
      }.needing(.support),
    ]
  }
}
