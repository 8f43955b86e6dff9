package import EventLoop
package import Postgres

/// The owner of a request's share of the server, which also knows the client.
@EventLoop package protocol RequestOwner: JobOwner {
  var clientAddress: ClientAddress { get }
  /// The `User-Agent` as sent.
  var agent: String? { get }
  /// The id of the request in responses, in the log and in audit events.
  var requestID: String { get }
  /// The language tags that the client prefers, the best one first.
  var languages: [String] { get }
}

/// The data that a module keeps while a request runs, such as the request's device.
@EventLoop package protocol RequestPart: AnyObject {}

/// The context of a request: its principal, app, client address and device.
///
/// Each request has one object, which also runs its statements.
@EventLoop package final class RequestContext {
  package let dependencies: Dependencies
  /// Nil until the app is known, and for requests outside of apps.
  package var knownApp: App?
  /// The languages that were chosen for this request; nil for those that its client prefers.
  private var chosenLanguages: [String]?
  /// Nil until the request is authenticated.
  private var knownPrincipal: Principal?
  private var parts: [any RequestPart] = []

  /// The time that this request has spent in the database.
  package var databaseNanoseconds: UInt64 = 0
  /// The request itself; nil for work of the server.
  package var owner: (any RequestOwner)?
  /// The agent of a request without an owner.
  private let fixedAgent: String?
  /// Whether this request has written to the database.
  package internal(set) var hasWritten = false
  /// Whether a transaction of this request is open.
  var isInTransaction = false
  /// Called after the current write, such as to wake the delivery of mails.
  package var afterWrite: (@EventLoop () -> Void)?
  /// The time after which no more work of this request starts; nil before the first.
  var calculatesUntil: UInt64?
  /// A remark for the log about a request that succeeds, without personal data; nil for none.
  package var remark: String?
  /// The rate limits that this request has used, which every response reports.
  package private(set) var notedLimits: [RateLimitStatus] = []

  package init(
    _ dependencies: Dependencies, app: App? = nil, principal: Principal? = nil, agent: String? = nil
  ) {
    self.dependencies = dependencies
    knownApp = app
    knownPrincipal = principal
    fixedAgent = agent
  }

  package var app: App { knownApp ?? .deployment }

  package var principal: Principal {
    get { knownPrincipal ?? .anyone }
    set { knownPrincipal = newValue }
  }

  /// The address of the client, which most requests do not use.
  package lazy var address = owner?.clientAddress ?? ClientAddress(nil)

  /// The `User-Agent`, at most 512 characters.
  package var agent: String? {
    // Characters are counted only where the text may be too long.
    (owner?.agent ?? fixedAgent).map { $0.utf8.count <= 512 ? $0 : String($0.prefix(512)) }
  }

  /// The id of the request; nil for work of the server.
  package var requestID: String? { owner?.requestID }

  /// The language tags of mails to users without a locale, the best one first.
  package var languages: [String] {
    get { chosenLanguages ?? owner?.languages ?? [] }
    set { chosenLanguages = newValue }
  }

  package var database: Database { dependencies.database }
  package var keys: Keyring { dependencies.keys }

  /// Returns the data of a module about this request; nil if it has none.
  @inline(__always)
  package func part<Part: RequestPart>(_ type: Part.Type = Part.self) -> Part? {
    for part in parts where Swift.type(of: part) == type { return unsafeDowncast(part, to: type) }
    return nil
  }

  /// Keeps a value for the rest of this request.
  package func keep(_ part: any RequestPart) { parts.append(part) }

  /// Notes a rate limit, in place of an earlier one with the same name.
  package func note(_ limit: RateLimitStatus) {
    if let index = notedLimits.firstIndex(where: { $0.name == limit.name }) {
      notedLimits[index] = limit
    } else {
      notedLimits.append(limit)
    }
  }

  /// The error for a user that does not exist, or for a session that has ended.
  package var gone: Failure {
    switch principal.role {
    case .user: .sessionEnded
    case .anyone: .tokenMissing
    case .client, .operator, .administrator, .system: .notFound
    }
  }

  /// Maps a database error.
  ///
  /// A broken foreign key means that the user or the app has been deleted since it was read. That
  /// does not end the session of a client or operator.
  func failure(_ error: DatabaseError) -> Failure {
    let actsForItself = principal.role == .user || principal.role == .anyone
    return error.state == .foreignKeyViolation && !actsForItself ? gone : Failure(error)
  }

  /// Checks that the principal may access a user, for statements that do not check it themselves.
  ///
  /// - Throws: `.sessionEnded`, `.notFound`, `.databaseUnavailable`.
  package func requireSession(of user: UserID) async throws(Failure) {
    guard try await isLive(user) else { throw gone }
  }

  /// Returns whether the principal may access a user.
  ///
  /// - Throws: `.databaseUnavailable`.
  package func isLive(_ user: UserID) async throws(Failure) -> Bool {
    try await !read(PrincipalQueries.live, user, principal).isEmpty
  }

  /// - Throws: `.insufficientScope` if the principal lacks the scope.
  package func require(_ scope: String) throws(Failure) {
    guard principal.scopes.contains(scope) else { throw .insufficientScope(scope: scope) }
  }
}

extension Optional {
  /// Unwraps the row of a user; throws `context.gone` without a row.
  @EventLoop package func orGone(_ context: RequestContext) throws(Failure) -> Wrapped {
    guard let self else { throw context.gone }
    return self
  }
}

package enum PrincipalQueries {
  /// Returns one row if the principal may access the user.
  package static let live = Statement<String, UserID, Principal>(
    "principal.live", "select c.user_id from users c where \(.isAuthorized)"
  )
}

/// Calculations whose cost grows with the data of a client.
extension RequestContext {
  /// The most bytes that are processed on the loop, within a millisecond or two.
  ///
  /// For less work a thread would cost more than it saves.
  private static let small = 16_384

  /// Runs small work at once, and other work on a thread, so that no other request waits for it.
  ///
  /// - Parameters:
  ///   - bytes: the length of the text to process; `.max` for a patch, an update or a schema of a
  ///     client, whose cost does not depend on its length.
  ///   - work: the work, which must not touch state of the loop. It does not start if the client
  ///     has disconnected.
  /// - Returns: the result of `work`.
  /// - Throws: errors of `work`; `.tooManyRequests` if the user, API client or network has too much
  ///   waiting work, `.overloaded` if the queue is full or the work waits too long.
  @inline(__always)
  package func calculate<Value: Sendable>(
    on bytes: Int, _ work: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard bytes > Self.small else { return try work() }
    return try await calculateAside(work)
  }

  /// Runs work on a thread.
  private func calculateAside<Value: Sendable>(
    _ work: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let latest = calculatesUntil ?? EventLoop.now() &+ dependencies.calculator.patience.nanoseconds
    calculatesUntil = latest
    let outcome: Result<Value, Failure>
    do throws(FairQueueError) {
      outcome = try await dependencies.calculator.run(for: owner, until: latest) {
        () -> Result<Value, Failure> in
        do throws(Failure) { return .success(try work()) } catch { return .failure(error) }
      }
    } catch {
      throw Failure(error, retryAfter: .seconds(1))
    }
    return try outcome.get()
  }
}

extension Failure {
  /// Maps the reason why work did not run in a pool.
  package convenience init(_ error: FairQueueError, retryAfter time: Duration) {
    switch error {
    case .shareTaken: self.init(.tooManyRequests(retryAfter: time))
    case .full, .late, .abandoned, .withdrawn: self.init(.overloaded(retryAfter: time))
    }
  }
}

/// The result of one try to change a version of stored data.
package enum Revision<Outcome> {
  case done(Outcome)
  /// A concurrent write has replaced the version that was read.
  case overtaken
}

/// Changes of versioned data that run here: read, change, write.
extension RequestContext {
  /// Runs `body`, which reads, changes and writes data of a user, and repeats it after a concurrent
  /// write.
  ///
  /// Repetitions for the same data run one after another, so that many concurrent writers all
  /// finish. They compete only with other workers and with new requests.
  /// - Throws: errors of `body`, `.overloaded`.
  package func revise<Outcome>(
    _ data: String, of user: UserID,
    _ body: @EventLoop () async throws(Failure) -> Revision<Outcome>
  ) async throws(Failure) -> Outcome {
    if case .done(let outcome) = try await body() { return outcome }
    return try await dependencies.revisions.inTurn(on: "\(user) \(data)") {
      () async throws(Failure) in
      for attempt in 0..<16 {
        if case .done(let outcome) = try await body() { return outcome }
        await EventLoop.sleep(for: .milliseconds(Int.random(in: 0...(1 + attempt * 4))))
      }
      throw .overloaded(retryAfter: .seconds(1))
    }
  }
}
