import Tenancy
package import Runtime
import EventLoop
package import Postgres

/// Sessions of credentials that a client sends with each request.
///
/// A new session for each request would end the user's other sessions.
extension Sessions {
  /// Returns the principal of the newest live session of a credential; nil without one.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func standing(
    by credential: VerifiedCredential, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> Principal? {
    try await context.readLatest(
      StandingSessionQueries.find, credential.user, credential.provider, credential.apiKey,
      style.name, context.app.sessionSettings.mfa == .required
    ).first.map {
      Principal(credential.user, $0.session, $0.device, in: context.app.id, scopes: style.scopes)
    }
  }
}

/// A session and its device.
package struct StandingSession: RowDecodable {
  let session: SessionID
  let device: DeviceID

  package init(from row: Row) throws(DatabaseError) {
    session = try row.id(0)
    device = try row.id(1)
  }
}

package enum StandingSessionQueries {
  /// Returns the newest live session of a credential and a style.
  ///
  /// - Parameter 3: the key, if the credential is one.
  /// - Parameter 5: whether the session must have had a second factor, or need none.
  static let find = Statement<
    StandingSession, UserID, IdentityProvider, APIKeyID?, String, Bool
  >(
    "standing_sessions.find",
    """
    select s.session_id, s.device_id from sessions s join users u on u.user_id = $1
    where s.user_id = $1 and s.provider = $2 and s.key_id is not distinct from $3 and s.style = $4
      and s.ended_at is null and s.expires_at > now() and u.blocked_at is null
      and meets_mfa($5::boolean, s.amr, s.provider, u.anonymous)
    order by s.session_id desc limit 1
    """)

  package static let all: [any PreparedStatement] = [find]
}
