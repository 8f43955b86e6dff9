import Postgres
import Runtime
import Tenancy

/// A stored refresh token of a service, which goes to another user with its identity.
struct StoredIdentityToken: RowDecodable {
  let identity: IdentityID
  let client: String
  let connection: String
  let id: RefreshTokenID
  let sealed: [UInt8]

  init(from row: Row) throws(DatabaseError) {
    identity = try row.id(0)
    client = try row.text(1)
    connection = try row.text(2)
    id = try row.id(3)
    sealed = try row.binary(4)
  }
}

/// The refresh tokens of services whose identities go to another user.
enum LinkedTokenQueries {
  /// Deletes and returns the tokens of a user whose identities go to another one.
  ///
  /// - Parameter 2: the identity; null for all.
  static let take = Statement<StoredIdentityToken, UserID, IdentityID?>(
    "identity_tokens.take",
    """
    delete from identity_tokens
    where user_id = $1 and ($2::text is null or identity_id = $2) and not is_due
    returning identity_id, client_id, connection, token_id, sealed
    """)

  static let add = Statement<
    NoRow, UserID, IdentityID, String, AppID, String, RefreshTokenID, BinaryBytes
  >(
    "identity_tokens.add",
    """
    insert into identity_tokens (
      user_id, identity_id, client_id, app_id, connection, token_id, sealed)
    values ($1, $2, $3, $4, $5, $6, $7)
    """)
}
