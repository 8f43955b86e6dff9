package import EventLoop
import JSON
package import Postgres

/// All users of an app, as lines that an import takes.
///
/// A page is a statement of its own that goes on behind the last id, and not a part of one long
/// transaction: a reader may be slow without holding back the clean-up of rows, and memory is that
/// of a page. A user is whole in its line; one that comes while it runs may be there or not.
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

  /// Records that users are exported.
  ///
  /// - Parameters:
  ///   - app: whose users.
  ///   - withHashes: whether lines have the hashes of passwords; without them `password_hash` is
  ///     null where there is one.
  ///   - context: the context of the request.
  /// - Returns: the export, before its first page.
  /// - Throws: `.unavailable`.
  package static func begin(
    of app: AppID,
    withHashes: Bool,
    _ context: RequestContext
  ) async throws(Failure) -> UserExport {
    try await context.transaction { transaction async throws(Failure) in
      try await Event("users_export", detail: ["password_hashes": .bool(withHashes)]).record(
        in: transaction,
        app: app,
        context
      )
    }
    return UserExport(app, withHashes, context)
  }

  /// The next lines, the oldest user first; nil when there are no more.
  ///
  /// - Throws: `.overloaded`, `.unavailable`.
  package mutating func next() async throws(Failure) -> (text: [UInt8], count: Int)? {
    guard !isOver else { return nil }
    let rows = try await context.search(UserExportQueries.page, app, cursor, size.count, withHashes)
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
  /// Put together as text: documents as they are stored, properties as they were spelled, and no
  /// nulls but those in documents.
  ///
  /// Served by `users_by_app`.
  static let page = Statement<ExportedUser, AppID, UserID?, Int, Bool>(
    "users.export",
    """
    select u.user_id, '{' || btrim(json_strip_nulls(json_build_object(
        'id', u.user_id, 'email', u.email,
        'email_verified', case when u.email is not null then u.email_verified end,
        'name', u.name, 'given_name', u.given_name, 'family_name', u.family_name,
        'nickname', u.nickname, 'phone', u.phone, 'locale', u.locale, 'zone', u.zone,
        'blocked', u.blocked_at is not null, 'created_at', u.created_at))::text, '{}')
      || coalesce((select ',"password_hash":'
          || case when $4::boolean and p.hash <> '*' then to_json(p.hash)::text else 'null' end
        from passwords p where p.user_id = u.user_id and u.email is not null), '')
      || coalesce((select ',"identities":' || json_agg(json_build_object(
          'provider', i.provider, 'subject', i.subject) order by i.created_at, i.identity_id)
        from identities i where i.user_id = u.user_id
          and i.provider not in ('anonymous', 'password', 'api-key', 'email')), '')
      || coalesce((select string_agg(',"' || d.class || '":' || d.body::text, '' order by d.class)
        from documents d where d.user_id = u.user_id and d.deleted_at is null), '')
      || coalesce((select ',"properties":' || json_object_agg(p.key, p.value::json order by p.key)
        from properties p where p.user_id = u.user_id), '')
      || '}'
    from users u
    where u.app_id = $1 and u.user_id > coalesce($2, '')
    order by u.user_id limit $3::bigint
    """
  )

  package static let all: [any PreparedStatement] = [page]
}
