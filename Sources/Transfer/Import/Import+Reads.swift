import Postgres
import Runtime
import Sessions
import Tenancy

/// The statements that find the existing data of a batch.
///
/// On a distributed database, each asks only the shards of its keys.
extension ImportQueries {
  /// Returns the keys of addresses, in their order.
  static let emailKeys = Statement<String, TextArray>(
    "imports.email_keys",
    """
    select email_key(r.email) from unnest($1::text[]) with ordinality as r (email, place)
    order by r.place
    """)

  /// Returns the users of subjects at a provider, also those that are no longer reserved for them.
  ///
  /// Served by the primary key.
  /// - Parameter 4: the time of the transaction.
  static let subjects = Statement<
    StoredSubject, AppID, IdentityProvider, TextArray, ServerTime
  >(
    "imports.subjects",
    """
    select subject, user_id, assigned, reserved_until is not null,
      coalesce(reserved_until <= $4::timestamptz, false)
    from identity_subjects
    where app_id = $1 and provider = $2 and subject = any ($3::text[])
    """)

  /// Returns those of some users that exist, in any app.
  static let users = Statement<StoredUser, TextArray>(
    "imports.users",
    """
    select user_id, app_id, foreign_id is not null, anonymous, email_key(email), email_verified,
      property_version_floor
    from users where user_id = any ($1::text[])
    """)

  /// Returns the identities of some users, the oldest first.
  static let identitiesOfUsers = Statement<StoredIdentity, TextArray>(
    "imports.identities_of_users",
    """
    select user_id, identity_id, provider, subject, verified_via_mail_only
    from identities where user_id = any ($1::text[]) order by created_at, identity_id
    """)

  /// Returns those of some ids that apps have.
  static let apps = Statement<UserID, TextArray>(
    "imports.apps", "select app_id from apps where app_id = any ($1::text[])"
  )

  /// Returns those of some ids that have events, and whether a former app has left them.
  static let events = Statement<FormerID, TextArray>(
    "imports.events",
    """
    select user_id, bool_or(app_id = user_id) from audit where user_id = any ($1::text[])
    group by user_id
    """)

  /// Returns those of some users whom the import has already changed, by their audit events.
  static let done = Statement<UserID, AppID, TextArray, ImportID>(
    "imports.done",
    """
    select distinct user_id from audit
    where app_id = $1 and user_id = any ($2::text[]) and action = 'user_import'
      and detail ->> 'import' = $3
    """)
}

/// The user of a subject.
struct StoredSubject: RowDecodable {
  let name: String
  let user: UserID
  let isAssigned: Bool
  /// Whether it is a former address of the user.
  let isReserved: Bool
  /// Whether it is not reserved any more, so that other users can get it.
  let isExpired: Bool

  init(from row: Row) throws(DatabaseError) {
    name = try row.text(0)
    user = try row.id(1)
    isAssigned = try row.bool(2)
    isReserved = try row.bool(3)
    isExpired = try row.bool(4)
  }
}

/// An existing user that matches a row, or conflicts with it.
struct StoredUser: RowDecodable {
  let id: UserID
  let app: AppID
  /// Whether Auth0's clients know the user by an id with which it came.
  let hasForeignID: Bool
  let isAnonymous: Bool
  /// The key of the address; nil without one.
  let emailKey: String?
  /// Whether the address is verified, perhaps by mail only.
  private let hasVerifiedEmail: Bool
  /// The greatest version of a deleted property.
  let propertyFloor: Int
  /// The oldest first.
  var identities: [StoredIdentity] = []

  init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    app = try row.id(1)
    hasForeignID = try row.bool(2)
    isAnonymous = try row.bool(3)
    emailKey = row.text(ifAny: 4)
    hasVerifiedEmail = try row.bool(5)
    propertyFloor = try row.int(6)
  }

  /// Whether the address is verified, and not by mail only.
  var isVerified: Bool { hasVerifiedEmail && !identities.contains(where: \.isVerifiedViaMailOnly) }

  /// Whether the user has no more than what a guest can have.
  var isGuest: Bool { identities.allSatisfy { $0.provider.isOfGuests } }
}

/// An identity of an existing user.
struct StoredIdentity: RowDecodable {
  let user: UserID
  let id: IdentityID
  let provider: IdentityProvider
  let subject: String
  let isVerifiedViaMailOnly: Bool

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    id = try row.id(1)
    provider = IdentityProvider(try row.text(2))
    subject = try row.text(3)
    isVerifiedViaMailOnly = try row.bool(4)
  }
}

/// An id with events.
struct FormerID: RowDecodable {
  let id: UserID
  /// Whether it is the id of a former app.
  let isOfApp: Bool

  init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    isOfApp = try row.bool(1)
  }
}

extension SQL {
  /// The columns of an `ImportProgress`, of the import `i`.
  fileprivate static let importProgress: SQL = """
    i.import_id, i.lines, i.bytes, i.digest, i.created, i.updated, i.skipped, i.failed,
      i.results_before, i.results
    """
}

/// The progress of imports.
package enum ImportQueries {
  static let find = Statement<ImportProgress, AppID, String>(
    "imports.find",
    """
    select \(.importProgress)
    from imports i where i.app_id = $1 and i.source = $2 for update
    """)

  /// Begins an import.
  ///
  /// - Parameter 4: whether it restarts an import that is there; if not, it returns no row for one.
  static let begin = Statement<ImportProgress, AppID, String, ImportID, Bool>(
    "imports.begin",
    """
    insert into imports as i (app_id, source, import_id) values ($1, $2, $3)
    on conflict (app_id, source) do update set import_id = excluded.import_id, lines = 0, bytes = 0,
      digest = '', created = 0, updated = 0, skipped = 0, failed = 0, results_before = 0,
      results = '', changed_at = excluded.changed_at, finished_at = null
    where $4::boolean
    returning \(.importProgress)
    """)

  /// Returns the number of finished lines; no row if another run has restarted the import.
  static let lock = Statement<Int, AppID, ImportID>(
    "imports.lock", "select lines from imports where app_id = $1 and import_id = $2 for update"
  )

  static let advance = Statement<
    ImportProgress, AppID, ImportID, TextBytes, BinaryBytes, TextBytes
  >(
    "imports.advance",
    """
    update imports i set lines = (p.at ->> 'lines')::bigint, bytes = (p.at ->> 'bytes')::bigint,
      digest = $4::bytea, created = (p.tally ->> 'created')::bigint,
      updated = (p.tally ->> 'updated')::bigint, skipped = (p.tally ->> 'skipped')::bigint,
      failed = (p.tally ->> 'failed')::bigint,
      results_before = i.results_before + octet_length(i.results), results = $5,
      changed_at = now(), finished_at = null
    from (select $3::jsonb -> 0, $3::jsonb -> 1) as p (tally, at)
    where i.app_id = $1 and i.import_id = $2
    returning \(.importProgress)
    """)

  /// Returns whether the import was unfinished.
  static let finish = Statement<Bool, AppID, ImportID>(
    "imports.finish",
    """
    update imports set finished_at = now(),
      results_before = results_before + octet_length(results), results = ''
    where app_id = $1 and import_id = $2 and finished_at is null returning true
    """)
}
