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

  /// Returns the state that a client knows; nil if the cursor is not one of this user.
  package nonisolated static func state(
    in cursor: String, of user: UserID, _ master: MasterKey
  ) -> UserState? {
    MarkedCursor.numbers(of: cursor, for: purpose(user), count: UserPart.allCases.count, master)
      .map(UserState.init)
  }

  /// Returns the cursor of a state.
  package nonisolated static func cursor(
    of state: UserState, of user: UserID, _ master: MasterKey
  ) -> String {
    MarkedCursor.text(of: state.numbers, for: purpose(user), master)
  }

  /// Binds a cursor to its user, and to the format of the state.
  private nonisolated static func purpose(_ user: UserID) -> String { "user state 1 \(user.text)" }
}

enum UserStateQueries {
  /// Returns one row if the session is live: the numbers of `UserPart`.
  ///
  /// A deleted document has its version with a minus. Served by the primary keys, and by
  /// `sessions_live`.
  static let read = Statement<UserState, UserID, Principal>(
    "user_state.read",
    """
    select \(.numbers(of: "$1")) from users c where \(.isAuthorized)
    """)

  /// Returns a row for each user of `$1` who exists: whether a block is on, the sessions of `$2` with
  /// the reasons of those that have ended, and the numbers of `UserPart`.
  ///
  /// The numbers that take longest are null unless `$3` asks for them.
  static let watch = Statement<WatchedUser, TextArray, TextArray, Bool>(
    "user_state.watch",
    """
    select c.user_id, c.blocked_at is not null,
      coalesce((
        select string_agg(s.session_id || ':' || case
          when s.ended_at is null and s.expires_at > now() then ''
          else coalesce(s.end_reason, 'expired') end, ' ')
        from sessions s where s.user_id = c.user_id and s.session_id = any($2::text[])), ''),
      \(.numbers(of: "c.user_id", slowIf: "$3"))
    from users c where c.user_id = any($1::text[])
    """)
}

extension SQL {
  /// The numbers of `UserPart` of the user `c`, in their order.
  ///
  /// - Parameters:
  ///   - user: the id of the user.
  ///   - condition: whether to compute the numbers that take longest; they are null if not.
  /// - Returns: the columns.
  fileprivate static func numbers(of user: SQL, slowIf condition: SQL = "true") -> SQL {
    """
    \(versions(of: user)),
      \(hash(of: "select key, version from properties where user_id = \(user)")),
      \(hash(of: """
        select session_id from sessions
        where user_id = \(user) and ended_at is null and expires_at > now()
        """)),
      \(slow("select device_id, activated_at from device_accounts where user_id = \(user)", condition)),
      \(slow("select identity_id, subject from identities where user_id = \(user)", condition)),
      \(slow("""
        select factor_id, '' as name from second_factors
        where user_id = \(user) and confirmed_at is not null
        union all select passkey_id, name from passkeys where user_id = \(user)
        union all select 'codes', count(*)::text from recovery_codes where user_id = \(user)
        """, condition)),
      \(slow("select key_id, disabled_at from api_keys where user_id = \(user)", condition)),
      \(slow("select client_id, audience, scope from consents where user_id = \(user)", condition))
    """
  }

  /// The hash over rows if a condition holds, otherwise null.
  private static func slow(_ rows: SQL, _ condition: SQL) -> SQL {
    "case when \(condition) then \(hash(of: rows)) end"
  }

  /// The first 8 bytes of a hash over rows, in any order.
  private static func hash(of rows: SQL) -> SQL {
    """
    (select ('x' || left(encode(sha256(convert_to(
      coalesce(string_agg(r::text, ';' order by r::text), ''), 'UTF8')), 'hex'), 16))::bit(64)::bigint
    from (\(rows)) r)
    """
  }
}
