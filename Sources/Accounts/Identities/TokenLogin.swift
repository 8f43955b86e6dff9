package import EventLoop
import IdentitySubjects
import JSON
import Postgres
import RateLimiting
package import Runtime
package import Sessions
package import Tenancy

/// Logs users in with the tokens of issuers.
@EventLoop package enum TokenLogin {
  /// Logs in with the token of an issuer, and creates a user for an unknown subject.
  ///
  /// - Parameters:
  ///   - token: the token as the issuer made it.
  ///   - nonce: as in `ExternalTokens.identity`.
  ///   - isAccepted: whether the route accepts identities of a provider, `jwt:` and the issuer.
  ///   - style: the protocol of the session.
  ///   - context: the context of the request.
  /// - Returns: the session.
  /// - Throws: `.invalidExternalToken`, `.issuerUnavailable`, `.wrongCredentials` if the user is
  ///   blocked, `.signUpClosed`, `.additionalFactorRequired`, `.loginMethodDisabled`, `.deviceUnknown`,
  ///   `.deviceFull`, `.databaseUnavailable`.
  package static func signIn(
    _ token: String, for nonce: String? = nil,
    accepting isAccepted: @Sendable (IdentityProvider) -> Bool = { _ in true },
    as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try context.requireOpen(.jwt)
    let external = try await identity(of: token, for: nonce, accepting: isAccepted, context)
    return try await signIn(external, as: style, context)
  }

  /// Signs in by a verified identity, and creates a user for an unknown subject.
  ///
  /// - Parameters:
  ///   - external: the identity.
  ///   - methods: the methods of a second factor that its issuer has verified; empty without one.
  ///   - style: the protocol of the session.
  ///   - context: the context of the request.
  ///   - resolve: is called for an unknown subject, and returns its session; nil to create a user.
  /// - Returns: the session.
  /// - Throws: as `signIn` of a token; `.emailTaken` if another user has a proved address; errors of
  ///   `resolve`.
  package static func signIn(
    _ external: ExternalTokens.Identity, secondFactor methods: String = "",
    as style: SessionStyle, _ context: RequestContext,
    _ resolve: @EventLoop () async throws(Failure) -> OpenSession? = {
      () async throws(Failure) in nil
    }
  ) async throws(Failure) -> OpenSession {
    if let known = try await known(external, context) {
      return try await complete(known, external, secondFactor: methods, as: style, context)
    }
    if let session = try await resolve() { return session }
    let user = try await NewSubject(external, context)
    do throws(Failure) {
      return try await SignIn.complete(
        user.credential, secondFactor: methods, as: style, context
      ) {
        (transaction) async throws(Failure) in
        let written = try await user.write(in: transaction)
        try external.keep(of: user.credential.user, in: transaction)
        return written
      }
    } catch .identityTaken {
      // A concurrent login with the same token has created the user.
      guard let known = try await known(external, context) else {
        throw .databaseUnavailable(retryAfter: .seconds(1))
      }
      return try await complete(known, external, secondFactor: methods, as: style, context)
    }
  }

  /// Signs in by an identity that the user with its address gets, and mails a notice to the user.
  ///
  /// Both must have verified the address: the issuer, and the user here.
  /// - Throws: as `signIn`; `.identityTaken`.
  package static func signIn(
    _ external: ExternalTokens.Identity, linkedTo user: UserID, secondFactor methods: String = "",
    as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try await SignIn.complete(
      external.credential(of: user), secondFactor: methods, as: style, context
    ) { transaction async throws(Failure) in
      if try await external.add(to: user, in: transaction) {
        try await Identities.finish(external.provider, of: user, in: transaction)
      }
      return { () async throws(Failure) in }
    }
  }

  /// Signs a known user in; records the attempt of a blocked one.
  ///
  /// It tries twice: on several nodes, the subject of a new user may be visible before the user.
  private static func complete(
    _ known: VerifiedCredential, _ external: ExternalTokens.Identity,
    secondFactor methods: String, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let keep: SignIn.Writes = { (transaction) async throws(Failure) in
      if external.refreshesNames {
        try await external.refreshNames(of: known.user, in: transaction)
      }
      try external.keep(of: known.user, in: transaction)
      return { () async throws(Failure) in }
    }
    @EventLoop func signIn() async throws(Failure) -> OpenSession {
      try await SignIn.complete(known, secondFactor: methods, as: style, context, keep)
    }
    do throws(Failure) { return try await signIn() } catch {
      guard error.is(.wrongCredentials) else { throw error }
    }
    await EventLoop.sleep(for: .milliseconds(100))
    do throws(Failure) {
      return try await signIn()
    } catch .wrongCredentials {
      try await RefusedLogin.record("jwt", of: known.user, context)
      throw .wrongCredentials
    }
  }

  /// Verifies a token and returns its identity; records a refused token in the audit log.
  ///
  /// - Parameters:
  ///   - token: the token as the client sent it.
  ///   - nonce: as in `ExternalTokens.identity`.
  ///   - subject: as there.
  ///   - isAccepted: as for a login.
  ///   - user: the user who links the identity; nil for a login.
  ///   - context: the context of the request.
  /// - Returns: the identity.
  /// - Throws: `.invalidExternalToken`, `.issuerUnavailable`, `.databaseUnavailable`.
  package static func identity(
    of token: String, for nonce: String? = nil,
    naming subject: ExternalTokens.Subject = .standard,
    accepting isAccepted: (IdentityProvider) -> Bool = { _ in true }, shownBy user: UserID? = nil,
    _ context: RequestContext
  ) async throws(Failure) -> ExternalTokens.Identity {
    do throws(Failure) {
      return try await context.external.identity(
        of: token, for: nonce, naming: subject, accepting: isAccepted, context
      )
    } catch {
      if error.is(.invalidExternalToken) {
        try await RefusedLogin.record("jwt", of: user, context)
      }
      throw error
    }
  }

  /// Returns the identity providers of the app's issuers.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func issuers(of context: RequestContext) async throws(Failure)
    -> [IdentityProvider]
  {
    try await context.read(IssuerQueries.issuers, context.app.id).map(
      IdentityProvider.init(ofIssuer:)
    )
  }

  /// Returns the credential of the user who has the identity; nil if no user has it.
  package static func known(
    _ external: ExternalTokens.Identity, _ context: RequestContext
  ) async throws(Failure) -> VerifiedCredential? {
    // A concurrent login may just have created the user.
    let found = try await context.read(
      SubjectQueries.holder, context.app.id, external.provider, external.subject, on: .exclusive
    )
    guard let user = found.first else { return nil }
    return external.credential(of: user)
  }
}

extension ExternalTokens.Identity {
  /// Returns the credential of the user who has the identity.
  func credential(of user: UserID) -> VerifiedCredential {
    var credential = VerifiedCredential(
      of: user, .token(provider: provider, subject: subject), at: signedInAt)
    credential.issuerSession = session
    return credential
  }

  /// Adds the identity to a locked user; returns whether the user did not have it.
  ///
  /// - Throws: `.identityTaken` if another user has it, `.databaseUnavailable`.
  @EventLoop func add(to user: UserID, in transaction: Transaction) async throws(Failure) -> Bool {
    let (app, identity) = (transaction.app.id, IdentityID())
    // A concurrent link of the same identity has finished by now, so its row is found.
    let holder = try await transaction.run(SubjectQueries.holder, app, provider, subject).first
    guard holder != user else {
      try keep(of: user, in: transaction)
      return false
    }
    let count = try await transaction.run(IdentitiesQueries.countOfIssuers, user).first ?? 0
    guard count < Identities.mostOfIssuers else {
      throw .tooManyIdentities(limit: Identities.mostOfIssuers)
    }
    let claimed = transaction.send(SubjectQueries.claim, app, provider, subject, user, identity)
    _ = transaction.send(CredentialRowQueries.addIdentity, user, identity, app, provider, subject)
    try keep(of: user, in: transaction)
    try await claimed.rows(undone: .identityTaken)
    return true
  }

  /// Copies changed names to the profile of a locked user.
  ///
  /// A name that is not the one of the last sign-in was changed here, and stays. Before the first
  /// sign-in, this copies the names that the user lacks.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop func refreshNames(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    let names = JSONObject(
      profile.filter { name, value in
        ["name", "given_name", "family_name", "nickname"].contains(name)
          && Profiles.fault(name, value) == nil
      }.map { ($0.0, $0.1) })
    let json = TextBytes(names.serialized())
    let changed = try await transaction.run(
      IdentitiesQueries.refreshNames, user, provider, subject, json)
    guard !changed.isEmpty else { return }
    let event = Event(changeOf: "profile", of: user, transaction.context)
    try await event?.recordChange(of: user, in: transaction)
  }

  /// Sends the writes of what a sign-in leaves with the identity, in a transaction that has locked
  /// the user.
  ///
  /// - Throws: `.internalError` if the refresh token cannot be encrypted.
  @EventLoop func keep(of user: UserID, in transaction: Transaction) throws(Failure) {
    keepClaims(of: user, in: transaction)
    try keepRefreshToken(of: user, in: transaction)
  }

  @EventLoop private func keepClaims(of user: UserID, in transaction: Transaction) {
    var patch = claims.values
    for name in claims.absent { patch[name] = .null }
    guard patch.count > 0 else { return }
    let json = TextBytes(patch.serialized())
    _ = transaction.send(IdentitiesQueries.keepClaims, user, provider, subject, json)
  }
}

extension NewSubject {
  /// Prepares the user of a new subject, with the members of its profile that break no rule.
  ///
  /// - Throws: `.signUpClosed`, `.databaseUnavailable`.
  init(
    _ external: ExternalTokens.Identity, of user: UserID = UserID(), _ context: RequestContext
  ) async throws(Failure) {
    try context.requireOpenSignUp()
    var credential = external.credential(of: user)
    credential.isOfNewUser = true
    // A new user has nothing that an older sign-in could give away.
    if external.signedInAt == 0 { credential.authenticatedAt = nil }
    self.init(credential: credential, context: context)
    provesEmail = external.provesEmail
    let mixesScripts = context.app.accountSettings.allowsMixedScripts
    for (member, value) in external.profile {
      let isValid =
        member == "email"
        ? EmailAddress.fault(in: value.string ?? "", at: "", mixed: mixesScripts) == nil
        : Profiles.fault(member, value) == nil
      if isValid { profile[member] = value }
    }
    profile["picture_url"] = external.pictureURL.map(JSON.string)
    if let email = profile["email"]?.string {
      profile["email"] = .string(EmailAddress.canonical(email))
      address = try await EmailAddress(email, context)
    }
  }
}

/// Tokens of issuers, for a protocol that sends one with each request.
extension TokenLogin {
  /// Returns the principal of an issuer's token; an unknown subject becomes a user.
  ///
  /// - Parameters:
  ///   - token: the token as the issuer made it.
  ///   - subject: the place of the subject.
  ///   - style: the protocol of the session.
  ///   - context: the context of the request.
  /// - Returns: the principal.
  /// - Throws: as `signIn`.
  package static func principal(
    of token: String, naming subject: ExternalTokens.Subject, as style: SessionStyle,
    _ context: RequestContext
  ) async throws(Failure) -> Principal {
    try context.requireOpen(.jwt)
    let external = try await identity(of: token, naming: subject, context)
    if let standing = try await standing(by: external, as: style, context) { return standing }
    context.bareDevice = UnauthenticatedDevice(named: nil)
    _ = try await signIn(external, as: style, context)
    return context.principal
  }

  /// Returns the principal of the live session of an issuer's token; nil without one.
  ///
  /// It creates neither a user nor a session, and works in an app that has closed this method.
  /// - Throws: `.invalidExternalToken`, `.issuerUnavailable`, `.databaseUnavailable`.
  package static func standing(
    by token: String, naming subject: ExternalTokens.Subject, as style: SessionStyle,
    _ context: RequestContext
  ) async throws(Failure) -> Principal? {
    let external = try await identity(of: token, naming: subject, context)
    return try await standing(by: external, as: style, context)
  }

  private static func standing(
    by external: ExternalTokens.Identity, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> Principal? {
    guard let known = try await known(external, context) else { return nil }
    return try await Sessions.standing(by: known, as: style, context)
  }
}
