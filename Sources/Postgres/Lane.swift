import EventLoop

/// Connections lent to one caller at a time, by the rules of `FairQueue`.
///
/// A user has at most one of them. Requests of a network without a user leave one to others.
@EventLoop final class Lane {
  private let patience: Duration
  private let connections: [PersistentConnection]
  private let queue: FairQueue
  private let guardian: SilenceGuard

  /// - Parameters:
  ///   - settings: the settings of each connection.
  ///   - timeout: the time after which the server ends a statement.
  ///   - size: the number of connections. One opens at once, the others when first needed.
  ///   - reserve: connections that a network, or an API client, leaves to others.
  ///   - waitingRoom: the number of callers that may wait; one more is refused.
  ///   - patience: the time that a caller waits for a connection.
  ///   - guardian: the guard that detects a silent server.
  init(
    _ settings: ConnectionSettings, timeout: Duration, size: Int, reserve: Int, waitingRoom: Int,
    patience: Duration, guardian: SilenceGuard
  ) {
    self.patience = patience
    self.guardian = guardian
    queue = FairQueue(
      FairLimits(
        things: size, room: waitingRoom, group: size - reserve, groupWithoutMembers: size - 1,
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
  /// The error of a connection that could not be opened; nil without one.
  var failure: DatabaseError? { connections.lazy.compactMap(\.failure).first }
  /// Called when a connection has opened or closed.
  var onChange: (@EventLoop () -> Void)? {
    didSet { for connection in connections { connection.onChange = onChange } }
  }

  /// Runs `body` with a connection that no other caller uses meanwhile.
  ///
  /// `body` must not request another connection of the lane, since a user has at most one.
  /// - Parameters:
  ///   - owner: the owner of the connection; nil for the server itself.
  ///   - body: the work that needs the connection.
  /// - Returns: the result of `body`.
  /// - Throws: `.laneFull` if no connection became free in time; `.shareTaken` if too many
  ///   callers of the owner wait; `.connectionFailure` at once if the server is unavailable.
  func withConnection<Result>(
    for owner: (any JobOwner)?,
    _ body: @EventLoop (Connection) async throws(DatabaseError) -> Result
  ) async throws(DatabaseError) -> Result {
    let loan =
      if let free = queue.takeAtOnce(for: owner) { free } else { try await borrow(for: owner) }
    defer { giveBack(loan) }
    return try await body(loan.connection)
  }

  /// Runs one statement with a connection that no other caller uses meanwhile.
  func answer(
    to call: PendingQuery, for owner: (any JobOwner)?
  ) async throws(DatabaseError) -> ResultSet {
    if let refusal = guardian.nodes?.refusal(of: call) { throw refusal }
    let loan =
      if let free = queue.takeAtOnce(for: owner) { free } else { try await borrow(for: owner) }
    defer { giveBack(loan) }
    return try await call.run(on: loan.connection)
  }

  private func giveBack(_ loan: Loan) {
    queue.giveBack(loan, isUsable: loan.connection.failure == nil)
  }

  /// Waits for a connection to be lent.
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

  /// Removes lost connections, and refuses all waiters if none is left and none can be opened.
  private func clear() {
    queue.removeFree { unsafe unsafeDowncast($0, to: Connection.self).failure != nil }
    if isHopeless { queue.dropAll() }
  }
}

extension Loan {
  fileprivate var connection: Connection { unsafe unsafeDowncast(thing, to: Connection.self) }
}
