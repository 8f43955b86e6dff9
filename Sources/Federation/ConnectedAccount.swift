import Accounts
package import EventLoop
import JSON
package import Runtime
package import Sessions
package import Tenancy
import Records

/// An account at a service whose owner has just signed in there.
@EventLoop package struct ConnectedAccount {
  package let connection: Connection
  package internal(set) var identity: ExternalTokens.Identity
  /// Whether the owner has passed a second factor there that counts here.
  let hasSecondFactor: Bool

  nonisolated package init(
    _ connection: Connection, _ identity: ExternalTokens.Identity, hasSecondFactor: Bool
  ) {
    (self.connection, self.identity) = (connection, identity)
    self.hasSecondFactor = hasSecondFactor
  }

  /// Signs in by the account, and creates a user for an unknown one.
  ///
  /// A proved address that another user has is never taken: that user signs in once in another way,
  /// and then links. An address without a proof matches no user, and a new user does not get it.
  /// - Parameters:
  ///   - guest: an anonymous user who gets the identity instead of a new user; nil for none.
  ///   - style: the protocol of the session.
  ///   - context: the context of the request.
  /// - Returns: the session.
  /// - Throws: `.accountExists`, with a flow if the connection links, `.signUpClosed`,
  ///   `.wrongCredentials` if the user is blocked, `.additionalFactorRequired`, `.deviceUnknown`,
  ///   `.deviceFull`, `.databaseUnavailable`.
  package func signIn(
    linkingTo guest: Principal? = nil, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try await ConnectionUse.noteFailure(at: connection, context) { () async throws(Failure) in
      do throws(Failure) {
        return try await signInOrUp(linkingTo: guest, as: style, context)
      } catch {
        switch error {
        // Another request has given the address or the identity to a user meanwhile, whom this finds.
        case .emailTaken, .identityTaken:
          return try await signInOrUp(linkingTo: guest, as: style, context)
        default: throw error
        }
      }
    }
  }

  private func signInOrUp(
    linkingTo guest: Principal?, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let methods = hasSecondFactor ? "mfa" : ""
    var outcome = ConnectionUse.Outcome.signedIn
    let session = try await TokenLogin.signIn(identity, secondFactor: methods, as: style, context) {
      () async throws(Failure) in
      if let owner = try await ownerOfAddress(context) {
        // Another request has given the identity to a user meanwhile, whom the repetition finds.
        if try await TokenLogin.known(identity, context) != nil { throw .identityTaken }
        guard connection.link == .auto, owner.isCertain else {
          throw connection.link == .never
            ? .accountExists
            : try PendingIdentity(
              identity, of: connection, for: owner.user, hasProved: owner.isCertain
            ).failure(context)
        }
        outcome = .linked
        return try await TokenLogin.signIn(
          identity, linkedTo: owner.user, secondFactor: methods, as: style, context)
      }
      guard connection.allowsSignUp else { throw .signUpClosed }
      let linked = try await Guests.signIn(
        identity, linkingTo: guest, secondFactor: methods, as: style, context)
      outcome = linked == nil ? .signedUp : .linked
      return linked
    }
    ConnectionUse.note(outcome, at: connection, context)
    return session
  }

  /// Returns the user who has the proved address of the account; nil without one.
  ///
  /// The database may fold an address that no user could have to that of a user.
  private func ownerOfAddress(
    _ context: RequestContext
  ) async throws(Failure) -> (user: UserID, isCertain: Bool)? {
    let isMixed = context.app.accountSettings.allowsMixedScripts
    guard identity.provesEmail, let email = identity.profile["email"]?.string,
      EmailAddress.fault(in: email, at: "/email", mixed: isMixed) == nil
    else { return nil }
    return try await Accounts.owner(of: EmailAddress(email, context), context)
  }

  /// Links the account to the user of the session.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - style: the protocol of the new session; nil to keep the session.
  ///   - context: the context of the request.
  /// - Returns: the new session.
  /// - Throws: as `Identities.linkToken`; `.tooManyIdentities`.
  @discardableResult
  package func link(
    to user: UserID, as style: SessionStyle?, _ context: RequestContext
  ) async throws(Failure) -> OpenSession? {
    try await ConnectionUse.noteFailure(at: connection, context) { () async throws(Failure) in
      try await context.requireSession(of: user)
      let session = try await Identities.link(identity, to: user, as: style, context)
      ConnectionUse.note(.linked, at: connection, context)
      return session
    }
  }

  /// Replaces the session of its owner, who has just signed in at the service, by a new one.
  ///
  /// - Throws: as `Sessions.reauthenticate`.
  package func reauthenticate(
    _ user: UserID, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try await ConnectionUse.noteFailure(at: connection, context) { () async throws(Failure) in
      let session = try await Sessions.reauthenticate(
        user, by: .identity(identity), as: style, context)
      ConnectionUse.note(.reauthenticated, at: connection, context)
      return session
    }
  }
}

/// An account at a service that waits for its owner to sign in here, who then links it.
package struct PendingIdentity: Sendable {
  package let identity: ExternalTokens.Identity
  package let connection: String
  /// The user who has its address.
  package let user: UserID
  /// Whether it is certain that the address is that user's own; if not, a mailed code proves it.
  package let hasProvedEmail: Bool
  package var email: String { identity.profile["email"]?.string ?? "" }

  /// How long the user may take.
  private static let lifetime = Duration.seconds(3_600)

  init(
    _ identity: ExternalTokens.Identity, of connection: Connection, for user: UserID,
    hasProved hasProvedEmail: Bool
  ) {
    (self.identity, self.connection, self.user) = (identity, connection.key, user)
    self.hasProvedEmail = hasProvedEmail
  }

  /// Reads the text of a flow; nil if it is forged, has expired, or its connection is disabled by now.
  @EventLoop package init?(_ text: String, _ context: RequestContext) {
    guard
      let (json, hasExpired) = context.keys.master.openedText(text, as: Self.name(context)),
      !hasExpired, let user = json["user"]?.string.flatMap({ UserID($0) }),
      let connection = json["connection"]?.string, let provider = json["provider"]?.string,
      let subject = json["subject"]?.string,
      context.app.connections.named(connection)?.isOf(IdentityProvider(provider)) == true
    else { return nil }
    (self.user, self.connection) = (user, connection)
    hasProvedEmail = json["proved"]?.bool ?? false
    var claims = IdentityClaims()
    for (name, value) in json["claims"]?.object ?? JSONObject() { claims.add(name, value) }
    var identity = ExternalTokens.Identity(
      provider: IdentityProvider(provider), subject: subject, authenticatedAt: nil, signedInAt: 0,
      profile: json["profile"]?.object ?? JSONObject(), claims: claims)
    identity.refreshToken = json["refresh_token"].flatMap(ExternalTokens.RefreshToken.init)
    self.identity = identity
  }

  /// Returns the error that asks the user to sign in in another way, with the flow that links.
  @EventLoop func failure(_ context: RequestContext) throws(Failure) -> Failure {
    var json = JSONObject()
    json["user"] = .string(user.text)
    json["proved"] = .bool(hasProvedEmail)
    json["connection"] = .string(connection)
    json["provider"] = .string(identity.provider.text)
    json["subject"] = .string(identity.subject)
    json["profile"] = .object(identity.profile)
    json["claims"] = .object(identity.claims.values)
    json["refresh_token"] = identity.refreshToken?.json
    let flow = try context.keys.master.sealedText(
      json, as: Self.name(context), for: Self.lifetime)
    return .accountExists(members: [("flow", .string(flow))])
  }

  /// Links the identity to the user of the session, who must be the one who has its address.
  ///
  /// - Returns: the new session; nil without a style.
  /// - Throws: `.wrongCredentials` for another user, `.identityExists` if the user has it already; as
  ///   `Identities.linkToken`.
  @discardableResult
  @EventLoop package func link(
    to user: UserID, as style: SessionStyle?, _ context: RequestContext
  ) async throws(Failure) -> OpenSession? {
    guard user == self.user else { throw .wrongCredentials }
    try await context.requireSession(of: user)
    if style != nil, try await TokenLogin.known(identity, context)?.user == user {
      throw .identityExists
    }
    let session = try await Identities.link(identity, to: user, as: style, context)
    if let connection = context.app.connections.named(connection) {
      ConnectionUse.note(.linked, at: connection, context)
    }
    return session
  }

  @EventLoop private static func name(_ context: RequestContext) -> String {
    "pending identity \(context.app.id)"
  }
}
