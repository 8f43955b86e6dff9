package import Tenancy
package import Runtime
import EventLoop
package import Postgres

/// How the caller's session began, and the name of its style.
package struct CallerSession: RowDecodable {
  package let provider: IdentityProvider
  package let style: String
  /// Whether it has passed a second factor, or needs none.
  package let meetsSecondFactor: Bool

  package init(from row: Row) throws(DatabaseError) {
    provider = IdentityProvider(try row.text(0))
    style = try row.text(1)
    meetsSecondFactor = try row.bool(2)
  }
}

extension Sessions {
  /// Returns the caller's session.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func ofCaller(
    _ user: UserID, _ context: RequestContext
  ) async throws(Failure) -> CallerSession {
    let (caller, isRequired) = (context.principal, context.app.sessionSettings.mfa == .required)
    return try await context.read(SessionsQueries.ofCaller, user, caller, isRequired).first
      .orGone(context)
  }

  /// Returns the caller's session as a transaction sees it.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func ofCaller(
    _ user: UserID, in transaction: Transaction
  ) async throws(Failure) -> CallerSession {
    let isRequired = transaction.app.sessionSettings.mfa == .required
    let caller = transaction.principal
    return try await transaction.run(SessionsQueries.ofCaller, user, caller, isRequired).first
      .orGone(transaction.context)
  }

  /// Replaces the caller's session by a new one.
  ///
  /// The transaction has locked the user.
  /// - Parameters:
  ///   - user: the user.
  ///   - credential: what the user has shown; nil if the new session keeps that of the old one.
  ///   - methods: the methods of a second factor that was verified; empty without one.
  ///   - style: the style of the tokens.
  ///   - reason: why the old session ends.
  ///   - transaction: the transaction.
  /// - Returns: the new session.
  /// - Throws: `.wrongCredentials` if the credential is not valid any more, `.sessionEnded` if the
  ///   session has ended.
  package static func renew(
    _ user: UserID, by credential: VerifiedCredential?, secondFactor methods: String = "",
    as style: SessionStyle, _ reason: String, in transaction: Transaction
  ) async throws(Failure) -> LiveSession {
    let context = transaction.context
    guard let session = context.principal.session, let device = context.principal.device else {
      throw context.gone
    }
    try await credential?.sendCheck(in: transaction)()
    // A copy of the old secret would reach the new session. Wires without secrets have none to copy.
    let secret = style.keepsSessions ? nil : Credential(.device, of: device)
    let mustMeet = context.app.sessionSettings.mfa == .required && methods.isEmpty
    _ = transaction.send(SessionsQueries.retire, user, session, ServerTime(), reason, mustMeet)
    let renewed = transaction.send(
      SessionsQueries.renew,
      user,
      session,
      ServerTime(),
      SessionID(),
      credential?.provider,
      BinaryBytes(Credential.salt()),
      context.app.sessionSettings.sessionLifetime,
      context.address.text,
      context.agent,
      credential?.apiKey,
      credential?.authenticatedAt,
      style.name,
      methods
    )
    if !methods.isEmpty {
      _ = transaction.send(SessionsQueries.raiseAssurance, user, device, methods)
    }
    if let secret {
      let hash = secret.hash(context.keys.master)
      _ = transaction.send(SessionsQueries.replaceSecret, device, hash)
    }
    var live = try await renewed.rows().first.orGone(context)
    live.deviceSecret = secret
    return live
  }
}
