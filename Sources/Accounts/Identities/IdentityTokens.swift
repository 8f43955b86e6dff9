import EventLoop
import JSON
package import Postgres
package import Runtime
package import Tenancy

extension ExternalTokens.Identity {
  /// Sends the write of the refresh token, in a transaction that has locked the user.
  ///
  /// It replaces the token of an earlier sign-in by the same client, which the service forgets.
  /// - Throws: `.internalError` if it cannot be encrypted.
  @EventLoop func keepRefreshToken(of user: UserID, in transaction: Transaction) throws(Failure) {
    guard let refreshToken else { return }
    let id = RefreshTokenID()
    let sealed = try transaction.context.keys.master.sealed(
      refreshToken.json.serialized(), as: ExternalTokens.RefreshToken.name(id))
    _ = transaction.send(
      IdentityTokenQueries.keep, user, provider, subject, refreshToken.client,
      refreshToken.connection, id, BinaryBytes(sealed))
  }
}

/// A stored refresh token of a service, which goes to another user with its identity.
package struct StoredIdentityToken: RowDecodable {
  package let identity: IdentityID
  package let client: String
  package let connection: String
  package let id: RefreshTokenID
  package let sealed: [UInt8]

  package init(from row: Row) throws(DatabaseError) {
    identity = try row.id(0)
    client = try row.text(1)
    connection = try row.text(2)
    id = try row.id(3)
    sealed = try row.binary(4)
  }
}

/// The refresh tokens of services.
///
/// The statements that delete identities mark the tokens as due; `TokenRevocations` then revokes
/// them.
package enum IdentityTokenQueries {
  static let keep = Statement<
    NoRow, UserID, IdentityProvider, String, String, String, RefreshTokenID, BinaryBytes
  >(
    "identity_tokens.keep",
    """
    insert into identity_tokens (
      user_id, identity_id, client_id, app_id, connection, token_id, sealed)
    select i.user_id, i.identity_id, $4, i.app_id, $5, $6, $7::bytea
    from identities i where i.user_id = $1 and i.provider = $2 and i.subject = $3
    on conflict (user_id, identity_id, client_id) do update
    set connection = excluded.connection, token_id = excluded.token_id, sealed = excluded.sealed
    """)

  /// Deletes and returns the tokens of a user whose identities go to another one.
  ///
  /// - Parameter 2: the identity; null for all.
  package static let take = Statement<StoredIdentityToken, UserID, IdentityID?>(
    "identity_tokens.take",
    """
    delete from identity_tokens
    where user_id = $1 and ($2::text is null or identity_id = $2) and not is_due
    returning identity_id, client_id, connection, token_id, sealed
    """)

  package static let add = Statement<
    NoRow, UserID, IdentityID, String, AppID, String, RefreshTokenID, BinaryBytes
  >(
    "identity_tokens.add",
    """
    insert into identity_tokens (
      user_id, identity_id, client_id, app_id, connection, token_id, sealed)
    values ($1, $2, $3, $4, $5, $6, $7)
    """)
}
