package import Runtime
package import Sessions
package import Tenancy
package import EventLoop
import JSON
import Postgres

/// Logs users in with the tokens of issuers.
@EventLoop package enum TokenLogin {
  /// Logs in with the token of an issuer, and creates a user for an unknown subject.
  ///
  /// - Parameters:
  ///   - token: the token as the issuer made it.
  ///   - isAccepted: whether the route accepts identities of a provider, `jwt:` and the issuer.
  ///   - style: the protocol of the session.
  ///   - context: the context of the request.
  /// - Returns: the tokens.
  /// - Throws: `.invalidExternalToken`, `.issuerUnavailable`, `.wrongCredentials` if the user is
  ///   blocked, `.signUpClosed`, `.additionalFactorRequired`, `.loginMethodDisabled`, `.deviceUnknown`,
  ///   `.deviceFull`, `.databaseUnavailable`.
  package static func signIn(
    _ token: String,
    accepting isAccepted: @Sendable (String) -> Bool = { _ in true },
    as style: SessionStyle = .native,
    _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
    try context.requireOpen(.jwt)
    let external = try await identity(of: token, accepting: isAccepted, context)
    return try await signIn(external, as: style, context)
  }

  static func signIn(
    _ external: ExternalTokens.Identity,
    as style: SessionStyle,
    _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
    if let known = try await known(external, context) {
      return try await SignIn.complete(known, as: style, context)
    }
    do throws(Failure) {
      return try await create(external, as: style, context)
    } catch .identityTaken {
      // A concurrent login with the same token has created the user.
      guard let known = try await known(external, context) else {
        throw .databaseUnavailable(retryAfter: .seconds(1))
      }
      return try await SignIn.complete(known, as: style, context)
    }
  }

  private static func create(
    _ external: ExternalTokens.Identity,
    as style: SessionStyle,
    _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
    try context.requireOpenSignUp()
    let user = UserID()
    var address: EmailAddress?
    let profile = valid(external.profile, context)
    if let email = profile["email"]?.string {
      address = try await EmailAddress(email, context)
    }
    let credential = VerifiedCredential(
      of: user,
      .token(provider: external.provider, subject: external.subject),
      at: external.authenticatedAt,
      isOfNewUser: true
    )
    return try await SignIn.complete(credential, as: style, context) {
      [address] transaction async throws(Failure) in
      try await Users.send(
        user,
        external.provider,
        external.subject,
        isAnonymous: false,
        profile,
        address,
        in: transaction,
        context
      )
    }
  }

  /// Returns the members of a profile that break none of its rules.
  private static func valid(
    _ profile: JSONObject,
    _ context: RequestContext
  ) -> JSONObject {
    let mixesScripts = context.app.accountSettings.allowsMixedScripts
    var valid = JSONObject()
    for (member, value) in profile {
      let isValid =
        member == "email"
        ? EmailAddress.fault(in: value.string ?? "", at: "", mixed: mixesScripts) == nil
        : Profiles.fault(member, value) == nil
      if isValid { valid[member] = value }
    }
    return valid
  }

  /// Verifies a token and returns its identity; records a refused token in the audit log.
  ///
  /// - Parameters:
  ///   - token: the token as the client sent it.
  ///   - subject: as in `ExternalTokens.identity`.
  ///   - isAccepted: as for a login.
  ///   - user: the user who links the identity; nil for a login.
  ///   - context: the context of the request.
  /// - Returns: the identity.
  /// - Throws: `.invalidExternalToken`, `.issuerUnavailable`, `.databaseUnavailable`.
  package static func identity(
    of token: String,
    naming subject: ExternalTokens.Subject = .standard,
    accepting isAccepted: (String) -> Bool = { _ in true },
    shownBy user: UserID? = nil,
    _ context: RequestContext
  ) async throws(Failure) -> ExternalTokens.Identity {
    do throws(Failure) {
      return try await context.external.identity(
        of: token,
        naming: subject,
        accepting: isAccepted,
        context
      )
    } catch {
      if error.type == .invalidExternalToken {
        try await RefusedLogin.record("jwt", of: user, context)
      }
      throw error
    }
  }

  /// Returns the identity providers of the app's issuers.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func issuers(of context: RequestContext) async throws(Failure)
    -> [String]
  {
    try await context.read(IssuerQueries.kinds, context.app.id)
  }

  /// Returns the credential of the user who has the identity; nil if no user has it.
  static func known(
    _ external: ExternalTokens.Identity,
    _ context: RequestContext
  ) async throws(Failure) -> VerifiedCredential? {
    // A concurrent login may just have created the user.
    let found = try await context.readLatest(
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
    return VerifiedCredential(
      of: holder.user,
      .token(provider: external.provider, subject: external.subject),
      at: external.authenticatedAt
    )
  }
}
