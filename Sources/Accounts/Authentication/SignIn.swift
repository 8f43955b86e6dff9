import Delivery
package import RateLimiting
import Tenancy
package import Runtime
package import Sessions
package import EventLoop
import JSON
import Postgres

/// The last step of every sign-in: a verified credential becomes a session.
@EventLoop package enum SignIn {
  /// The writes of one sign-in method, in the transaction of the sign-in.
  ///
  /// The user is locked, and the session is not written yet. The function returns another one, which
  /// waits for the statements. Both may run several times, after a rollback that undoes all effects.
  package typealias Writes = @EventLoop (Transaction) async throws(Failure) -> Completion

  package nonisolated static let noWrites: Writes = { _ in { () async throws(Failure) in } }

  /// Creates a session for a verified credential, and returns it.
  ///
  /// - Parameters:
  ///   - credential: the credential.
  ///   - methods: the methods of a second factor that the writes verify; empty without one.
  ///   - limiter: the limiter that has counted the attempt; nil without one. It gets the attempt
  ///     back, unless the writes find a wrong code.
  ///   - style: the style of the wire's sessions.
  ///   - context: the request that brought the credential.
  ///   - write: sends the writes of the sign-in method.
  /// - Returns: the session.
  /// - Throws: `.additionalFactorRequired` with a flow, `.wrongCredentials` if the credential is
  ///   not valid any more, `.tooManyRequests` after too many sign-ins, `.deviceUnknown`,
  ///   `.deviceFull`, `.overloaded`, `.databaseUnavailable`, and errors of the writes.
  package static func complete(
    _ credential: VerifiedCredential, secondFactor methods: String = "",
    countedBy limiter: FailureLimiter? = nil, as style: SessionStyle, _ context: RequestContext,
    _ write: Writes = noWrites
  ) async throws(Failure) -> OpenSession {
    let live: LiveSession
    // Limits are keyed hashes, so they are made where they count.
    func ofSessions() -> RateLimitSet {
      RateLimitSet([.ofUser(.session, credential.user, context)], context)
    }
    func ofFirstSteps() -> RateLimitSet {
      let isFamiliar = limiter?.isFamiliar == true
      return RateLimitSet(
        [.ofFirstSteps(of: credential.user, onFamiliarDevice: isFamiliar, context)], context
      )
    }
    do throws(Failure) {
      var device = try await Devices.admit(credential.user, context)
      // If no user needs a factor, the first attempt writes the session, and checks that this user has
      // none.
      let app = context.app
      var asksForFactor =
        app.sessionSettings.mfa == .required || app.needsPasskey(after: credential.provider)
      while true {
        do throws(Failure) {
          live = try await context.transaction {
            transaction async throws(Failure) -> Result<LiveSession, Failure> in
            // Every sign-in locks the user, then the device, then what it writes.
            let isNew = credential.isOfNewUser
            if !isNew { _ = transaction.send(SessionsQueries.lockUser, credential.user) }
            if let device { _ = transaction.send(DevicesQueries.lock, device.id) }
            var sent = SentWrites()
            sent.add(try await write(transaction))
            let enrolled =
              asksForFactor && methods.isEmpty
              ? SecondFactorFlow.sendIsEnrolled(after: credential, in: transaction) : nil
            // A first step that needs a second one counts apart.
            if !isNew, enrolled == nil { sent.add(ofSessions().sendSpending(in: transaction)) }
            if !isNew { sent.add(credential.sendCheck(in: transaction)) }
            // A wait for a later statement must not hide these errors.
            if enrolled != nil || !isNew && context.app.mailSettings.tellsNewDevices {
              try await sent.wait()
            }
            if let enrolled {
              let secondStep = try await SecondFactorFlow.begin(
                after: credential, enrolled, in: transaction
              )
              if let secondStep {
                if !isNew { try await ofFirstSteps().sendSpending(in: transaction)() }
                // The commit keeps the writes: a code is used up, and a new user is made.
                try await limiter?.succeed(in: transaction)
                return .failure(secondStep)
              }
              if !isNew { sent.add(ofSessions().sendSpending(in: transaction)) }
            }
            if !isNew {
              try await NewDevice.tell(credential, on: device?.id, in: transaction)
            }
            if !asksForFactor, methods.isEmpty {
              sent.add(SecondFactorFlow.sendNeedsNone(after: credential, in: transaction))
            }
            let (live, created) = sendSession(
              by: credential, secondFactor: methods, on: device, as: style, in: transaction
            )
            sent.add(created)
            sent.add(limiter?.sendSuccess(in: transaction))
            transaction.sendCommit()
            try await sent.wait()
            return .success(live)
          }.get()
          break
        } catch .deviceUnknown where device != nil {
          // Another sign-in has replaced the secret of the device since it was read.
          device = nil
        } catch .additionalFactorRequired where !asksForFactor {
          asksForFactor = true
        }
      }
    } catch {
      try await limiter?.giveBack(after: error)
      // The limit that is used up may be the user's, which this reports and records.
      if error.is(.tooManyRequests), !credential.isOfNewUser {
        try await ofSessions().requireLeft()
        try await ofFirstSteps().requireLeft()
      }
      throw error
    }
    return OpenSession(live, of: credential.user, as: style, context)
  }

  /// Sends all statements of a new session without waiting.
  ///
  /// The device gets a new secret, so that a copy of the old secret becomes useless.
  /// - Parameters:
  ///   - credential: the verified credential.
  ///   - methods: the methods of a second factor that the user passes; empty without one.
  ///   - known: the credential of the device that the client has sent; nil for a new device.
  ///   - style: the style of the wire's sessions.
  ///   - transaction: the transaction of the sign-in.
  /// - Returns: the session, and a function that waits, and throws `.deviceUnknown` or `.deviceFull`.
  private static func sendSession(
    by credential: VerifiedCredential, secondFactor methods: String, on known: DeviceCredential?,
    as style: SessionStyle, in transaction: Transaction
  ) -> (LiveSession, Completion) {
    let context = transaction.context
    let master = context.keys.master
    let settings = context.app.sessionSettings
    let (user, app) = (credential.user, context.app.id)
    let device = known?.id ?? DeviceID()
    let secret = known.flatMap { $0.isBare ? $0.secret : nil } ?? Credential(.device, of: device)
    let live = LiveSession(on: device, scope: style.scopes.text, deviceSecret: secret)
    let shown = known?.secret.hash(master)
    // A bare device keeps its secret.
    let kept = known?.isBare == true ? shown : nil
    let entered = transaction.send(
      SessionCreationQueries.enterDevice, device, app, shown, kept ?? secret.hash(master), user
    )
    let room =
      known == nil
      ? nil : transaction.send(SessionCreationQueries.requireRoom, device, Devices.limit)
    if credential.isOfNewUser {
      _ = transaction.send(SessionCreationQueries.countLogin, user)
    } else {
      _ = transaction.send(
        SessionCreationQueries.makeRoom, user, device, style.keepsSessions,
        settings.sessionsPerUser, credential.apiKey
      )
      _ = transaction.send(
        SessionCreationQueries.recordSurplus, user, EventID(), ServerTime(), context.address.text,
        context.agent, context.requestID
      )
    }
    let methods =
      methods.isEmpty ? credential.methods : "\(credential.methods) \(methods)"
    let isByKey = credential.apiKey != nil
    _ = transaction.send(SessionCreationQueries.enterPlace, user, device, methods, isByKey)
    let opened = transaction.send(
      SessionCreationQueries.insert,
      user,
      live.session,
      device,
      app,
      credential.provider,
      live.scope,
      BinaryBytes(live.salt),
      style.lifetime ?? settings.sessionLifetime,
      context.address.text,
      context.agent,
      credential.opener,
      credential.authenticatedAt,
      style.name,
      methods,
      style.party?.client,
      style.party?.audience,
      style.party?.issuer,
      style.party?.isNotified ?? false,
      credential.issuerSession
    )
    var detail = credential.provider.eventDetail(in: transaction.app)
    detail["client_id"] = (style.party?.client).map { .string($0.text) }
    let place = EventPlace(session: live.session, device: device)
    Event("login", of: user, at: place, detail: .object(detail))
      .record(in: transaction, by: .user(of: app))
    let created: Completion = { () async throws(Failure) in
      try await entered.rows(undone: .deviceUnknown)
      try await room?.rows(undone: .deviceFull(limit: Devices.limit))
      try await opened.rows()
    }
    return (live, created)
  }
}

/// Writes of a transaction that were sent, whose errors are awaited in their order.
@EventLoop private struct SentWrites {
  private var waiting: [Completion] = []

  mutating func add(_ completion: Completion?) {
    if let completion { waiting.append(completion) }
  }

  /// Waits for what was added since the last call.
  mutating func wait() async throws(Failure) {
    let all = waiting
    waiting = []
    for completion in all { try await completion() }
  }
}
