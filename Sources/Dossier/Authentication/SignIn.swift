import EventLoop
import Postgres

/// The last step of every sign-in: a verified credential becomes a session.
@EventLoop enum SignIn {
  /// Creates a session for a verified credential, and returns its tokens.
  ///
  /// If the sign-in fails, its attempt is given back: the credential was right.
  /// - Parameters:
  ///   - credential: the credential.
  ///   - guarding: the guard that has counted the attempt; nil without one.
  ///   - style: the style of the wire's sessions.
  ///   - context: the request that brought the credential.
  ///   - body: as for `create`.
  /// - Returns: the tokens.
  /// - Throws: as `create`.
  static func complete(
    _ credential: VerifiedCredential,
    countedBy guarding: FailureGuard? = nil,
    as style: SessionStyle,
    _ context: RequestContext,
    _ body: @EventLoop (Transaction) async throws(Failure) -> Completion = noWork
  ) async throws(Failure) -> Sessions.Grant {
    guard let guarding else {
      return try await create(credential, countedBy: nil, as: style, context, body).grant()
    }
    let session = try await guarding.complete { () async throws(Failure) in
      try await create(credential, countedBy: guarding, as: style, context, body)
    }
    return try await session.grant()
  }

  /// Creates a session for a verified credential.
  ///
  /// - Parameters:
  ///   - credential: the credential.
  ///   - methods: the methods of a second factor that the body verifies; empty without one.
  ///   - guarding: the guard that has counted the attempt, and gets it back with the session.
  ///   - style: the style of the wire's sessions.
  ///   - context: the request that brought the credential.
  ///   - body: work of the sign-in that runs in its transaction with the user locked, before the
  ///     session is written. It returns a function that waits for its statements.
  /// - Returns: the session.
  /// - Throws: `.additionalFactorRequired` with a flow, `.wrongCredentials` if the credential is not
  ///   valid any more, `.deviceUnknown`, `.deviceFull`, `.overloaded`, `.unavailable`, and errors of
  ///   the body.
  static func create(
    _ credential: VerifiedCredential,
    secondFactor methods: String = "",
    countedBy guarding: FailureGuard?,
    as style: SessionStyle,
    _ context: RequestContext,
    _ body: @EventLoop (Transaction) async throws(Failure) -> Completion
  ) async throws(Failure) -> SessionCreation {
    let device = try await Devices.admit(credential.user, context)
    do throws(Failure) {
      return try await create(credential, methods, on: device, guarding, style, context, body)
    } catch .deviceUnknown where device != nil {
      // Another sign-in has replaced the secret of the device since it was read.
      return try await create(credential, methods, on: nil, guarding, style, context, body)
    }
  }

  static let noWork: @EventLoop (Transaction) async throws(Failure) -> Completion = { _ in
    { () async throws(Failure) in }
  }

  private static func create(
    _ credential: VerifiedCredential,
    _ methods: String,
    on device: DeviceProof?,
    _ guarding: FailureGuard?,
    _ style: SessionStyle,
    _ context: RequestContext,
    _ body: @EventLoop (Transaction) async throws(Failure) -> Completion
  ) async throws(Failure) -> SessionCreation {
    let session = SessionCreation(credential, secondFactor: methods, on: device, style, context)
    let asks = context.app.settings.mfa != .off && credential.takesSecondFactor && methods.isEmpty
    let secondStep = try await context.transaction {
      transaction async throws(Failure) -> Failure? in
      // Every sign-in locks the user, then the device, then the attempts.
      if !credential.isOfNewUser { _ = transaction.send(IdentitiesQueries.lock, credential.user) }
      let work = try await body(transaction)
      let checked = credential.sendCheck(in: transaction, context)
      if asks {
        try await work()
        try await checked()
        let need = try await SecondFactors.need(of: credential.user, in: transaction, context)
        guard need == .none else {
          // The commit keeps what the body did: its code is used up, and a new user is made.
          let flow = try await SecondFactorFlow.begin(
            credential,
            enroll: need == .enroll,
            in: transaction,
            context
          )
          try await guarding?.succeed(in: transaction)
          return flow
        }
      }
      let created = session.send(in: transaction)
      let givenBack = guarding?.sendSuccess(in: transaction)
      transaction.sendCommit()
      if !asks {
        try await work()
        try await checked()
      }
      try await created()
      try await givenBack?()
      return nil
    }
    if let secondStep { throw secondStep }
    return session
  }
}
