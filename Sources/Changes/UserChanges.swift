import Documents
package import EventLoop
import Postgres
package import Runtime

/// Reads what of a user has changed since a client last looked.
@EventLoop package enum UserChanges {
  /// Reads the state of the user of the request, in one statement.
  ///
  /// App metadata that users may not read counts as unchanged.
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func state(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> UserState {
    var state = try await context.first(UserStateQueries.read, user, context.principal)
      .orGone(context)
    if !DocumentKind.appMetadata.isReadable(context) { state[.appMetadata] = 0 }
    return state
  }

  /// Returns the state that a client knows.
  ///
  /// - Throws: `.cursorInvalid` if the cursor is not one of this user.
  package static func state(
    in cursor: String, of user: UserID, _ context: RequestContext
  ) throws(Failure) -> UserState {
    let numbers = MarkedCursor.numbers(
      of: cursor, for: purpose(user), count: UserPart.allCases.count, context)
    guard let numbers else { throw .cursorInvalid }
    return UserState(numbers)
  }

  /// Returns the cursor of a state.
  package static func cursor(
    of state: UserState, of user: UserID, _ context: RequestContext
  ) -> String {
    MarkedCursor.text(of: state.numbers, for: purpose(user), context)
  }

  /// Binds a cursor to its user, and to the format of the state.
  private static func purpose(_ user: UserID) -> String { "user state 1 \(user.text)" }
}

enum UserStateQueries {
  /// Returns one row if the session is live: the numbers of `UserPart`.
  ///
  /// A deleted document has its version with a minus. Served by the primary keys, and by
  /// `sessions_live`.
  static let read = Statement<UserState, UserID, Principal>(
    "user_state.read",
    """
    select c.version,
      \(.version(of: "metadata")), \(.version(of: "app_metadata")), \(.version(of: "custom_data")),
      \(.hash(of: "select key, version from properties where user_id = $1")),
      \(.hash(of: """
        select session_id from sessions
        where user_id = $1 and ended_at is null and expires_at > now()
        """)),
      \(.hash(of: "select device_id, activated_at from device_accounts where user_id = $1")),
      \(.hash(of: "select identity_id, subject from identities where user_id = $1")),
      \(.hash(of: """
        select factor_id, '' as name from second_factors
        where user_id = $1 and confirmed_at is not null
        union all select passkey_id, name from passkeys where user_id = $1
        union all select 'codes', count(*)::text from recovery_codes where user_id = $1
        """)),
      \(.hash(of: "select key_id, disabled_at from api_keys where user_id = $1")),
      \(.hash(of: "select client_id, audience, scope from consents where user_id = $1"))
    from users c where \(.isAuthorized)
    """)
}

extension SQL {
  /// The version of a document of the user; 0 before the first write.
  fileprivate static func version(of kind: SQL) -> SQL {
    """
    coalesce((
      select case when deleted_at is null then version else -version end
      from documents where user_id = $1 and kind = '\(kind)'), 0)
    """
  }

  /// The first 8 bytes of a hash over rows, in any order.
  fileprivate static func hash(of rows: SQL) -> SQL {
    """
    (select ('x' || left(encode(sha256(convert_to(
      coalesce(string_agg(r::text, ';' order by r::text), ''), 'UTF8')), 'hex'), 16))::bit(64)::bigint
    from (\(rows)) r)
    """
  }
}
