import EventLoop
import HTTP
import JSON
import OpenID
import Runtime
import Sessions
import WireKit

/// Sessions and refresh tokens of users.
@EventLoop enum SessionRoutes {
  nonisolated static let routes =
    routes(
      of: .session, at: "sessions", "sessions", read: "read:sessions", delete: "delete:sessions"
    )
    + routes(
      of: .refreshToken, at: "refresh-tokens", "refresh tokens", read: "read:refresh_tokens",
      delete: "delete:refresh_tokens"
    ) + [
      Route(
        .post, "/api/v2/sessions/{session}/revoke", access: .management("delete:sessions"),
        summary: "End a session with its refresh tokens"
      ) { call async throws(Failure) in
        let name = try call.sessionName(.session)
        try await end(.init(name.session, sessions: true, refreshTokens: true), name, call)
        return Response(.accepted, json: JSONObject().serialized())
      },
      Route(
        .post, "\(UserRoutes.path)/{user}/revoke-access",
        access: .management("delete:sessions", "delete:refresh_tokens"), body: .json(limit: 4_096),
        summary: "End the sessions and refresh tokens of a user", revokeAccess
      ),
    ]

  private nonisolated static func routes(
    of kind: UserSessions.Kind, at name: String, _ words: String, read: String, delete: String
  ) -> [Route] {
    let list = "\(UserRoutes.path)/{user}/\(name)"
    let one = "/api/v2/\(name)/{session}"
    let (ofSessions, ofTokens) = (kind == .session, kind == .refreshToken)
    return [
      Route(.get, list, access: .management(read), summary: "List the \(words) of a user") {
        call async throws(Failure) in
        let query = try CheckpointParameters<Kinds.Session>(call.query)
        let user = try await call.managedUser()
        let page = try await UserSessions.page(
          kind, of: user, before: query.cursor, count: query.count, call.context
        )
        let id = try await ForeignIDs.id(of: user, call.context)
        var body = JSONObject()
        body[ofSessions ? "sessions" : "tokens"] = .array(
          page.items.map {
            SessionObject($0, kind, of: user, known: id, issuer: call.issuer).json
          }
        )
        body["next"] = page.next.map { .string($0.text) }
        return Response(.ok, json: body.serialized())
      },
      Route(.delete, list, access: .management(delete), summary: "End the \(words) of a user") {
        call async throws(Failure) in
        try await UserSessions.end(
          .init(sessions: ofSessions, refreshTokens: ofTokens), of: call.managedUser(), call.context
        )
        return Response(.accepted, json: JSONObject().serialized())
      },
      Route(.get, one, access: .management(read), summary: "Read one of the \(words)") {
        call async throws(Failure) in
        let name = try call.sessionName(kind)
        let found = try await UserSessions.find(kind, name.session, of: name.user, call.context)
        guard let found else { throw kind.unknown }
        let id = try await ForeignIDs.id(of: name.user, call.context)
        let shown = SessionObject(found, kind, of: name.user, known: id, issuer: call.issuer)
        return Response(.ok, json: shown.json.serialized())
      },
      Route(.delete, one, access: .management(delete), summary: "End one of the \(words)") {
        call async throws(Failure) in
        let name = try call.sessionName(kind)
        try await end(
          .init(name.session, sessions: ofSessions, refreshTokens: ofTokens), name, call
        )
        return Response(.accepted, json: JSONObject().serialized())
      },
    ]
  }

  /// Ends a session or refresh token, which need not be live.
  private static func end(
    _ ending: UserSessions.Ending, _ name: SessionName, _ call: Call
  ) async throws(Failure) {
    do throws(Failure) {
      try await UserSessions.end(ending, of: name.user, call.context)
    } catch .notFound {
      throw ending.includesSessions
        ? UserSessions.Kind.session.unknown : UserSessions.Kind.refreshToken.unknown
    }
  }

  private static func revokeAccess(_ call: Call) async throws(Failure) -> Response {
    let user = try await call.managedUser()
    var reader = MemberReader()
    var (session, preserves): (SessionID?, Bool) = (nil, false)
    for (name, value) in try call.json.objectOfBody where value != .null {
      switch name {
      case "session_id":
        guard let text = reader.string(name, value) else { continue }
        let named = SessionName(text)
        session = named?.user == user ? named?.session : nil
        if session == nil { reader.refuse(name, "value", "The user has no such session.") }
      case "preserve_refresh_tokens": preserves = reader.flag(name, value) ?? false
      default: reader.refuse(.unknownProperty(name))
      }
    }
    try reader.check()
    let scopes = call.context.principal.scopes
    // Each scope ends its own kind.
    guard scopes.contains("delete:sessions"),
      preserves || scopes.contains("delete:refresh_tokens")
    else { throw .insufficientScope("delete:sessions,delete:refresh_tokens") }
    try await UserSessions.end(
      .init(session, sessions: true, refreshTokens: !preserves), of: user, call.context
    )
    return Response(.accepted, json: JSONObject().serialized())
  }
}

extension Call {
  /// Returns the session or refresh token that the path names.
  ///
  /// - Throws: `.inexistentResource` if it is no id of one.
  fileprivate func sessionName(_ kind: UserSessions.Kind) throws(Failure) -> SessionName {
    guard let name = SessionName(text("session")) else { throw kind.unknown }
    return name
  }
}

extension UserSessions.Kind {
  /// The error for one that does not exist.
  fileprivate var unknown: Failure {
    switch self {
    case .session: Failure(.inexistentResource, "The session does not exist.")
    case .refreshToken: Failure(.inexistentResource, "The refresh token does not exist.")
    }
  }
}
