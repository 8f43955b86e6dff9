import EventLoop
import HTTP
import IdentitySubjects
import JSON
import OpenID
import Runtime
import Tenancy
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
        let user = try call.managedUser()
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
    let user = try call.managedUser()
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
    case .session: Failure.inexistentResource("The session does not exist.")
    case .refreshToken: Failure.inexistentResource("The refresh token does not exist.")
    }
  }
}

/// The id of a session or refresh token on the wire.
///
/// It has the id of the user before that of the session, since all data of a user has its id in its
/// key.
struct SessionName {
  let user: UserID
  let session: SessionID

  init(_ user: UserID, _ session: SessionID) { (self.user, self.session) = (user, session) }

  /// Parses the id of a client; returns nil for any other text.
  init?(_ text: String) {
    let bytes = text.utf8
    guard bytes.count == 48, let user = UserID(String(bytes.prefix(24)) ?? ""),
      let session = SessionID(String(bytes.suffix(24)) ?? "")
    else { return nil }
    self.init(user, session)
  }

  var text: String { user.text + session.text }
}

/// A session or refresh token as the Management API shows it.
struct SessionObject {
  let json: JSON

  /// - Parameters:
  ///   - session: the session or refresh token.
  ///   - kind: which of the two it is.
  ///   - user: the user.
  ///   - foreignID: the id by which clients know the user.
  ///   - issuer: the issuer of the app.
  init(
    _ session: UserSession, _ kind: UserSessions.Kind, of user: UserID, known foreignID: String,
    issuer: String
  ) {
    var object = JSONObject()
    object["id"] = .string(SessionName(user, session.id).text)
    object["user_id"] = .string(foreignID)
    object["created_at"] = .string(session.createdAt.milliseconds)
    object["idle_expires_at"] = .string(session.expiresAt.milliseconds)
    object["expires_at"] = .null
    object["device"] = [
      "initial_ip": session.address.map(JSON.string) ?? .null,
      "initial_user_agent": session.agent.map(JSON.string) ?? .null,
    ]
    switch kind {
    case .session:
      object["updated_at"] = .string(session.refreshedAt.milliseconds)
      object["authenticated_at"] = .string(session.authenticatedAt.milliseconds)
      object["last_interacted_at"] = .string(session.refreshedAt.milliseconds)
      object["clients"] = .array(session.clients.map { ["client_id": .string($0)] })
      let methods = session.methods.map { method -> JSON in
        ["name": .string(method), "timestamp": .string(session.authenticatedAt.milliseconds)]
      }
      object["authentication"] = ["methods": .array(methods)]
    case .refreshToken:
      object["last_exchanged_at"] = .string(session.refreshedAt.milliseconds)
      object["client_id"] = session.client.map { .string($0.text) } ?? .null
      object["session_id"] =
        session.parent.map { .string(SessionName(user, $0).text) } ?? .null
      object["rotating"] = true
      let audience = session.audience.map { ProvidedAPI.audience(of: $0, at: issuer) }
      object["resource_servers"] = [
        [
          "audience": .string(audience ?? Provider.userInfo(of: issuer)),
          "scopes": .string(session.scope),
        ]
      ]
    }
    json = .object(object)
  }
}
