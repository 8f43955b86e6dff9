import EventLoop
import Postgres

/// The last step of every sign-in: a verified credential becomes a session.
@EventLoop enum SignIn {
  /// Creates a session for a verified credential.
  ///
  /// - Parameters:
  ///   - credential: the credential.
  ///   - methods: the methods of a second factor that was verified; empty without one.
  ///   - style: the style of the wire's sessions.
  ///   - context: the request that brought the credential.
  ///   - body: work of the sign-in that runs in its transaction, before the session is written. It
  ///     returns a function that waits for its statements.
  /// - Returns: the tokens.
  /// - Throws: `.additionalFactorRequired` with a flow, `.wrongCredentials` if the credential is not
  ///   valid any more, `.deviceUnknown`, `.deviceFull`, `.overloaded`, `.unavailable`, and what
  ///   `body` throws.
  static func complete(
    _ credential: VerifiedCredential,
    secondFactor methods: String = "",
    as style: SessionStyle,
    _ context: RequestContext,
    _ body: @EventLoop (Transaction) async throws(Failure) -> Completion = noWork
  ) async throws(Failure) -> Sessions.Grant {
    let device = try await Devices.admit(credential.user, context)
    do throws(Failure) {
      return try await complete(credential, methods, on: device, as: style, context, body)
    } catch .deviceUnknown where device != nil {
      // Another sign-in has replaced the secret of the device since it was read.
      return try await complete(credential, methods, on: nil, as: style, context, body)
    }
  }

  static let noWork: @EventLoop (Transaction) async throws(Failure) -> Completion = { _ in
    { () async throws(Failure) in }
  }

  private static func complete(
    _ credential: VerifiedCredential,
    _ methods: String,
    on device: DeviceProof?,
    as style: SessionStyle,
    _ context: RequestContext,
    _ body: @EventLoop (Transaction) async throws(Failure) -> Completion
  ) async throws(Failure) -> Sessions.Grant {
    let session = SessionCreation(credential, secondFactor: methods, on: device, style, context)
    let asks = context.app.settings.mfa != .off && credential.takesSecondFactor && methods.isEmpty
    let secondStep = try await context.transaction {
      transaction async throws(Failure) -> Failure? in
      let work = try await body(transaction)
      if asks {
        // A request that enrolls a factor at the same time finds this session, or is found here.
        _ = transaction.send(IdentitiesQueries.lock, credential.user)
        let checked = credential.sendCheck(in: transaction, context)
        try await work()
        try await checked()
        let need = try await SecondFactors.need(of: credential.user, in: transaction, context)
        guard need == .none else {
          // The commit keeps what the body did: its code is used up, and a new user is made.
          return try await SecondFactorFlow.begin(
            credential,
            enroll: need == .enroll,
            in: transaction,
            context
          )
        }
      }
      let created = session.send(in: transaction)
      transaction.sendCommit()
      if !asks { try await work() }
      try await created()
      return nil
    }
    if let secondStep { throw secondStep }
    return try await session.grant()
  }
}
