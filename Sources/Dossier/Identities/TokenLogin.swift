import EventLoop
import JSON
import Postgres

/// Ways in by the token of an issuer.
package enum TokenLogin {
  /// Proves who somebody is by the token of an issuer; the user who comes for the first time is made
  /// when the session is opened.
  ///
  /// - Parameters:
  ///   - token: as the issuer made it.
  ///   - isAccepted: of which kinds an identity may be that is shown here, `jwt:` and the issuer.
  ///   - context: of the request.
  /// - Returns: the proof, for `Sessions.open`.
  /// - Throws: `.invalidExternalToken`, `.issuerUnavailable`, `.wrongCredentials` for a blocked user,
  ///   `.wayInClosed`, `.deviceUnknown`, `.deviceFull`, `.unavailable`.
  @EventLoop package static func prove(
    _ token: String,
    accepting isAccepted: @Sendable (String) -> Bool = { _ in true },
    _ context: Context
  ) async throws(Failure) -> Proof {
    try context.requireOpen(.jwt)
    let external = try await identity(of: token, accepting: isAccepted, context)
    if let known = try await known(external, context) { return known }
    let user = UserID()
    let proof = Proof(
      of: user,
      by: external.provider,
      at: external.authenticatedAt,
      on: try await Devices.admit(user, context)
    )
    proof.preparation = { (transaction) async throws(DatabaseError) in
      Users.make(
        user,
        by: external.provider,
        external.subject,
        isAnonymous: false,
        external.profile,
        context,
        transaction
      )
    }
    proof.again = { () async throws(Failure) in try await known(external, context) }
    return proof
  }

  /// Whose token it is; one that is refused goes into the trail.
  ///
  /// - Parameters:
  ///   - token: as it was shown.
  ///   - isAccepted: as for a login.
  ///   - user: who shows it to link it; nil for a login.
  ///   - context: of the request.
  /// - Returns: the identity.
  /// - Throws: `.invalidExternalToken`, `.issuerUnavailable`, `.unavailable`.
  @EventLoop static func identity(
    of token: String,
    accepting isAccepted: (String) -> Bool,
    shownBy user: UserID? = nil,
    _ context: Context
  ) async throws(Failure) -> ExternalTokens.Identity {
    do throws(Failure) {
      return try await context.store.external.identity(of: token, accepting: isAccepted, context)
    } catch {
      if case .invalidExternalToken = error {
        try await RefusedLogin.record("jwt", of: user, context)
      }
      throw error
    }
  }

  /// The kinds of identity that tokens of the app's issuers show.
  ///
  /// - Throws: `.unavailable`.
  @EventLoop package static func issuers(of context: Context) async throws(Failure) -> [String] {
    try await context.store.read(IssuerQueries.kinds, context.app.id)
  }

  /// Nil when nobody has the identity.
  @EventLoop private static func known(
    _ external: ExternalTokens.Identity,
    _ context: Context
  ) async throws(Failure) -> Proof? {
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
    return Proof(
      of: holder.user,
      by: external.provider,
      showing: external.subject,
      at: external.authenticatedAt,
      on: try await Devices.admit(holder.user, context)
    )
  }
}
