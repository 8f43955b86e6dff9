import HTTP
import JSON
import OpenID
import Runtime
import Sessions
import Tenancy
import WireKit

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
      let audience = session.audience.map { ManagementAPI.audience(of: $0, at: issuer) }
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
