import CLinux
package import EventLoop
import Glibc
package import Postgres
package import Runtime

/// The streams of changes of a host, on one thread.
///
/// It reads the state of the connected users once a second. A stream has no thread, no task and no
/// timer of its own.
@EventLoop package final class StreamServer {
  private let descriptor: Int32
  private let master: MasterKey
  private let database: Database
  private var watch: Watch?
  private var streams: [ObjectIdentifier: EventStream] = [:]
  private var users: [UserID: ConnectedUser] = [:]
  private var networks: [[UInt8]: Int] = [:]
  /// Users with streams that wait for their first event.
  private var arrived: [ConnectedUser] = []
  private var isGreeting = false
  private var isDraining = false
  private var second = 0

  /// The limits of open streams.
  package enum Limit {
    package static let program = 20_000
    package static let user = 10
    package static let network = 500
  }

  /// The users of one statement.
  private static let share = 500
  private static let heartbeatSeconds = 25
  private static let interval = Duration.seconds(1).nanoseconds
  private static let longestInterval = Duration.seconds(5).nanoseconds
  /// How often the parts are read that take longest.
  private static let wholeInterval = Duration.seconds(60).nanoseconds

  /// A user with streams.
  private final class ConnectedUser {
    let id: UserID
    /// The streams that have had their first event, and those that wait for it.
    var (open, waiting): ([EventStream], [EventStream]) = ([], [])
    var state: UserState?

    init(_ id: UserID) { self.id = id }

    var count: Int { open.count + waiting.count }
  }

  /// Starts to accept connections.
  ///
  /// - Parameters:
  ///   - descriptor: a listening socket, which does not block and which the caller closes.
  ///   - master: the master key, which encrypts tickets.
  ///   - database: the database, which the caller starts.
  /// - Throws: `EventLoopError` if the socket cannot be watched.
  package init(
    on descriptor: Int32, _ master: MasterKey, _ database: Database
  ) throws(EventLoopError) {
    (self.descriptor, self.master, self.database) = (descriptor, master, database)
    try listen()
    tick()
    EventLoop.task { await self.pass() }
  }

  /// The number of connections.
  package var count: Int { streams.count }

  /// Lets all clients connect again, and accepts no more connections.
  package func drain() {
    isDraining = true
    watch?.cancel()
    watch = nil
    for stream in Array(streams.values) { stream.reconnect() }
  }

  // MARK: Connections

  private func listen() throws(EventLoopError) {
    watch = try Watch(descriptor, for: .read) { [unowned self] _ in accept() }
  }

  private func accept() {
    while !isDraining {
      let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let connection = accept4(descriptor, nil, nil, flags)
      guard connection >= 0 else {
        if errno == EINTR || errno == ECONNABORTED { continue }
        if errno != EAGAIN { pause() }
        return
      }
      // Refusals take a moment, so there is some room above the limit.
      guard streams.count < Limit.program + Self.share,
        let stream = try? EventStream(connection, self)
      else {
        close(connection)
        continue
      }
      streams[ObjectIdentifier(stream)] = stream
    }
  }

  /// Accepts again after a moment, since no descriptor or memory is left.
  private func pause() {
    watch?.cancel()
    watch = nil
    _ = Timer(after: .milliseconds(100)) { [weak self] in
      guard let self, !isDraining else { return }
      do { try listen() } catch { pause() }
    }
  }

  /// Opens the stream of a request, or refuses it.
  func open(_ stream: EventStream, _ head: SCGIHead) {
    guard let ticket = StreamTicket(inQuery: head.query, master) else {
      return stream.refuse("403 Forbidden")
    }
    let address = ClientAddress(head.address)
    // Clients on this machine are not limited, as in nginx.
    let network = address.isLocal ? nil : address.network
    let user = users[ticket.user] ?? ConnectedUser(ticket.user)
    let isFull =
      user.count >= Limit.user || network.map { networks[$0, default: 0] >= Limit.network } == true
      || streams.count > Limit.program
    guard !isFull else { return stream.refuse("429 Too Many Requests") }
    users[ticket.user] = user
    user.waiting.append(stream)
    if let network { networks[network, default: 0] += 1 }
    stream.begin(ticket, network: network, lastEventID: head.lastEventID, master)
    arrived.append(user)
    greet()
  }

  func forget(_ stream: EventStream) {
    streams[ObjectIdentifier(stream)] = nil
    guard let ticket = stream.ticket else { return }
    if let network = stream.network {
      let count = networks[network, default: 1] - 1
      networks[network] = count > 0 ? count : nil
    }
    guard let user = users[ticket.user] else { return }
    user.open.removeAll { $0 === stream }
    user.waiting.removeAll { $0 === stream }
    if user.count == 0 { users[ticket.user] = nil }
  }

  /// Checks the times of all streams, and sends each a heartbeat in its second.
  private func tick() {
    second = (second + 1) % Self.heartbeatSeconds
    let now = EventLoop.now()
    for stream in Array(streams.values) {
      stream.check(at: now, beats: Int(stream.descriptor) % Self.heartbeatSeconds == second)
    }
    _ = Timer(after: .seconds(1)) { [weak self] in self?.tick() }
  }

  // MARK: States

  /// Reads the states of users whose streams wait for the first event, at once.
  private func greet() {
    guard !isGreeting else { return }
    isGreeting = true
    EventLoop.task { [self] in
      while !arrived.isEmpty {
        let some = Array(arrived.prefix(Self.share))
        arrived.removeFirst(some.count)
        var seen: Set<UserID> = []
        let subjects = some.filter { !$0.waiting.isEmpty && seen.insert($0.id).inserted }
          .map { ($0, $0.waiting) }
        if await read(subjects, isWhole: true) { continue }
        arrived += some
        await EventLoop.sleep(for: .seconds(1))
      }
      isGreeting = false
    }
  }

  /// Reads the states of all users, again and again.
  ///
  /// The database works at most a twentieth of the time for it, unless the interval is the longest.
  private func pass() async {
    var wholeAt = EventLoop.now()
    while true {
      let start = EventLoop.now()
      let isWhole = start >= wholeAt + Self.wholeInterval
      if isWhole { wholeAt = start }
      let all = Array(users.values)
      for first in stride(from: 0, to: all.count, by: Self.share) {
        let some = all[first..<min(first + Self.share, all.count)]
        let subjects = some.map { ($0, $0.open) }.filter { !$0.1.isEmpty }
        _ = await read(subjects, isWhole: isWhole)
      }
      let rest = min(max(Self.interval, (EventLoop.now() - start) * 20), Self.longestInterval)
      await EventLoop.sleep(for: .nanoseconds(Int64(rest)))
    }
  }

  /// Reads the states of users, and tells them to some of their streams.
  ///
  /// Streams that came later wait for the next read, which has their sessions.
  /// - Returns: whether the database has answered. Without an answer, nothing is known to have
  ///   ended.
  private func read(_ subjects: [(ConnectedUser, [EventStream])], isWhole: Bool) async -> Bool {
    guard !subjects.isEmpty else { return true }
    let sessions = subjects.flatMap { $0.1.compactMap { $0.ticket?.session } }
    let rows: [WatchedUser]
    do throws(DatabaseError) {
      rows = try await UserChanges.watch(
        subjects.map(\.0.id), sessions, isWhole: isWhole, in: database)
    } catch {
      return false
    }
    let found = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
    for (user, streams) in subjects {
      let row = found[user.id]
      user.state = row?.state(after: user.state)
      for stream in streams where !stream.isClosed {
        guard let session = stream.ticket?.session else { continue }
        if let reason = row.map({ $0.endReason(of: session) }) ?? WatchedUser.gone {
          stream.end(reason)
        } else if let state = user.state {
          if let place = user.waiting.firstIndex(where: { $0 === stream }) {
            user.open.append(user.waiting.remove(at: place))
          }
          stream.show(state, master)
        }
      }
    }
    return true
  }
}
