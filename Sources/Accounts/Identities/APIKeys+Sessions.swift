import EventLoop
package import Postgres
package import Runtime
package import Sessions

extension APIKeys {
  /// Returns an access token for a key, for a protocol that asks for one before each request.
  ///
  /// The key has one session for that. A new one for each token would end the user's other sessions.
  /// - Parameters:
  ///   - text: the key.
  ///   - user: the user who must own the key.
  ///   - style: the style of the session.
  ///   - context: the context of the request.
  /// - Returns: the token.
  /// - Throws: as `signIn`; `.wrongCredentials` also for a key of another user.
  package static func accessToken(
    by text: String,
    of user: UserID,
    as style: SessionStyle,
    _ context: RequestContext
  ) async throws(Failure) -> String {
    let key = try await shown(text, context)
    guard key.owner == user else { throw .wrongCredentials }
    let found = try await context.readLatest(
      APIKeySessionQueries.session,
      user,
      key.id,
      style.name
    )
    if let found = found.first {
      context.principal = Principal(
        user,
        found.session,
        found.device,
        in: context.app.id,
        scopes: style.scopes
      )
      return try await Sessions.accessToken(as: style, context)
    }
    let credential = VerifiedCredential(of: user, .apiKey(key.id))
    return try await SignIn.complete(credential, as: style, context).accessToken
  }
}

/// A live session that a key has opened.
struct APIKeySession: RowDecodable {
  let session: SessionID
  let device: DeviceID

  init(from row: Row) throws(DatabaseError) {
    session = try row.id(0)
    device = try row.id(1)
  }
}

package enum APIKeySessionQueries {
  /// Returns the newest live session of a key and a style.
  static let session = Statement<APIKeySession, UserID, APIKeyID, String>(
    "api_key_sessions.session",
    """
    select session_id, device_id from sessions
    where user_id = $1 and key_id = $2 and style = $3 and ended_at is null and expires_at > now()
    order by session_id desc limit 1
    """
  )

  package static let all: [any PreparedStatement] = [session]
}
