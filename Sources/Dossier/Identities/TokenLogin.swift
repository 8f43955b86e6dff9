import EventLoop
import JSON
import Postgres

/// Ways in by the token of an issuer.
package enum TokenLogin {
  /// Logs in whom an issuer's token names; makes the user when it comes for the first time.
  ///
  /// - Throws: `.invalidExternalToken`, `.issuerUnavailable`, `.wrongCredentials` for a blocked user,
  ///   `.wayInClosed`, `.deviceUnknown`, `.deviceFull`, `.unavailable`.
  @EventLoop package static func login(
    _ token: String,
    _ context: Context
  ) async throws(Failure) -> Sessions.Grant {
    try context.requireOpen(.jwt)
    let external: ExternalTokens.Identity
    do throws(Failure) {
      external = try await context.store.external.identity(of: token, context)
    } catch {
      if case .invalidExternalToken = error { try await RefusedLogin.record("jwt", context) }
      throw error
    }
    if let grant = try await enter(external, context) { return grant }
    let user = UserID()
    let device = try await Devices.admit(user, context)
    let opening = Opening(
      of: user,
      by: external.provider,
      at: external.authenticatedAt,
      on: device,
      context
    )
    do throws(Failure) {
      try await context.store.transaction { (transaction) async throws(DatabaseError) in
        _ = try await transaction.run(
          UsersQueries.create,
          user,
          context.app.id,
          IdentityID(),
          external.provider,
          external.subject,
          false,
          TextBytes(JSON.object(external.profile).serialized())
        )
        try await opening.write(in: transaction)
      }
    } catch .identityTaken {
      // It came twice at once, and the other was first.
      guard let grant = try await enter(external, context) else {
        throw .unavailable(retryAfter: 1)
      }
      return grant
    }
    return try await opening.grant()
  }

  /// Nil when nobody has the identity.
  @EventLoop private static func enter(
    _ external: ExternalTokens.Identity,
    _ context: Context
  ) async throws(Failure) -> Sessions.Grant? {
    // On the exclusive lane: this must see the user that another login has just made.
    let found = try await context.store.write(
      IdentitiesQueries.holder,
      context.app.id,
      external.provider,
      external.subject
    )
    guard let holder = found.first else { return nil }
    guard !holder.isBlocked else {
      try await RefusedLogin.record("jwt", of: holder.user, context)
      throw .wrongCredentials
    }
    let device = try await Devices.admit(holder.user, context)
    let opening = Opening(
      of: holder.user,
      by: external.provider,
      showing: external.subject,
      at: external.authenticatedAt,
      on: device,
      context
    )
    try await context.store.transaction { (transaction) async throws(DatabaseError) in
      try await opening.write(in: transaction)
    }
    return try await opening.grant()
  }
}
