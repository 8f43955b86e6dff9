import Delivery
package import EventLoop
import JSON
import Postgres
import RateLimiting
package import Runtime
package import Sessions
import Tenancy

/// The second step of a sign-in: a code or a passkey, after a credential was verified.
///
/// The flow keeps the credential, which is checked again when the session is created.
@EventLoop package enum SecondFactorFlow {
  package nonisolated static let lifetime = Duration.seconds(600)
  /// How many codes one flow takes.
  ///
  /// The failures of a user also count over all flows.
  private nonisolated static let tries = 10
  /// How many flows of second factors a user may have.
  ///
  /// A right password begins any number of them, and each one ends the oldest.
  private nonisolated static let limit = 10

  /// A way to complete a sign-in, as clients know it.
  package enum Method: String, Sendable {
    case totp
    case recoveryCode = "recovery_code"
    case passkey
    /// A new authenticator app.
    case enroll
    /// A new passkey.
    case enrollPasskey = "enroll_passkey"
  }

  /// Returns the methods of an `.additionalFactorRequired`.
  package static func methods(of failure: Failure) -> [Method] {
    failure["methods"]?.array?.compactMap(\.string).compactMap(Method.init) ?? []
  }

  /// Asks whether a user has a second factor, without waiting.
  ///
  /// - Parameters:
  ///   - credential: the credential of the first step.
  ///   - transaction: the transaction that verifies the credential.
  /// - Returns: the statement; nil if no user needs a second step after this kind of credential.
  static func sendIsEnrolled(
    after credential: VerifiedCredential, in transaction: Transaction
  ) -> Sent<EnrolledFactors>? {
    guard mayFollow(credential, in: transaction) else { return nil }
    return transaction.send(SecondFactorQueries.enrolled, credential.user)
  }

  /// Returns whether a second step may follow this kind of credential.
  static func mayFollow(_ credential: VerifiedCredential, in transaction: Transaction) -> Bool {
    let app = transaction.app
    return credential.takesSecondFactor && app.sessionSettings.mfa != .off
      || app.needsPasskey(after: credential.provider)
  }

  /// Sends a check that fails if the user has a second factor.
  ///
  /// - Parameters:
  ///   - credential: the credential of the first step.
  ///   - transaction: the transaction that verifies the credential.
  /// - Returns: a function that waits, and throws `.additionalFactorRequired` without a flow; nil if
  ///   no user needs a second step after this kind of credential.
  static func sendNeedsNone(
    after credential: VerifiedCredential, in transaction: Transaction
  ) -> Completion? {
    guard mayFollow(credential, in: transaction) else { return nil }
    let none = transaction.send(SecondFactorQueries.requireNone, credential.user)
    return { () async throws(Failure) in
      try await none.rows(undone: Failure.additionalFactorRequired)
    }
  }

  /// Begins the second step of a sign-in, if the credential is not enough for a session.
  ///
  /// A user with an authenticator app must enter a code, or use a passkey. A passkey alone asks for
  /// a second step only if the app requires one. A user without either must enroll a factor then.
  ///
  /// If the app requires passkeys, only a passkey completes the sign-in. A user who has none adds
  /// one, after a code of the app. So does a user who has just read a mail, since the device with
  /// the others may be lost; but a mail is no second factor where the app requires one.
  /// - Parameters:
  ///   - credential: the credential of the first step.
  ///   - enrolled: the statement of `sendIsEnrolled`.
  ///   - transaction: the transaction that verifies the credential.
  /// - Returns: `.additionalFactorRequired` with a flow; nil if the credential is enough.
  /// - Throws: `.databaseUnavailable`.
  static func begin(
    after credential: VerifiedCredential, _ enrolled: Sent<EnrolledFactors>,
    in transaction: Transaction
  ) async throws(Failure) -> Failure? {
    let (app, found) = (transaction.app, try await enrolled.rows().first)
    let mfa = app.sessionSettings.mfa
    let hasApp = found?.hasApp == true && mfa != .off
    let needsPasskey = app.needsPasskey(after: credential.provider)
    guard hasApp || mfa == .required || needsPasskey else { return nil }
    let hasPasskey = found?.hasPasskey == true && app.passkeySettings.isOpen
    let mayAdd = needsPasskey && credential.mayAddPasskey(besides: hasPasskey)
    var methods: [Method] = hasPasskey ? [.passkey] : []
    if hasApp, !needsPasskey || mayAdd {
      methods = [.totp, .recoveryCode] + methods
    } else if mayAdd, !hasPasskey || mfa != .required {
      methods.append(.enrollPasskey)
    }
    return start(methods.isEmpty ? [.enroll] : methods, after: credential, in: transaction)
  }

  /// Sends the flow of a second step.
  ///
  /// - Parameters:
  ///   - methods: the ways to complete it.
  ///   - credential: the credential of the first step.
  ///   - transaction: the transaction, which has locked the user.
  /// - Returns: `.additionalFactorRequired` with the flow.
  private static func start(
    _ methods: [Method], after credential: VerifiedCredential, in transaction: Transaction
  ) -> Failure {
    let context = transaction.context
    let (flow, place) = (FlowID(), FlowPlace(of: credential.user))
    let enrolls = methods.contains(.enroll) || methods.contains(.enrollPasskey)
    let purpose: AuthenticationFlow.Purpose = enrolls ? .enroll : .secondFactor
    let app = context.app.id
    _ = transaction.send(SecondFactorFlowQueries.makeRoom, place, limit)
    _ = transaction.send(
      SecondFactorFlowQueries.begin, place, app, flow, purpose.rawValue, credential.provider,
      credential.evidence, credential.authenticatedAt, tries, lifetime, credential.issuerSession,
      credential.readAddress
    )
    return .additionalFactorRequired(
      flow: Credential(.flow, of: flow, part: place).text(context.keys.master),
      methods: methods.map(\.rawValue), lifetime: lifetime
    )
  }

  /// Signs in by the code of a second factor.
  ///
  /// In a flow that enrolls a factor, the code confirms the factor. If the app requires a passkey, the
  /// user adds one in a further step.
  /// - Parameters:
  ///   - text: the flow, as the first step has returned it.
  ///   - code: a code of an authenticator, or a recovery code.
  ///   - style: the style of the wire's sessions.
  ///   - context: the context of the request.
  /// - Returns: the session, and new recovery codes if a factor was enrolled.
  /// - Throws: `.invalidCode` also for a flow that is finished or expired, `.wrongCredentials` if the
  ///   credential of the first step is not valid any more. `.additionalFactorRequired` for the
  ///   further step, `.tooManyAttempts`, `.tooManyRequests`, `.deviceFull`, `.databaseUnavailable`.
  package static func complete(
    _ text: String, by code: String, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> (session: OpenSession, recoveryCodes: [String]) {
    let (place, flow) = try ids(of: text, context)
    let step = try await step(of: flow, at: place, .code(code), context)
    let user = step.credential.user
    let limiter = try await SecondFactors.limiter(of: code, by: user, context)
    do throws(Failure) {
      try await limiter.count()
      if context.app.needsPasskey(after: step.credential.provider) {
        throw try await beginPasskey(after: step, countedBy: limiter, context)
      }
      let tokens = try await SignIn.complete(
        step.credential, secondFactor: SecondFactors.methods, countedBy: limiter, as: style,
        context, step.write
      )
      return (tokens, step.recoveryCodes)
    } catch let error where error.is(.tooManyAttempts) || error.is(.tooManyRequests) {
      // The code was not looked at.
      _ = try await context.write(SecondFactorFlowQueries.giveBack, place, context.app.id, flow)
      throw error
    } catch .invalidCode {
      try await SecondFactors.recordFailure(of: user, context)
      throw .invalidCode
    }
  }

  /// Uses a code up, and begins the step in which the user adds a passkey.
  ///
  /// - Returns: `.additionalFactorRequired` with the flow.
  /// - Throws: `.invalidCode`, also for a user who has to use a passkey; `.wrongCredentials`,
  ///   `.databaseUnavailable`.
  private static func beginPasskey(
    after step: SecondStep, countedBy limiter: FailureLimiter, _ context: RequestContext
  ) async throws(Failure) -> Failure {
    let credential = step.credential
    return try await limiter.complete { () async throws(Failure) in
      try await context.transaction { transaction async throws(Failure) in
        _ = transaction.send(SessionsQueries.lockUser, credential.user)
        try await credential.requireMayAddPasskey(in: transaction)
        try await step.write(in: transaction)()
        try await credential.sendCheck(in: transaction)()
        let next = start([.enrollPasskey], after: credential, in: transaction)
        try await limiter.succeed(in: transaction)
        return next
      }
    }
  }

  /// Signs in by a passkey as the second factor, or by a new passkey.
  ///
  /// - Parameters:
  ///   - text: the flow, as the first step has returned it.
  ///   - passkey: the passkey that the user has shown.
  ///   - style: the style of the wire's sessions.
  ///   - context: the context of the request.
  /// - Returns: the session.
  /// - Throws: `.invalidCode` for a flow that is finished, expired, of another user, or that enrolls
  ///   an authenticator app; a new passkey needs a flow that enrolls a passkey.
  ///   `.wrongCredentials` if the credential of the first step is not valid any more, errors
  ///   of the passkey's writes, `.tooManyRequests`, `.deviceFull`, `.databaseUnavailable`.
  package static func complete(
    _ text: String, by passkey: ShownPasskey, as style: SessionStyle = .native,
    _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let (place, flow) = try ids(of: text, context)
    let step = try await step(of: flow, at: place, .passkey(passkey), context)
    return try await SignIn.complete(
      step.credential, secondFactor: passkey.credential.secondFactor, as: style, context, step.write
    )
  }

  /// Counts a try of a flow, and returns its step.
  ///
  /// - Throws: `.invalidCode` for a flow that is finished, expired, or does not take the proof;
  ///   `.databaseUnavailable`.
  private static func step(
    of flow: FlowID, at place: FlowPlace, _ proof: SecondStep.Proof, _ context: RequestContext
  ) async throws(Failure) -> SecondStep {
    let spent = try await context.write(FlowQueries.spend, place, context.app.id, flow)
    guard let row = spent.first, let step = SecondStep(row, of: flow, at: place, proof, context)
    else { throw .invalidCode }
    return step
  }

  /// Begins to enroll a factor in a flow of an app that requires one.
  ///
  /// Throws `.invalidCode` for a flow that is finished or expired, that enrolls a passkey, or whose
  /// user has a factor; `.mfaDisabled`, `.databaseUnavailable`.
  package static func enroll(
    _ text: String, _ context: RequestContext
  ) async throws(Failure) -> SecondFactors.Enrollment {
    let (place, flow) = try ids(of: text, context)
    try SecondFactors.requireOffered(context)
    return try await context.transaction { transaction async throws(Failure) in
      let found = try await transaction.run(
        SecondFactorFlowQueries.enrolling, place, context.app.id, flow
      )
      guard let provider = found.first.map({ IdentityProvider($0) }),
        !context.app.needsPasskey(after: provider)
      else { throw .invalidCode }
      let user = UserID(trusted: place.text)
      _ = try await lockedFactors(of: user, in: transaction)
      return try await SecondFactors.begin(of: user, in: transaction)
    }
  }

  /// Returns the user who adds a passkey in a flow; nil if it is finished or expired, or adds none.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func userAddingPasskey(
    in text: String, _ context: RequestContext
  ) async throws(Failure) -> UserID? {
    guard let credential = Credential(.flow, text, context.keys.master) else { return nil }
    let place: FlowPlace = credential.part()
    let found = try await context.read(
      SecondFactorFlowQueries.enrolling, place, context.app.id, credential.owner(), on: .exclusive
    )
    guard let provider = found.first.map({ IdentityProvider($0) }),
      context.app.needsPasskey(after: provider)
    else { return nil }
    return UserID(trusted: place.text)
  }

  /// Locks a user who has no confirmed factor, and returns the factor that is not confirmed.
  static func lockedFactors(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) -> [StoredFactor] {
    _ = transaction.send(SessionsQueries.lockUser, user)
    let factors = try await transaction.run(SecondFactorQueries.factors, user)
    // Another request has enrolled one since the first step: a new sign-in asks for its code.
    guard !factors.contains(where: \.isConfirmed) else { throw .invalidCode }
    return factors
  }

  private static func ids(
    of text: String, _ context: RequestContext
  ) throws(Failure) -> (FlowPlace, FlowID) {
    guard let credential = Credential(.flow, text, context.keys.master) else {
      throw .invalidCode
    }
    return (credential.part(), credential.owner())
  }
}

package enum SecondFactorFlowQueries {
  /// Deletes the oldest flows of second factors beyond a limit.
  ///
  /// The user is locked.
  /// - Parameter 2: the limit.
  static let makeRoom = Statement<NoRow, FlowPlace, Int>(
    "second_factor_flows.make_room",
    """
    delete from authentication_flows
    where place = $1 and flow_id = any (array(
      select f.flow_id from authentication_flows f
      where f.place = $1 and f.purpose in ('second_factor', 'enroll')
      order by f.expires_at desc offset $2::bigint - 1))
    """)

  /// - Parameter 7: when the issuer of a token saw the user, in seconds since 1970; null for now.
  /// - Parameter 10: the session at the issuer; null if unknown.
  /// - Parameter 11: the key of the address whose mail the user has read; null for none.
  static let begin = Statement<
    NoRow, FlowPlace, AppID, FlowID, String, IdentityProvider, String?, Int?, Int, Duration,
    String?, String?
  >(
    "second_factor_flows.begin",
    """
    insert into authentication_flows (
      place, app_id, flow_id, purpose, provider, evidence, authenticated_at, tries, expires_at,
      issuer_session, email_key)
    values ($1, $2, $3, $4, $5, $6, to_timestamp($7::bigint), $8::bigint, now() + $9::interval,
      $10, $11)
    """)

  /// Returns the provider of the first step of a flow that enrolls a factor; no row if the flow is
  /// finished or expired.
  static let enrolling = Statement<String, FlowPlace, AppID, FlowID>(
    "second_factor_flows.enrolling",
    """
    select provider from authentication_flows
    where place = $1 and app_id = $2 and flow_id = $3 and purpose = 'enroll' and tries > 0
      and expires_at > now()
    """)

  /// Gives the try of a flow back.
  static let giveBack = Statement<NoRow, FlowPlace, AppID, FlowID>(
    "second_factor_flows.give_back",
    """
    update authentication_flows set tries = tries + 1
    where place = $1 and app_id = $2 and flow_id = $3
    """)

  /// Finishes a flow; undoes the transaction if another request has finished it.
  static let finish = Statement<NoRow, FlowPlace, AppID, FlowID>(
    "second_factor_flows.finish",
    """
    with gone as (
      delete from authentication_flows where place = $1 and app_id = $2 and flow_id = $3 returning 1
    )
    select require((select count(*) from gone) = 1)
    """)
}

/// A passkey whose signature is right, and the writes that use it once.
package struct ShownPasskey {
  package let credential: VerifiedCredential
  /// Whether the user has just made it, and the writes add it.
  let isNew: Bool
  /// Undoes the transaction if the signature was used before, or the passkey is gone.
  package let write: SignIn.Writes

  package init(
    _ credential: VerifiedCredential, isNew: Bool = false, _ write: @escaping SignIn.Writes
  ) {
    (self.credential, self.isNew, self.write) = (credential, isNew, write)
  }
}

extension ShownPasskey {
  /// Returns whether it is a passkey of the user of a flow.
  fileprivate func isOwn(of place: FlowPlace) -> Bool {
    credential.user.text.hasSameBytes(as: place.text)
  }
}

extension VerifiedCredential {
  /// Returns whether its user may add a passkey before a session begins, also if there are others.
  func mayAddPasskey(besides hasPasskey: Bool) -> Bool { !hasPasskey || readAddress != nil }

  /// Throws `.invalidCode` if its user has to use a passkey rather than to add one.
  @EventLoop fileprivate func requireMayAddPasskey(
    in transaction: Transaction
  ) async throws(Failure) {
    let found = try await transaction.run(SecondFactorQueries.enrolled, user).first
    guard mayAddPasskey(besides: found?.hasPasskey == true) else { throw .invalidCode }
  }
}

extension App {
  /// Returns whether a sign-in by a kind of credential is complete only with a passkey.
  func needsPasskey(after provider: IdentityProvider) -> Bool {
    guard passkeySettings.isRequired else { return false }
    switch provider {
    case .password, .linkedPassword, .email: return true
    case .anonymous, .apiKey, .passkey, .issuer: return false
    }
  }
}

/// The second step of a sign-in: its proof, and the credential that its flow has kept.
@EventLoop final class SecondStep {
  /// The proof that the user shows.
  enum Proof {
    case code(String)
    case passkey(ShownPasskey)
  }

  let credential: VerifiedCredential
  /// The new recovery codes, once the step has enrolled a factor.
  private(set) var recoveryCodes: [String] = []
  private let flow: FlowID
  private let place: FlowPlace
  private let proof: Proof
  /// Whether the code confirms a new factor, or the passkey is new.
  private let enrolls: Bool
  private let context: RequestContext

  /// Returns nil for a flow of another purpose, and for a passkey of another user.
  init?(
    _ row: FlowRow, of flow: FlowID, at place: FlowPlace, _ proof: Proof, _ context: RequestContext
  ) {
    guard let provider = row.provider, let evidence = row.evidence else { return nil }
    let addsPasskey = context.app.needsPasskey(after: provider)
    switch (AuthenticationFlow.Purpose(rawValue: row.purpose), proof) {
    case (.secondFactor, .code): enrolls = false
    case (.enroll, .code) where !addsPasskey: enrolls = true
    case (.secondFactor, .passkey(let passkey)) where passkey.isOwn(of: place) && !passkey.isNew:
      enrolls = false
    case (.enroll, .passkey(let passkey)) where passkey.isOwn(of: place) && addsPasskey:
      enrolls = passkey.isNew
    default: return nil
    }
    credential = VerifiedCredential(
      of: UserID(trusted: place.text), provider: provider, evidence: evidence,
      at: row.authenticatedAt, issuerSession: row.issuerSession, readAddress: row.key
    )
    (self.flow, self.place, self.proof, self.context) = (flow, place, proof, context)
  }

  /// Verifies the proof, and finishes the flow.
  ///
  /// - Returns: a function that waits, and throws `.invalidCode` if another request has finished it.
  func write(in transaction: Transaction) async throws(Failure) -> Completion {
    let shown = try await use(in: transaction)
    let finished = transaction.send(SecondFactorFlowQueries.finish, place, context.app.id, flow)
    return { () async throws(Failure) in
      try await shown?()
      try await finished.rows(undone: .invalidCode)
    }
  }

  /// Uses the proof up, or enrolls a factor by it.
  private func use(in transaction: Transaction) async throws(Failure) -> Completion? {
    let user = credential.user
    switch proof {
    case .passkey(let passkey):
      if enrolls {
        // Another request may have added one since the first step.
        try await credential.requireMayAddPasskey(in: transaction)
      }
      return try await passkey.write(transaction)
    case .code(let code) where enrolls:
      try SecondFactors.requireOffered(context)
      let factors = try await SecondFactorFlow.lockedFactors(of: user, in: transaction)
      guard let factor = factors.first else { throw .invalidCode }
      recoveryCodes = try await SecondFactors.confirm(factor, by: code, of: user, in: transaction)
    case .code(let code): try await SecondFactors.use(code, of: user, in: transaction)
    }
    return nil
  }
}
