package import Accounts
import Delivery
import Encoding
package import EventLoop
import IdentitySubjects
package import JSON
import Postgres
import RateLimiting
package import Runtime
package import Sessions
import Tenancy
import WebAuthn

/// Passkeys: identities of their own kind, with which users sign in without a password.
@EventLoop package enum Passkeys {
  /// The options for an authenticator, and the text that comes back with its result.
  package struct Begun {
    package let flow: String
    /// As `PublicKeyCredential.parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON` reads it.
    package let options: JSON
  }

  // MARK: Signing in

  /// Begins a sign-in, its second step or a reauthentication; any passkey of the app may answer.
  ///
  /// It reads and writes nothing, so it is the same for everybody.
  /// - Parameters:
  ///   - client: the client, which alone can end it; nil if the wire's clients have no id.
  ///   - context: the context of the request.
  /// - Returns: the options, and the flow.
  /// - Throws: `.passkeysOff`.
  package static func beginSignIn(
    by client: ClientID? = nil, _ context: RequestContext
  ) throws(Failure) -> Begun {
    try beginSignIn(by: client, allowing: [], context)
  }

  private static func beginSignIn(
    by client: ClientID?, allowing passkeys: [CredentialDescriptor], _ context: RequestContext
  ) throws(Failure) -> Begun {
    try requireOpen(context)
    let ceremony = PasskeyCeremony(.signIn, by: client, in: context.app)
    var options = RequestOptions(ceremony.relyingParty(context), challenge: ceremony.challenge)
    options.allowed = passkeys
    return Begun(flow: try ceremony.text(context), options: options.json)
  }

  /// Begins a sign-in with the passkey that the browser has used last for the user of an address.
  ///
  /// The options name the passkey. So they reveal the user, to this browser only.
  /// - Parameters:
  ///   - email: the address that was entered.
  ///   - context: the context of the request.
  ///   - used: returns the id of that credential, in base64url; nil if the browser has used none.
  /// - Returns: the options, and the flow; nil if the browser has used none, or the user has it no more.
  /// - Throws: `.passkeysOff`, `.databaseUnavailable`.
  package static func beginSignIn(
    of email: String, _ context: RequestContext, used: (UserID) -> String?
  ) async throws(Failure) -> Begun? {
    try requireOpen(context)
    let address = try await EmailAddress(email, context)
    guard let user = try await Accounts.holder(of: address, context),
      let credential = used(user).flatMap({ [UInt8](base64URL: $0) }),
      let passkey = try await context.first(
        PasskeyQueries.descriptor, user, IdentityID(ofCredential: credential),
        context.app.passkeySettings.relyingPartyID)
    else { return nil }
    return try beginSignIn(by: nil, allowing: [passkey.descriptor], context)
  }

  /// Signs in with a passkey.
  ///
  /// - Parameters:
  ///   - credential: what the browser has returned.
  ///   - flow: the flow of the options.
  ///   - style: the style of the wire's sessions.
  ///   - context: the context of the request.
  /// - Returns: the session.
  /// - Throws: as `shown`; `.tooManyRequests`, `.deviceUnknown`, `.deviceFull`.
  package static func signIn(
    _ credential: JSON, _ flow: String, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let passkey = try await shown(credential, flow, context)
    return try await SignIn.complete(passkey.credential, as: style, context, passkey.write)
  }

  /// Signs in, or registers a user, as the client has begun.
  ///
  /// Some clients send the members of both with each. So the purpose of the flow decides.
  /// - Parameters:
  ///   - credential: what the device has returned.
  ///   - flow: the flow of the options.
  ///   - client: the client, which must have begun; nil if the wire's clients have no id.
  ///   - style: the style of the wire's sessions.
  ///   - context: the context of the request.
  /// - Returns: the session.
  /// - Throws: as `signIn` and `register`.
  package static func finish(
    _ credential: JSON, _ flow: String, by client: ClientID?, as style: SessionStyle,
    _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try requireOpen(context)
    let ceremony = try PasskeyCeremony(flow, for: [.signIn, .register], by: client, context)
    guard ceremony.purpose == .signIn else {
      return try await register(credential, ceremony, named: nil, code: nil, as: style, context)
    }
    let passkey = try await shown(credential, ceremony, context)
    return try await SignIn.complete(passkey.credential, as: style, context, passkey.write)
  }

  /// Verifies the signature of a passkey; a refused one is recorded in the audit log.
  ///
  /// - Returns: the user, and the writes that use the signature once.
  /// - Throws: `.passkeyInvalid`, `.passkeyUnknown` if no user has the passkey,
  ///   `.userVerificationMissing`, `.passkeyFlowExpired`, `.wrongCredentials` for a blocked user,
  ///   `.passkeysOff`, `.databaseUnavailable`.
  package static func shown(
    _ credential: JSON, _ flow: String, _ context: RequestContext
  ) async throws(Failure) -> ShownPasskey {
    try requireOpen(context)
    return try await shown(credential, PasskeyCeremony(flow, for: [.signIn], context), context)
  }

  static func shown(
    _ credential: JSON, _ ceremony: PasskeyCeremony, _ context: RequestContext
  ) async throws(Failure) -> ShownPasskey {
    let response = try checked(context) { () throws(WebAuthnError) in
      try AuthenticationResponse(credential)
    }
    guard let stored = try await find(response, context) else {
      try await RefusedLogin.record("passkey", context)
      throw .passkeyUnknown(
        members: [("credential_id", .string(response.id.base64URL))])
    }
    // Apps may share a domain. The passkey of another one must stay on its device.
    guard stored.app == context.app.id else {
      try await RefusedLogin.record("passkey", context)
      throw .passkeyInvalid(reason: "the passkey is of another app")
    }
    let user = stored.user
    guard !stored.isBlocked else {
      try await RefusedLogin.record("passkey", of: user, context)
      throw .wrongCredentials
    }
    let record: CredentialRecord
    do throws(WebAuthnError) {
      record = try AuthenticationCeremony(
        ceremony.relyingParty(context), challenge: ceremony.challenge, isUserKnown: false
      ).verify(response, against: stored.record)
    } catch {
      if case .counterNotIncreased = error {
        try await Event("passkey_counter", of: user).record(by: .anyone, context)
      } else {
        try await RefusedLogin.record("passkey", of: user, context)
      }
      throw failure(error, context)
    }
    let id = IdentityID(ofCredential: record.id)
    return ShownPasskey(VerifiedCredential(of: user, .passkey(id))) {
      transaction async throws(Failure) in
      let ceremonyUsed = ceremony.use(by: user, in: transaction)
      let used = transaction.send(
        PasskeyQueries.use, user, id, Int(record.signCount), record.isBackedUp)
      return { () async throws(Failure) in
        try await ceremonyUsed()
        try await used.rows(undone: .passkeyInvalid)
      }
    }
  }

  /// Finds the passkey of a response in the newest commit; nil if no user has it.
  ///
  /// The user that the handle states may be of another app.
  private static func find(
    _ response: AuthenticationResponse, _ context: RequestContext
  ) async throws(Failure) -> StoredPasskey? {
    let id = IdentityID(ofCredential: response.id)
    let app = context.app.id
    // The handle is the id of the user, so one shard is asked.
    let handle = response.userHandle.flatMap { String(validating: $0, as: UTF8.self) }
    let stated = handle.flatMap { UserID($0) }
    if let stated {
      let found = try await context.read(PasskeyQueries.find, stated, id, on: .exclusive)
      if let found = found.first { return found }
    }
    let holder = try await context.read(
      SubjectQueries.holder, app, .passkey, id.text, on: .exclusive)
    guard let user = holder.first, user != stated else { return nil }
    return try await context.read(PasskeyQueries.find, user, id, on: .exclusive).first
  }

  /// Returns whether the user of an address has a passkey, for clients that then begin a sign-in.
  ///
  /// False where `Users.methods` also hides who has an account, and for an unknown address.
  /// - Throws: `.invalid`, `.databaseUnavailable`.
  package static func areKnown(
    of email: String, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    let settings = context.app.accountSettings
    guard context.app.passkeySettings.isOpen, settings.signUp == .immediate,
      settings.isOpen(.password)
    else { return false }
    let address = try await EmailAddress(email, context)
    guard let user = try await Accounts.holder(of: address, context) else { return false }
    return try await context.first(PasskeyQueries.exists, user) ?? false
  }

  /// Returns whether a user has a passkey.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func exist(
    for user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    try await context.read(PasskeyQueries.exists, user, on: .exclusive).first ?? false
  }

  // MARK: Checks

  /// - Throws: `.passkeysOff` if the app does not use passkeys.
  package static func requireOpen(_ context: RequestContext) throws(Failure) {
    guard context.app.passkeySettings.isOpen else { throw .passkeysOff }
  }

  /// Runs a check of what a client has sent.
  static func checked<Value>(
    _ context: RequestContext, _ check: () throws(WebAuthnError) -> Value
  ) throws(Failure) -> Value {
    do throws(WebAuthnError) {
      return try check()
    } catch {
      throw failure(error, context)
    }
  }

  /// Returns the failure for a broken rule, which the log gets.
  static func failure(_ error: WebAuthnError, _ context: RequestContext) -> Failure {
    if error == .userVerificationMissing { return .userVerificationMissing }
    return .passkeyInvalid(reason: "the rule \(error.rule)")
  }
}

extension IdentityID {
  /// Makes the id of a passkey, which follows from its credential id.
  ///
  /// So a sign-in finds it by its primary key, and `identity_subjects` has it once for an app.
  package init(ofCredential id: [UInt8]) { self.init(hashing: id.base64URL) }
}
