import Accounts
import Delivery
import Documents
import Encoding
import EventLoop
import IdentitySubjects
package import JSON
import Postgres
import RateLimiting
package import Runtime
package import Sessions
import Tenancy
import WebAuthn

/// New passkeys, of new users and of users who are signed in.
extension Passkeys {
  /// The lengths that a name of a passkey may have, in characters.
  package nonisolated static let nameLengths = 1...64
  /// The most transports that are stored.
  private nonisolated static let mostTransports = 8

  // MARK: New users

  /// Begins the registration of a user who signs in with a passkey.
  ///
  /// With `verify_first` it mails a code to the address. The result is the same for every address.
  /// - Parameters:
  ///   - registration: what the user states.
  ///   - client: the client, which alone can end it; nil if the wire's clients have no id.
  ///   - context: the context of the request.
  /// - Returns: the options, and the flow.
  /// - Throws: `.invalid`, `.signUpClosed`, `.mailNotConfigured`, `.passkeysOff`, `.memberNotWritable`,
  ///   `.schemaMismatch`, `.tooManyAttempts`, `.databaseUnavailable`.
  package static func beginRegistration(
    _ registration: PasskeyRegistration, by client: ClientID? = nil, _ context: RequestContext
  ) async throws(Failure) -> Begun {
    try requireOpen(context)
    try context.requireOpenSignUp()
    let isVerifiedFirst = context.app.accountSettings.signUp == .verifyFirst
    let faults = registration.faults(needsEmail: isVerifiedFirst, in: context.app)
    guard faults.isEmpty else { throw .invalid(faults) }
    _ = try await registration.metadataWrite(context)
    var registration = registration
    if isVerifiedFirst, let email = registration.email {
      registration.codeFlow = try await Users.mailCode(toRegister: email, context)
    }
    let user = UserID()
    let ceremony = PasskeyCeremony(
      .register, of: user, by: client, for: registration, in: context.app)
    return Begun(
      flow: try ceremony.text(context),
      options: options(
        of: ceremony, for: user, named: registration.email, registration.name, excluding: [],
        context))
  }

  /// Begins a registration for clients that know no code, and expect an error for a known address.
  ///
  /// The app registers users at once, so the end of the registration reveals as much.
  /// - Throws: as `beginRegistration`; `.emailTaken`, and `.signUpClosed` with `verify_first`.
  package static func beginImmediateRegistration(
    _ registration: PasskeyRegistration, by client: ClientID? = nil, _ context: RequestContext
  ) async throws(Failure) -> Begun {
    try requireOpen(context)
    try context.requireImmediateSignUp()
    if let email = registration.email { try await Users.requireFree(email, context) }
    return try await beginRegistration(registration, by: client, context)
  }

  /// Registers the user of such a ceremony, and signs the user in.
  ///
  /// - Parameters:
  ///   - credential: what the browser has returned.
  ///   - flow: the flow of the options.
  ///   - name: the name of the passkey; nil for that of its manager, or else of the browser.
  ///   - code: the mailed code; nil if none was mailed.
  ///   - style: the style of the wire's sessions.
  ///   - context: the context of the request.
  /// - Returns: the session of the new user.
  /// - Throws: `.passkeyInvalid`, `.userVerificationMissing`, `.passkeyFlowExpired`,
  ///   `.passkeyExists`, `.emailTaken`, `.invalidCode`, `.signUpClosed`, `.invalid`, `.passkeysOff`,
  ///   `.memberNotWritable`, `.schemaMismatch`, `.tooManyAttempts`, `.deviceFull`,
  ///   `.databaseUnavailable`.
  package static func register(
    _ credential: JSON, _ flow: String, named name: String?, code: String?,
    as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try requireOpen(context)
    let ceremony = try PasskeyCeremony(flow, for: [.register], context)
    return try await register(
      credential, ceremony, named: name, code: code, as: style, context)
  }

  static func register(
    _ credential: JSON, _ ceremony: PasskeyCeremony, named name: String?, code: String?,
    as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try context.requireOpenSignUp()
    guard let user = ceremony.user, let registration = ceremony.registration else {
      throw .passkeyFlowExpired
    }
    // The setting may have changed since the ceremony has begun.
    guard registration.codeFlow != nil || context.app.accountSettings.signUp == .immediate else {
      throw .passkeyFlowExpired
    }
    let made = try NewPasskey(credential, ceremony, for: user, named: name, context)
    let metadata = try await registration.metadataWrite(context)
    let account = try await newAccount(registration, of: user, code, context)
    var limits: RateLimitSet?
    if account == nil { limits = try await RequestLimiter.unnamedRegistration(context) }
    let verified = VerifiedCredential(of: user, .passkey(made.id), isOfNewUser: true)
    let profile = TextBytes(registration.profile.serialized())
    return try await SignIn.complete(verified, as: style, context) {
      transaction async throws(Failure) in
      // A repeated request would make the same user.
      try await ceremony.use(by: user, in: transaction)()
      var waiting: [Completion] = []
      if let account {
        waiting.append(try await account.create(in: transaction))
        if registration.profile.count > 0 {
          _ = transaction.send(PasskeyQueries.setProfile, user, profile)
        }
      } else {
        _ = transaction.send(UsersQueries.create, user, context.app.id, false, profile, nil)
        transaction.recordSignUp(of: user)
      }
      waiting.append(made.sendIdentity(in: transaction))
      if let metadata {
        // A wait for a later statement must not hide these errors.
        for wait in waiting { try await wait() }
        waiting = []
        try await metadata.run(of: user, in: transaction.actingAsSystem())
      }
      if let limits { waiting.append(limits.sendSpending(in: transaction)) }
      waiting.append(made.sendRow(in: transaction))
      let all = waiting
      return { () async throws(Failure) in for wait in all { try await wait() } }
    }
  }

  /// Verifies the new passkey of a registration whose code the user has not yet entered.
  ///
  /// - Returns: the address to which the code was mailed, and its flow.
  /// - Throws: `.passkeyInvalid`, `.userVerificationMissing`, `.passkeyFlowExpired`, `.passkeysOff`.
  package static func awaitCode(
    _ credential: JSON, _ flow: String, _ context: RequestContext
  ) throws(Failure) -> (email: String, flow: String) {
    try requireOpen(context)
    let ceremony = try PasskeyCeremony(flow, for: [.register], context)
    try check(credential, ceremony, context)
    guard let code = ceremony.mailedCode else { throw .passkeyFlowExpired }
    return code
  }

  /// Verifies the new passkey of a registration, which is not yet written.
  ///
  /// - Throws: `.passkeyInvalid`, `.userVerificationMissing`, `.passkeyFlowExpired`.
  static func check(
    _ credential: JSON, _ ceremony: PasskeyCeremony, _ context: RequestContext
  ) throws(Failure) {
    guard let user = ceremony.user else { throw .passkeyFlowExpired }
    _ = try NewPasskey(credential, ceremony, for: user, named: nil, context)
  }

  /// Returns the account of the address of a registration; nil without an address.
  private static func newAccount(
    _ registration: PasskeyRegistration, of user: UserID, _ code: String?, _ context: RequestContext
  ) async throws(Failure) -> NewAccount? {
    guard let email = registration.email else { return nil }
    if let flow = registration.codeFlow {
      guard let code else {
        throw .invalid([FieldError("/code", "required", "Send the emailed code.")])
      }
      let right = try await AuthenticationFlow(code, flow, for: [.register], context)
      return NewAccount(by: right, of: user, context)
    }
    let address = try await EmailAddress(email, context)
    try await RequestLimiter.registration(of: address.key, context)
    return try await NewAccount(email, address, of: user, context)
  }

  // MARK: Users who are signed in

  /// Begins to add a passkey to the user of the session.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - client: the client, which alone can end it; nil if the wire's clients have no id.
  ///   - excludesOthers: whether the options name the passkeys that the user has.
  ///   - isForThisDevice: whether the passkey shall be on the device of the browser.
  ///   - context: the context of the request.
  /// - Returns: the options, and the flow.
  /// - Throws: `.passkeysOff`, `.sessionEnded`, `.databaseUnavailable`.
  package static func beginAdding(
    to user: UserID, by client: ClientID? = nil, excludesOthers: Bool = true,
    isForThisDevice: Bool = false, _ context: RequestContext
  ) async throws(Failure) -> Begun {
    try requireOpen(context)
    var batch = ReadBatch()
    let passkeys = batch.add(PasskeyQueries.list, user, context.principal)
    let profile = batch.add(ProfileQueries.read, user, context.principal)
    let results = try await context.read(batch)
    let list = try Found<PasskeyInfo>.items(results.rows(passkeys)).orGone(context)
    guard let found: Profile = try results.first(profile) else { throw context.gone }
    let ceremony = PasskeyCeremony(.add, of: user, by: client, in: context.app)
    return Begun(
      flow: try ceremony.text(context),
      options: options(
        of: ceremony, for: user, named: found.email, found.name,
        excluding: excludesOthers ? list.map(\.descriptor) : [],
        isForThisDevice: isForThisDevice, context))
  }

  /// Adds a passkey to the user of the session, and replaces the session by a new one.
  ///
  /// A guest keeps id and data, and becomes a permanent user.
  /// - Returns: the session, and the id of the passkey.
  /// - Throws: `.passkeyInvalid`, `.userVerificationMissing`, `.passkeyFlowExpired`,
  ///   `.passkeyExists`, `.tooManyPasskeys`, `.invalid`, `.passkeysOff`, `.emailRestorePending`,
  ///   `.sessionEnded`, `.databaseUnavailable`.
  package static func add(
    _ credential: JSON, _ flow: String, named name: String?, to user: UserID,
    as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> (session: OpenSession, passkey: IdentityID) {
    let (passkey, write) = try await link(credential, flow, named: name, to: user, by: nil, context)
    let session = try await Identities.link(.passkey, to: user, as: style, context, write)
    return (session, passkey)
  }

  /// Adds a passkey to the user of the session, for a client whose session stays.
  ///
  /// - Returns: the passkey.
  /// - Throws: as `add`.
  package static func addKeepingSession(
    _ credential: JSON, _ flow: String, to user: UserID, by client: ClientID,
    _ context: RequestContext
  ) async throws(Failure) -> PasskeyInfo {
    let (passkey, write) = try await link(
      credential, flow, named: nil, to: user, by: client, context)
    try await Identities.linkKeepingSession(.passkey, to: user, context, write)
    return try await read(passkey, of: user, context)
  }

  /// Verifies a new passkey, and returns its id and the writes of its link.
  private static func link(
    _ credential: JSON, _ flow: String, named name: String?, to user: UserID,
    by client: ClientID?, _ context: RequestContext
  ) async throws(Failure) -> (
    IdentityID,
    @EventLoop (Transaction) async throws(Failure) -> (VerifiedCredential?, isNew: Bool)
  ) {
    try requireOpen(context)
    try await context.requireSession(of: user)
    let ceremony = try PasskeyCeremony(flow, for: [.add], by: client, context)
    // The browser may have another user by now.
    guard ceremony.user == user else { throw .passkeyFlowExpired }
    let made = try NewPasskey(credential, ceremony, for: user, named: name, context)
    @EventLoop func write(
      _ transaction: Transaction
    ) async throws(Failure) -> (VerifiedCredential?, isNew: Bool) {
      let isGuest = try await transaction.run(IdentitiesQueries.isNoGuest, user).isEmpty
      try await made.add(by: ceremony, in: transaction)
      // The session of another user keeps the credential with which it began.
      let credential = VerifiedCredential(of: user, .passkey(made.id))
      return (isGuest ? credential : nil, isNew: true)
    }
    return (made.id, write)
  }

  /// Returns the passkeys of a user, the newest first.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func list(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [PasskeyInfo] {
    try await context.list(PasskeyQueries.list, user, context.principal).orGone(context)
  }

  /// Returns a passkey of a user.
  ///
  /// - Throws: `.notFound`, `.sessionEnded`, `.databaseUnavailable`.
  package static func read(
    _ passkey: IdentityID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> PasskeyInfo {
    let all = try await list(of: user, context)
    guard let found = all.first(where: { $0.id == passkey }) else { throw .notFound }
    return found
  }

  /// Renames a passkey.
  ///
  /// - Throws: `.invalid`, `.notFound`, `.sessionEnded`, `.databaseUnavailable`.
  package static func rename(
    _ passkey: IdentityID, to name: String, of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    if let fault = fault(in: name, at: "/name") { throw .invalid([fault]) }
    try await RateLimits.countChange(of: user, context)
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      let renamed = try await transaction.run(
        PasskeyQueries.rename, user, context.principal, passkey, name)
      guard !renamed.isEmpty else { throw .notFound }
      Event("passkey_rename", of: user).record(in: transaction)
    }
  }

  /// Removes a passkey, and ends the other sessions that it signed in.
  ///
  /// - Throws: `.notFound`, `.lastIdentity`, `.sessionEnded`, `.databaseUnavailable`.
  package static func remove(
    _ passkey: IdentityID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    _ = try await read(passkey, of: user, context)
    try await Identities.unlink(passkey, from: user, context)
  }

  // MARK: Parts

  static func options(
    of ceremony: PasskeyCeremony, for user: UserID, named email: String?, _ name: String?,
    excluding others: [CredentialDescriptor], isForThisDevice: Bool = false,
    _ context: RequestContext
  ) -> JSON {
    var options = CreationOptions(
      ceremony.relyingParty(context), name: context.app.name,
      for: CreationOptions.User(user, named: email, name, in: context.app),
      challenge: ceremony.challenge)
    options.excluded = others
    options.isForThisDevice = isForThisDevice
    return options.json
  }

  /// Returns the rule that the name of a passkey breaks.
  package nonisolated static func fault(in name: String, at pointer: String) -> FieldError? {
    guard nameLengths.contains(name.unicodeScalars.count),
      !name.hasControlCharacters
    else {
      return FieldError(
        pointer, "length", "A name must have 1 to 64 characters, and no control characters.")
    }
    return nil
  }

  /// A new passkey that was verified, and is not yet written.
  struct NewPasskey {
    let id: IdentityID
    let user: UserID
    let record: CredentialRecord
    let transports: String
    let name: String
    let limit: Int

    @EventLoop init(
      _ credential: JSON, _ ceremony: PasskeyCeremony, for user: UserID, named name: String?,
      _ context: RequestContext
    ) throws(Failure) {
      if let name, let fault = Passkeys.fault(in: name, at: "/name") { throw .invalid([fault]) }
      let response = try checked(context) { () throws(WebAuthnError) in
        try RegistrationResponse(credential)
      }
      record = try checked(context) { () throws(WebAuthnError) in
        try RegistrationCeremony(
          ceremony.relyingParty(context), challenge: ceremony.challenge,
          userHandle: Array(user.text.utf8)
        ).verify(response)
      }
      id = IdentityID(ofCredential: record.id)
      self.user = user
      transports = response.transports.prefix(mostTransports).map(\.rawValue)
        .joined(separator: " ")
      self.name = name ?? AuthenticatorModel.name(of: record.aaguid) ?? Self.nameOfBrowser(context)
      limit = context.app.passkeySettings.limit
    }

    @EventLoop private static func nameOfBrowser(_ context: RequestContext) -> String {
      let browser = context.agent.map(BrowserName.init)
      let words = [browser?.program, browser?.system].compactMap(\.self).joined(separator: ", ")
      return words.isEmpty ? "Passkey" : words
    }

    /// Adds it to its user, and uses the ceremony up.
    @EventLoop func add(
      by ceremony: PasskeyCeremony, in transaction: Transaction
    ) async throws(Failure) {
      let used = ceremony.use(by: user, in: transaction)
      let standing = transaction.send(PasskeyQueries.standing, user, id)
      try await used()
      try check(try await standing.rows().first)
      let identity = sendIdentity(in: transaction)
      let row = sendRow(in: transaction)
      try await identity()
      try await row()
    }

    /// Sends the identity, whose subject belongs to one user of the app.
    ///
    /// - Returns: a function that waits, and throws `.passkeyExists` if another user has it.
    @EventLoop func sendIdentity(in transaction: Transaction) -> Completion {
      let app = transaction.app.id
      let claimed = transaction.send(SubjectQueries.claim, app, .passkey, id.text, user, id)
      let added = transaction.send(
        CredentialRowQueries.addIdentity, user, id, app, .passkey, id.text)
      return { () async throws(Failure) in
        try await claimed.rows(undone: .passkeyExists)
        try await added.rows()
      }
    }

    /// Checks that the user may have it beside others.
    func check(_ standing: StandingPasskeys?) throws(Failure) {
      if standing?.hasIt == true { throw .passkeyExists }
      guard standing?.count ?? 0 < limit else { throw .tooManyPasskeys(limit: limit) }
    }

    /// Sends the row of the passkey.
    ///
    /// - Returns: a function that waits.
    @EventLoop func sendRow(in transaction: Transaction) -> Completion {
      let sent = transaction.send(
        PasskeyQueries.make, user, id, BinaryBytes(record.id), BinaryBytes(record.publicKey),
        BinaryBytes(record.userHandle), BinaryBytes(record.aaguid), record.relyingPartyID,
        transports, Int(record.signCount), record.isBackupEligible, record.isBackedUp, name)
      return { () async throws(Failure) in try await sent.rows() }
    }
  }
}

extension PasskeyRegistration {
  /// Returns the broken rules.
  @EventLoop fileprivate func faults(needsEmail: Bool, in app: App) -> [FieldError] {
    var faults: [FieldError] = []
    let mixesScripts = app.accountSettings.allowsMixedScripts
    if let email, let fault = EmailAddress.fault(in: email, at: "/email", mixed: mixesScripts) {
      faults.append(fault)
    }
    if needsEmail, email == nil {
      faults.append(FieldError("/email", "required", "This app verifies an address first."))
    }
    for (name, value) in profile {
      let fault =
        name == "picture_url"
        ? PictureReference.fault(in: value, at: "/picture") : Profiles.fault(name, value)
      if let fault { faults.append(fault) }
    }
    if metadata.serialized().count > Self.longestMetadata {
      let rule = "Metadata may have at most \(Self.longestMetadata) bytes at a registration."
      faults.append(FieldError("/metadata", "length", rule))
    }
    return faults
  }

  /// The most bytes of metadata, which the client keeps in the flow.
  private static let longestMetadata = 8_192

  /// Returns the write of the metadata; nil without any.
  ///
  /// - Throws: `.memberNotWritable`, `.schemaMismatch`, `.documentTooLarge`.
  @EventLoop fileprivate func metadataWrite(
    _ context: RequestContext
  ) async throws(Failure) -> DocumentWrite? {
    guard metadata.count > 0 else { return nil }
    return try await DocumentWrite(ofNewUser: .metadata, metadata, context)
  }
}
