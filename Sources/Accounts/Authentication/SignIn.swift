import Runtime
import Sessions
import EventLoop
import Postgres

/// The last step of every sign-in: a verified credential becomes a session.
@EventLoop enum SignIn {
  /// The work of one sign-in method, which runs in the transaction of the sign-in.
  ///
  /// The user is locked, and the session is not written yet. The work returns a function that waits
  /// for its statements.
  typealias Work = @EventLoop (Transaction) async throws(Failure) -> Completion

  nonisolated static let noWork: Work = { _ in { () async throws(Failure) in } }

  /// Creates a session for a verified credential, and returns its tokens.
  ///
  /// - Parameters:
  ///   - credential: the credential.
  ///   - methods: the methods of a second factor that the work verifies; empty without one.
  ///   - guarding: the guard that has counted the attempt; nil without one. It gets the attempt back,
  ///     unless the work finds a wrong code.
  ///   - style: the style of the wire's sessions.
  ///   - context: the request that brought the credential.
  ///   - work: the work of the sign-in method.
  /// - Returns: the tokens.
  /// - Throws: `.additionalFactorRequired` with a flow, `.wrongCredentials` if the credential is
  ///   not valid any more, `.deviceUnknown`, `.deviceFull`, `.overloaded`, `.databaseUnavailable`,
  ///   and errors of the work.
  static func complete(
    _ credential: VerifiedCredential,
    secondFactor methods: String = "",
    countedBy guarding: FailureLimiter? = nil,
    as style: SessionStyle,
    _ context: RequestContext,
    _ work: Work = noWork
  ) async throws(Failure) -> Sessions.TokenSet {
    var session: SessionCreation
    do throws(Failure) {
      let device = try await Devices.admit(credential.user, context)
      session = SessionCreation(credential, methods, on: device, style, context)
      do throws(Failure) {
        try await create(session, countedBy: guarding, context, work)
      } catch .deviceUnknown where device != nil {
        // Another sign-in has replaced the secret of the device since it was read.
        session = SessionCreation(credential, methods, on: nil, style, context)
        try await create(session, countedBy: guarding, context, work)
      }
    } catch {
      try await guarding?.giveBack(after: error)
      throw error
    }
    return try await Sessions.grant(session.live, of: credential.user, as: style, context)
  }

  /// Writes a session, or begins the flow of its second step.
  private static func create(
    _ session: SessionCreation,
    countedBy guarding: FailureLimiter?,
    _ context: RequestContext,
    _ work: Work
  ) async throws(Failure) {
    let credential = session.credential
    let secondStep = try await context.transaction {
      transaction async throws(Failure) -> Failure? in
      // Every sign-in locks the user, then the device, then the attempts.
      if !credential.isOfNewUser { _ = transaction.send(SessionsQueries.lockUser, credential.user) }
      let worked = try await work(transaction)
      let checked =
        credential.isOfNewUser ? nil : credential.sendCheck(in: transaction, context)
      let need =
        session.secondFactor.isEmpty
        ? SecondFactorFlow.send(after: credential, in: transaction, context) : nil
      if let need {
        try await worked()
        try await checked?()
        if let flow = try await need() {
          // The commit keeps the work: a code is used up, and a new user is made.
          try await guarding?.succeed(in: transaction)
          return flow
        }
      }
      try await NewDevice.tell(credential, on: session.live.device, in: transaction, context)
      let created = session.send(in: transaction)
      let givenBack = guarding?.sendSuccess(in: transaction)
      transaction.sendCommit()
      if need == nil {
        try await worked()
        try await checked?()
      }
      try await created()
      try await givenBack?()
      return nil
    }
    if let secondStep { throw secondStep }
  }
}
