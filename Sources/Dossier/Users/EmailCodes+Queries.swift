package import Postgres

/// What a code was asked for.
struct AskedCode: RowDecodable {
  let key: String
  let email: String

  init(from row: Row) throws(DatabaseError) {
    key = try row.text(0)
    email = try row.text(1)
  }
}

/// The keyed hash of a code.
struct CodeHash: RowDecodable {
  let bytes: [UInt8]

  init(from row: Row) throws(DatabaseError) { bytes = try row.binary(0) }
}

package enum EmailCodeQueries {
  static let write = Statement<NoRow, AppID, CodeID, String, String, BinaryBytes, Int, Duration>(
    "email_codes.write",
    """
    insert into email_codes (app_id, code_id, email_key, email, code_hash, tries, expires_at)
    values ($1, $2, $3, btrim($4), $5, $6::bigint, now() + $7::interval)
    """
  )

  static let look = Statement<AskedCode, AppID, CodeID>(
    "email_codes.look",
    """
    select email_key, email from email_codes
    where app_id = $1 and code_id = $2 and tries > 0 and expires_at > now()
    """
  )

  /// Counts a try before it is made; no row when there is none left.
  static let spend = Statement<CodeHash, AppID, CodeID>(
    "email_codes.spend",
    """
    update email_codes set tries = tries - 1
    where app_id = $1 and code_id = $2 and tries > 0 and expires_at > now()
    returning code_hash
    """
  )

  /// Uses up all codes of an address; their ids.
  ///
  /// Served by `email_codes_by_address`.
  static let use = Statement<String, AppID, String>(
    "email_codes.use",
    "delete from email_codes where app_id = $1 and email_key = $2 returning code_id"
  )

  /// Makes a user who has proved an address and has no password.
  ///
  /// Fails by `identity_subjects_taken` when another has it.
  static let create = Statement<NoRow, UserID, AppID, IdentityID, String, String, String>(
    "email_codes.create",
    """
    with created as (
      insert into users (user_id, app_id, anonymous, email, email_verified)
      values ($1, $2, false, $4, true)
    ), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      values ($1, $3, $2, 'password', $5)
    ), password as (
      insert into passwords (user_id, hash) values ($1, $6)
    )
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    values ($2, 'email', $5, $1, $3)
    """
  )

  package static let all: [any PreparedStatement] = [write, look, spend, use, create]
}
