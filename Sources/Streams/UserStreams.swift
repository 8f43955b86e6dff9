import Changes
import EventLoop
import Glibc
import Postgres
import Runtime

/// The streams of changes of users.
///
/// It reads the state of the connected users once a second.
@EventLoop final class UserStreams {
  private let master: MasterKey
  private let database: Database
  private var users: [UserID: ConnectedUser] = [:]
  /// Users with streams that wait for their first event.
  private var arrived: [ConnectedUser] = []
  private var isGreeting = false
  /// When the database last answered, in seconds since 1970.
  private(set) var readAt = 0

  /// The users of one statement.
  private static let share = 500
  /// The streams of a user.
  static let mostOfUser = 10
  private static let interval = Duration.seconds(1).nanoseconds
  private static let longestInterval = Duration.seconds(5).nanoseconds
  /// How often the parts are read that take longest.
  private static let wholeInterval = Duration.seconds(60).nanoseconds

  /// A user with streams.
  fileprivate final class ConnectedUser {
    let id: UserID
    /// The streams that have had their first event, and those that wait for it.
    var (open, waiting): ([UserStream], [UserStream]) = ([], [])
    var state: UserState?

    init(_ id: UserID) { self.id = id }

    var count: Int { open.count + waiting.count }
  }

  init(_ master: MasterKey, _ database: Database) {
    (self.master, self.database) = (master, database)
    EventLoop.task { await self.pass() }
  }

  /// The number of users with streams.
  var count: Int { users.count }

  /// Returns the subscription of a stream; nil if the user has as many as allowed.
  ///
  /// - Parameters:
  ///   - stream: a stream that is about to begin.
  ///   - subject: the user and the session.
  ///   - lastEventID: the cursor that the client says it has; nil without one.
  /// - Returns: the subscription, which gets its first event once the stream has begun.
  func subscribe(
    _ stream: EventStream, to subject: StreamTicket.UserSubject, after lastEventID: String?
  ) -> UserStream? {
    let user = users[subject.user] ?? ConnectedUser(subject.user)
    guard user.count < Self.mostOfUser else { return nil }
    users[subject.user] = user
    let subscription = UserStream(stream, subject, after: lastEventID, self, master)
    user.waiting.append(subscription)
    arrived.append(user)
    greet()
    return subscription
  }

  fileprivate func forget(_ stream: UserStream) {
    let id = stream.subject.user
    guard let user = users[id] else { return }
    user.open.removeAll { $0 === stream }
    user.waiting.removeAll { $0 === stream }
    if user.count == 0 { users[id] = nil }
  }

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
  private func read(_ subjects: [(ConnectedUser, [UserStream])], isWhole: Bool) async -> Bool {
    guard !subjects.isEmpty else { return true }
    let sessions = subjects.flatMap { $0.1.map(\.subject.session) }
    let rows: [WatchedUser]
    do throws(DatabaseError) {
      rows = try await UserChanges.watch(
        subjects.map(\.0.id), sessions, isWhole: isWhole, in: database)
    } catch {
      return false
    }
    readAt = time(nil)
    let found = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
    for (user, streams) in subjects {
      let row = found[user.id]
      user.state = row?.state(after: user.state)
      for stream in streams where !stream.isClosed {
        let session = stream.subject.session
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

/// The changes of a user, for one client.
@EventLoop final class UserStream: Subscription {
  let subject: StreamTicket.UserSubject
  private let stream: EventStream
  private unowned let streams: UserStreams
  private var known: Known = .nothing

  /// The state that the client knows.
  private enum Known {
    /// Its first event has the present state.
    case nothing
    /// Its cursor is not one of the user, so every part may differ.
    case invalid
    /// The state of the cursor with which it connected.
    case cursor(UserState)
    /// The state of the last event.
    case told(UserState)
  }

  private static let usualLife = 1_800.0

  fileprivate init(
    _ stream: EventStream, _ subject: StreamTicket.UserSubject, after lastEventID: String?,
    _ streams: UserStreams, _ master: MasterKey
  ) {
    (self.stream, self.subject, self.streams) = (stream, subject, streams)
    if let cursor = lastEventID ?? subject.cursor {
      let state = UserChanges.state(in: cursor, of: subject.user, master)
      known = state.map(Known.cursor) ?? .invalid
    }
  }

  var life: Double {
    let untilExpiry = Double(max(0, subject.expiresAt - time(nil)))
    return min(Self.usualLife * .random(in: 0.9...1.1), untilExpiry * .random(in: 0.9...1))
  }

  fileprivate var isClosed: Bool { stream.isClosed }

  fileprivate func end(_ reason: String) { stream.end(reason) }

  /// Tells the client the state of its user, if it differs from what the client knows.
  fileprivate func show(_ state: UserState, _ master: MasterKey) {
    guard !stream.isClosed else { return }
    var state = state
    if subject.hidesAppMetadata { state[.appMetadata] = 0 }
    let parts: [UserPart]
    switch known {
    case .nothing: parts = []
    case .invalid:
      parts = UserPart.allCases.filter { $0 != .appMetadata || !subject.hidesAppMetadata }
    case .cursor(let earlier), .told(let earlier): parts = state.parts(unlike: earlier)
    }
    let isFirst = if case .told = known { false } else { true }
    guard isFirst || !parts.isEmpty else { return }
    known = .told(state)
    let cursor = UserChanges.cursor(of: state, of: subject.user, master)
    var events = isFirst ? StreamEvent.ready(cursor) : []
    if !parts.isEmpty { events += StreamEvent.change(state.changed(parts), cursor) }
    stream.send(events)
  }

  func close() { streams.forget(self) }
}
