package import Delivery
package import EventLoop
import Glibc
import JSON
import OpenIDClient
import Outbound
import Postgres
import Records
package import Runtime
import Tenancy

/// The revocation of refresh tokens at services, after identities have ended.
///
/// The statements that end identities queue nothing: `identity_tokens.is_due` marks the tokens. The
/// App Store demands the revocation of apps that delete accounts.
/// - Source: RFC 7009; Apple, "Offering account deletion in your app".
@EventLoop package enum TokenRevocations {
  /// The kind of their rows in the outbox.
  package nonisolated static let kind = "revocation"
  /// How long delivery is attempted: an operator may first have to replace a key.
  private nonisolated static let deliveryTimeout = Duration.seconds(7 * 86_400)

  /// Queues the revocation of tokens whose identities have ended.
  ///
  /// Tokens of connections that exist no more are deleted, and reported.
  /// - Returns: whether there may be more to queue.
  /// - Throws: the first failure, such as `.databaseUnavailable`, after the other tokens.
  package static func collect(_ context: RequestContext) async throws(Failure) -> Bool {
    let all = try await context.read(
      TokenRevocationQueries.due, TokenRevocationQueries.page, on: .exclusive)
    var first: Failure?
    var lost: [String: Int] = [:]
    for due in all {
      do throws(Failure) {
        if let loss = try await queue(due, context) { lost[loss, default: 0] += 1 }
      } catch {
        first = first ?? error
      }
    }
    for (loss, count) in lost.sorted(by: { $0.key < $1.key }) {
      context.mailer.report("\(count) refresh tokens are not revoked: \(loss)")
    }
    if let first { throw first }
    return all.count == TokenRevocationQueries.page
  }

  /// Moves a token to the outbox; returns why it was deleted instead, or nil.
  private static func queue(
    _ due: DueToken, _ context: RequestContext
  ) async throws(Failure) -> String? {
    let isConnected = try await connection(due.connection, of: due.app, context) != nil
    return try await context.transaction { transaction async throws(Failure) -> String? in
      let taken = try await transaction.run(
        TokenRevocationQueries.take, due.user, due.identity, due.client)
      // Another worker may have taken it.
      guard let token = taken.first else { return nil }
      guard isConnected else { return "connection \(due.connection) does not exist any more" }
      let name = ExternalTokens.RefreshToken.name(token.id)
      guard let json = transaction.context.keys.master.openedJSON(token.sealed, as: name) else {
        return "this master key does not decrypt them"
      }
      // Names of receivers are unique over all apps.
      let receiver = "connection \(due.app) \(due.connection)"
      try transaction.queue(json, kind, to: receiver, of: due.app, for: deliveryTimeout)
      return nil
    }
  }

  /// Returns a connection, also a disabled one; nil if it does not exist.
  private static func connection(
    _ key: String, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> Connection? {
    do throws(Failure) {
      return try await ConnectionRecord.table.find(key, of: app, context)
    } catch let error where error.is(.notFound) {
      return nil
    }
  }

  /// Revokes a token at its service.
  ///
  /// - Returns: `.unreachable` if the service does not answer, or refuses the client.
  /// - Throws: `.internalError` if the row cannot be read, `.databaseUnavailable`.
  package static func send(
    _ due: DueRow, _ context: RequestContext
  ) async throws(Failure) -> OutboxWorker.HandledRow {
    guard
      let json = context.keys.master.openedJSON(due.sealed, as: QueuedMail.name(due.id)),
      let token = ExternalTokens.RefreshToken(json)
    else { throw .internalError(reason: "it cannot be opened with this master key") }
    guard let connection = try await connection(token.connection, of: due.app, context) else {
      return lost("connection \(token.connection) does not exist any more", context)
    }
    do throws(Failure) {
      let credentials = try connection.credentials(as: token.client, context)
      let provider = try await context.upstream.provider(of: connection)
      guard provider.issuer.hasSameBytes(as: token.issuer) else {
        return lost("connection \(connection.key) is of another issuer now", context)
      }
      return try await revoke(token, credentials, at: provider, of: connection, context)
    } catch let error where error.is(.connectionUnavailable) {
      return .unreachable(reason: error.report ?? error.type.title)
    }
  }

  private static func revoke(
    _ token: ExternalTokens.RefreshToken, _ credentials: ClientCredentials, at provider: Provider,
    of connection: Connection, _ context: RequestContext
  ) async throws(Failure) -> OutboxWorker.HandledRow {
    do {
      let request = try TokenRequest(
        revoking: token.text, credentials, at: provider, now: time(nil))
      guard let request else {
        return lost("connection \(connection.key) has no revocation endpoint any more", context)
      }
      let answer = try await context.upstream.sendFromOutbox(HTTPCall(request), to: connection)
      try TokenResponse.verifyRevocation(status: answer.status, body: answer.body)
      return .finished
    } catch let error as OpenIDClientError {
      return .unreachable(reason: "connection \(connection.key): \(error.rule)")
    } catch {
      return .unreachable(reason: "connection \(connection.key): \(error)")
    }
  }

  private static func lost(
    _ reason: String, _ context: RequestContext
  ) -> OutboxWorker.HandledRow {
    context.mailer.report("a refresh token is not revoked: \(reason)")
    return .finished
  }
}

/// A refresh token whose identity has ended.
struct DueToken: RowDecodable {
  let user: UserID
  let identity: IdentityID
  let client: String
  let app: AppID
  let connection: String

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    identity = try row.id(1)
    client = try row.text(2)
    app = try row.id(3)
    connection = try row.text(4)
  }
}

/// A refresh token, encrypted under the name of its id.
struct SealedToken: RowDecodable {
  let id: RefreshTokenID
  let sealed: [UInt8]

  init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    sealed = try row.binary(1)
  }
}

package enum TokenRevocationQueries {
  /// The tokens that are read at once.
  static let page = 100

  /// Returns tokens whose identities have ended.
  ///
  /// It asks all shards. Served by `identity_tokens_due`.
  static let due = Statement<DueToken, Int>(
    "token_revocations.due",
    """
    select user_id, identity_id, client_id, app_id, connection from identity_tokens
    where is_due order by user_id limit $1::bigint
    """)

  /// Deletes and returns such a token.
  static let take = Statement<SealedToken, UserID, IdentityID, String>(
    "token_revocations.take",
    """
    delete from identity_tokens
    where user_id = $1 and identity_id = $2 and client_id = $3 and is_due
    returning token_id, sealed
    """)
}
