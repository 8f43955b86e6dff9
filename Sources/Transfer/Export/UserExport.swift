package import Runtime
package import EventLoop
import JSON
package import Postgres

/// All users of an app, as lines for an import.
///
/// Each page is a separate statement that continues after the last id, not part of a long
/// transaction. A slow reader therefore does not delay vacuum, and memory holds one page. Each line
/// has a whole user. A user created during the export may be missing.
@EventLoop package struct UserExport {
  private let app: AppID
  private let withHashes: Bool
  private let context: RequestContext
  private var cursor: UserID?
  private var size = PageSize(1, upTo: 256)
  private var isOver = false

  private init(_ app: AppID, _ withHashes: Bool, _ context: RequestContext) {
    self.app = app
    self.withHashes = withHashes
    self.context = context
  }

  /// Starts an export, and records it in the audit log.
  ///
  /// - Parameters:
  ///   - app: the app of the users.
  ///   - withHashes: whether lines contain password hashes; otherwise `password_hash` is null for
  ///     users with a password.
  ///   - context: the context of the request.
  /// - Returns: the export, before its first page.
  /// - Throws: `.databaseUnavailable`.
  package static func begin(
    of app: AppID, withHashes: Bool, _ context: RequestContext
  ) async throws(Failure) -> UserExport {
    try await context.transaction { transaction async throws(Failure) in
      Event("users_export", detail: ["password_hashes": .bool(withHashes)]).record(
        in: transaction, app: app
      )
    }
    return UserExport(app, withHashes, context)
  }

  /// Returns the next lines, oldest user first; nil at the end.
  ///
  /// - Throws: `.overloaded`, `.databaseUnavailable`.
  package mutating func next() async throws(Failure) -> (text: [UInt8], count: Int)? {
    guard !isOver else { return nil }
    let rows = try await context.read(
      UserExportQueries.page, app, cursor, size.count, withHashes, on: .search)
    isOver = rows.count < size.count
    guard let last = rows.last else { return nil }
    cursor = last.user
    let text = rows.flatMap { $0.line + [UInt8(ascii: "\n")] }
    size.fit(text.count, in: rows.count)
    return (text, rows.count)
  }
}

/// A user as a line.
struct ExportedUser: RowDecodable {
  let user: UserID
  let line: [UInt8]

  init(from row: Row) throws(DatabaseError) {
    user = UserID(trusted: try row.text(0))
    line = try row.bytes(1)
  }
}

package enum UserExportQueries {
  /// Served by `users_by_app`.
  static let page = Statement<ExportedUser, AppID, UserID?, Int, Bool>(
    "users.export",
    """
    \(.exportedUser(withHashes: "$4"))
    where u.app_id = $1 and u.user_id > coalesce($2, '')
    order by u.user_id limit $3::bigint
    """)

  /// Returns those of some users that the app has.
  static let some = Statement<ExportedUser, AppID, TextArray, Bool>(
    "users.export_some",
    """
    \(.exportedUser(withHashes: "$3"))
    where u.app_id = $1 and u.user_id = any ($2::text[])
    order by u.user_id
    """)
}

extension SQL {
  /// Builds the lines of users: documents as stored, properties as spelled, nulls only inside
  /// documents.
  fileprivate static func exportedUser(withHashes: SQL) -> SQL {
    """
    select u.user_id, \(.userLine(of: "u.user_id", withHashes: "\(withHashes)::boolean"))
    from users u
    """
  }

  /// Returns the line of the user `u` for an import; `user` is its id.
  package static func userLine(of user: SQL, withHashes: SQL) -> SQL {
    """
    '{' || btrim(json_strip_nulls(json_build_object(
        'id', u.user_id, 'foreign_id', u.foreign_id, 'email', u.email,
        'email_verified', case when u.email is not null then u.email_verified end,
        'name', u.name, 'given_name', u.given_name, 'family_name', u.family_name,
        'nickname', u.nickname, 'phone', u.phone, 'locale', u.locale, 'zone', u.zone,
        'picture_url', u.picture_url,
        'blocked', u.blocked_at is not null, 'created_at', u.created_at,
        'last_login_at', u.last_login_at, 'login_count', nullif(u.login_count, 0)))::text, '{}')
      || coalesce((select ',"password_hash":'
          || case when \(withHashes) and p.hash <> '*' then to_json(p.hash)::text else 'null' end
        from passwords p where p.user_id = \(user) and u.email is not null), '')
      || coalesce((select ',"identities":' || json_agg(json_strip_nulls(json_build_object(
          'provider', i.provider,
          'subject', case when i.provider not in ('password', 'email') then i.subject end,
          'profile', nullif(i.profile - 'id', '{}'),
          'password_hash', case when \(withHashes) then i.password_hash end)) order by i.created_at, i.identity_id)
        from identities i where i.user_id = \(user)
          and i.provider not in ('anonymous', 'api-key', 'passkey')), '')
      || coalesce((select ',"passkeys":' || json_agg(json_strip_nulls(json_build_object(
          'credential_id', \(base64URL("k.credential")),
          'public_key', \(base64URL("k.public_key")),
          'user_handle', \(base64URL("k.user_handle")), 'rp_id', k.rp_id,
          'sign_count', nullif(k.sign_count, 0), 'backup_eligible', k.backup_eligible,
          'backed_up', k.backed_up, 'transports', string_to_array(nullif(k.transports, ''), ' '),
          'aaguid', encode(k.aaguid, 'hex')::uuid, 'name', k.name, 'created_at', k.created_at,
          'last_used_at', k.last_used_at)) order by k.created_at, k.passkey_id)
        from passkeys k where k.user_id = \(user)), '')
      || coalesce((select string_agg(',"' || d.kind || '":' || d.body::text, '' order by d.kind)
        from documents d where d.user_id = \(user) and d.deleted_at is null), '')
      || coalesce((select ',"properties":' || json_object_agg(p.key, p.value::json order by p.key)
        from properties p where p.user_id = \(user)), '')
      || '}'
    """
  }

  /// Returns bytes as base64url without padding.
  fileprivate static func base64URL(_ bytes: SQL) -> SQL {
    "translate(encode(\(bytes), 'base64'), E'+/=\\n', '-_')"
  }
}
