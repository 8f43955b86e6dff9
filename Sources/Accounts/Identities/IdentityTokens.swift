import EventLoop
import JSON
import Postgres
import Runtime
import Tenancy

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
}
