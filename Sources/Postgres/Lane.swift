import EventLoop

/// Connections that are lent to one caller at a time, by the rules of `FairQueue`.
///
/// A user has one of them at most, and what is no user's of a network leaves one to others.
@EventLoop final class Lane {
  private let patience: Duration
  private let connections: [PersistentConnection]
  private let queue: FairQueue
  private let guardian: SilenceGuard

  /// - Parameters:
  ///   - settings: for each connection.
  ///   - timeout: after which the server ends a statement.
  ///   - size: connections; one is made at once, the others when they are first needed.
  ///   - reserve: connections that a network, or a program, leaves to others.
  ///   - waitingRoom: callers that may wait; one more is refused.
  ///   - patience: how long a caller waits for a connection.
  ///   - guardian: hears when the server is silent.
  init(
    _ settings: ConnectionSettings,
    timeout: Duration,
    size: Int,
    reserve: Int,
    waitingRoom: Int,
    patience: Duration,
    guardian: SilenceGuard
  ) {
    self.patience = patience
    self.guardian = guardian
    queue = FairQueue(
      FairLimits(
        things: size,
        room: waitingRoom,
        group: size - reserve,
        groupWithoutMembers: size - 1,
        member: 1
      )
    )
    connections = (0..<size).map { _ in PersistentConnection(settings, timeout: timeout, guardian) }
    for connection in connections {
      connection.onOpen = { [weak self] opened in self?.queue.add(opened) }
      connection.onLoss = { [weak self] in self?.clear() }
    }
    guardian.onSilence.append { [weak self] in self?.queue.dropAll() }
  }

  func start() { connections.first?.start() }

  func stop() {
    for connection in connections { connection.stop() }
    queue.removeFree { _ in true }
  }

  var lent: Int { queue.lent }
  var waiters: Int { queue.waiting }
  var isConnected: Bool { connections.contains { $0.connection != nil } }
  private var isHopeless: Bool { !isConnected && connections.contains { $0.hasFailed } }
  /// Why the last connection that is missing could not be made.
  var failure: DatabaseError? { connections.lazy.compactMap(\.failure).first }
  /// Called when a connection has come or gone.
  var onChange: (@EventLoop () -> Void)? {
    didSet { for connection in connections { connection.onChange = onChange } }
  }

  /// Runs `body` with a connection that is nobody else's meanwhile.
  ///
  /// Nobody asks for another connection of the lane meanwhile: of one user there is one.
  /// - Parameters:
  ///   - owner: for whom; nil for the server itself.
  ///   - body: what to do with it.
  /// - Returns: what `body` does.
  /// - Throws: `.laneFull` when none came free in time; `.shareTaken` when too many of the owner wait;
  ///   `.connectionFailure` at once while the server is away.
  func withConnection<Result>(
    for owner: (any JobOwner)?,
    _ body: @EventLoop (Connection) async throws(DatabaseError) -> Result
  ) async throws(DatabaseError) -> Result {
    let loan =
      if let free = queue.takeAtOnce(for: owner) { free } else { try await borrow(for: owner) }
    defer { giveBack(loan) }
    return try await body(loan.connection)
  }

  /// Runs one statement with a connection that is nobody else's meanwhile.
  func answer(
    to call: StatementCall,
    for owner: (any JobOwner)?
  ) async throws(DatabaseError) -> ResultSet {
    let loan =
      if let free = queue.takeAtOnce(for: owner) { free } else { try await borrow(for: owner) }
    defer { giveBack(loan) }
    return try await call.run(on: loan.connection)
  }

  private func giveBack(_ loan: Loan) {
    queue.giveBack(loan, isUsable: loan.connection.failure == nil)
  }

  /// Waits for a connection.
  private func borrow(for owner: (any JobOwner)?) async throws(DatabaseError) -> Loan {
    if let failure = guardian.failure ?? (isHopeless ? failure : nil) { throw .away(failure) }
    if !queue.hasFree { connections.first { $0.isIdle }?.start() }
    do throws(FairQueueError) {
      return try await queue.take(for: owner, until: EventLoop.now() &+ patience.nanoseconds)
    } catch {
      switch error {
      case .full: throw DatabaseError(.laneFull, "too many callers wait already")
      case .shareTaken: throw DatabaseError(.shareTaken, "too many callers of one owner wait")
      case .abandoned: throw DatabaseError(.laneFull, "the client has gone")
      case .withdrawn: throw .away(guardian.failure ?? failure)
      case .late:
        let reason = failure.map { "; of those missing: \($0.message)" } ?? ""
        throw DatabaseError(.laneFull, "no connection came free\(reason), for \(patience)")
      }
    }
  }

  /// Lends lost connections no more, and lets nobody wait when there are no others.
  private func clear() {
    queue.removeFree { unsafe unsafeDowncast($0, to: Connection.self).failure != nil }
    if isHopeless { queue.dropAll() }
  }
}

extension Loan {
  fileprivate var connection: Connection { unsafe unsafeDowncast(thing, to: Connection.self) }
}
