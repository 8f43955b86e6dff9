package import EventLoop
import JSON
import Postgres
package import Runtime
import Sessions
import Tenancy

/// Publishes events: gives those that wait positions in the feeds of their app.
///
/// A row says of itself that it is not published. So it is found whenever it becomes visible, also
/// after a late commit. Several publishers may run at once, and each may end at any statement: a feed
/// takes an event once, and what is not marked as published is found again.
@EventLoop package final class EventPublisher {
  private let dependencies: Dependencies
  private let report: @EventLoop (Report) -> Void
  private let holder = AppID().text
  /// When this worker must have the lease again; nil without a lease.
  private var leasedUntil: UInt64?
  /// The apps whose events could not be published in the last pass, so that those of others can.
  private var stuck: Set<AppID> = []
  /// When the feeds were created, as far as this worker has seen.
  private var starts: [String: Timestamp] = [:]
  private let nap = Nap()

  private var database: Database { dependencies.database }

  /// A report for the metrics.
  package enum Report: Sendable {
    /// Events were published; the delays of all together.
    case published(Int, delay: Duration)
    /// The age of the oldest event that waits; zero if none does.
    case oldest(Duration)
    /// The events of an app have to wait.
    case failed(String)
  }

  /// How many events, and how many sessions of an app, are read at once.
  nonisolated static let batch = 500
  /// How long before the feed was created a session may have ended to be an event.
  ///
  /// The first pass after the setting was changed creates the feed.
  private static let head = Duration.seconds(600)
  private static let lease = Duration.seconds(5)
  /// How long the lease of a worker that has found events is safe from others, which wait as long.
  private static let turn = Duration.milliseconds(500)
  /// The time in which events gather after a pass that has found some.
  private static let pace = Duration.milliseconds(100)
  /// The pause after work; it doubles up to `longest` while nothing waits.
  private static let shortest = Duration.milliseconds(250)
  private static let longest = Duration.seconds(2)
  /// That pause while an app has a revocation feed: statements that end sessions wake no publisher.
  private static let longestOfRevocations = Duration.milliseconds(500)
  /// The pause while no app publishes anything.
  private static let unused = Duration.seconds(10)

  package init(_ dependencies: Dependencies, report: @escaping @EventLoop (Report) -> Void) {
    self.dependencies = dependencies
    self.report = report
  }

  // MARK: Loop

  package func start() {
    dependencies.onEvent = { [nap] in nap.end() }
    EventLoop.task { [self] in
      var pause = Self.shortest
      // Whether a write of this worker waits for the worker with the lease.
      var isWaiting = false
      while true {
        let isWoken = nap.begin() || isWaiting
        do throws(Failure) {
          guard database.isReady else { throw .databaseUnavailable }
          if try await hasLease(takingOver: isWoken) {
            isWaiting = false
            let count = try await publish()
            if count > 0 { try await keepLease() }
            if count >= Self.batch { continue }
            if count > 0 { await EventLoop.sleep(for: Self.pace) }
            pause = count > 0 ? Self.shortest : min(pause * 2, Self.longest)
          } else if isWoken {
            // The other worker has just found events. If it finds no more, this one takes over.
            isWaiting.toggle()
            await EventLoop.sleep(for: Self.turn)
            continue
          } else {
            pause = Self.longest
          }
        } catch {
          report(.failed("events have to wait: \(error)"))
          pause = Self.longest
        }
        let use = await use()
        if use == .revocations, leasedUntil != nil { pause = min(pause, Self.longestOfRevocations) }
        await nap.rest(for: use == .nothing ? Self.unused : pause)
      }
    }
    EventLoop.task { [self] in
      while true {
        await look()
        await EventLoop.sleep(for: .seconds(Int.random(in: 10...20)))
      }
    }
  }

  /// The events that the apps publish.
  private enum Use {
    case nothing
    case events
    /// Verifiers wait for ended sessions, beside what else there is.
    case revocations
  }

  /// Returns the events that the apps publish.
  private func use() async -> Use {
    let apps = (try? await dependencies[Apps.self].all()) ?? []
    if apps.contains(where: \.events.hasRevocations) { return .revocations }
    return apps.contains { !$0.events.all.isEmpty } ? .events : .nothing
  }

  /// Returns whether this worker has the lease, and renews it.
  ///
  /// `takesOver` says whether to take it from a worker that finds no events.
  private func hasLease(takingOver takesOver: Bool) async throws(Failure) -> Bool {
    let now = EventLoop.now()
    if let leasedUntil, now + Self.lease.nanoseconds / 2 < leasedUntil { return true }
    let idle = Self.lease - Self.turn
    return try await hasLease(for: idle, overriding: takesOver ? idle : .zero)
  }

  /// Renews the lease after work, so that no other worker takes it over.
  private func keepLease() async throws(Failure) {
    _ = try await hasLease(for: Self.lease, overriding: .zero)
  }

  /// Takes the lease for a time, unless another worker has it for longer than `rest`.
  private func hasLease(
    for time: Duration, overriding rest: Duration
  ) async throws(Failure) -> Bool {
    let now = EventLoop.now()
    let won = try await run { () async throws(DatabaseError) in
      try await database.write(
        PublisherQueries.lease, Self.leaseID, holder, time, ServerTime(), rest)
    }
    leasedUntil = won.isEmpty ? nil : now + time.nanoseconds
    return !won.isEmpty
  }

  private static let leaseID = AppID.deployment.text

  private func look() async {
    guard database.isReady else { return }
    let reads = [
      PendingQuery(PublisherQueries.oldest), PendingQuery(PublisherQueries.oldestChange),
    ]
    let oldest = try? await database.answers(to: reads, on: .exclusive).decode(Int.self).min()
    let age = oldest.map { Timestamp.now.microseconds - $0 }
    report(.oldest(.microseconds(max(0, age ?? 0))))
  }

  private func run<Value>(
    _ body: @EventLoop () async throws(DatabaseError) -> Value
  ) async throws(Failure) -> Value {
    do throws(DatabaseError) { return try await body() } catch { throw Failure(error) }
  }

  /// Removes published events that are older than the settings of their app.
  package func removeOld() async {
    do throws(Failure) {
      let apps = try await dependencies[Apps.self].all()
      _ = try await run { () async throws(DatabaseError) in
        try await FeedMaintenance.run(apps, in: database)
      }
    } catch {
      report(.failed("old events stay: \(error)"))
    }
  }

  // MARK: One pass

  /// Publishes what waits, at most a batch.
  ///
  /// - Returns: the number of rows that were found.
  /// - Throws: `.databaseUnavailable`.
  @discardableResult package func publish() async throws(Failure) -> Int {
    let left = TextArray(stuck.map(\.text).sorted())
    let rows = try await run { () async throws(DatabaseError) in
      try await database.write(PublisherQueries.pending, Self.batch, left)
    }
    var work: [AppID: AppWork] = [:]
    for row in rows { work[row.app, default: AppWork()].rows.append(row) }
    let apps = dependencies[Apps.self]
    let known = try await apps.all().filter { $0.events.all.contains(.sessionEnded) }
    for (app, sessions) in try await ended(in: known) where !sessions.isEmpty {
      work[app, default: AppWork()].sessions = sessions
    }
    stuck = []
    for (id, work) in work.sorted(by: { $0.key.text < $1.key.text }) {
      do throws(Failure) {
        let app: App?
        do throws(Failure) { app = try await apps.app(id) } catch .unknownApp { app = nil }
        try await publish(work, of: app)
      } catch {
        stuck.insert(id)
        report(.failed("events of the app \(id) have to wait: \(error)"))
      }
    }
    return rows.count + work.values.reduce(0) { $0 + $1.sessions.count }
  }

  private struct AppWork {
    var rows: [PendingEvent] = []
    var sessions: [EndedSession] = []
  }

  /// Returns the sessions of apps that have ended and are not published.
  private func ended(in apps: [App]) async throws(Failure) -> [(AppID, [EndedSession])] {
    guard !apps.isEmpty else { return [] }
    var calls: [PendingQuery] = []
    for app in apps {
      // A token may be valid longer than its session.
      let feed = app.events.hasRevocations ? EventFeed.revocations(of: app.id) : app.id.text
      let start = try await start(of: feed)
      let head = app.events.hasRevocations ? EventFeed.longestToken : Self.head
      let first = start.earlier(by: head)
      calls.append(PendingQuery(PublisherQueries.ended, app.id, first, Self.batch))
    }
    return try await run { [calls] () async throws(DatabaseError) in
      let found = try await database.answers(to: calls, on: .exclusive)
      var sessions: [(AppID, [EndedSession])] = []
      for (app, found) in zip(apps, found) {
        sessions.append((app.id, try found.decode(EndedSession.self)))
      }
      return sessions
    }
  }

  /// Returns when a feed was created, and creates it.
  private func start(of feed: String) async throws(Failure) -> Timestamp {
    if let start = starts[feed] { return start }
    let start = try await run { () async throws(DatabaseError) in
      _ = try await database.write(PublisherQueries.create, feed)
      return try await database.write(PublisherQueries.start, feed).first
    }
    guard let start else { throw .internalError(reason: "a feed that was made") }
    starts[feed] = start
    return start
  }

  /// Publishes the events of an app, and marks them; an app that was deleted publishes none.
  private func publish(_ work: AppWork, of app: App?) async throws(Failure) {
    var positions: [String: Int] = [:]
    if let app {
      let demand = app.events
      let start = try await start(of: app.id.text).earlier(by: Self.head)
      var events = work.rows.compactMap { row -> NewEvent? in
        guard let type = row.type, demand.feed.contains(type) else { return nil }
        if type == .sessionEnded, row.at.microseconds < start.microseconds { return nil }
        return NewEvent(row, type, app)
      }
      if demand.feed.contains(.sessionEnded) {
        events += work.sessions.filter { $0.endedAt.microseconds >= start.microseconds }
          .map { NewEvent($0, app) }
      }
      positions = try await append(events, to: app.id.text)
      if demand.hasRevocations {
        let lifetimes = try await lifetimes(of: app)
        let refusals =
          work.rows.compactMap { NewEvent(refusalOf: $0, lifetimes) }
          + work.sessions.map { NewEvent(refusalOf: $0, lifetimes) }
        let others = try await append(refusals, to: EventFeed.revocations(of: app.id))
        positions.merge(others) { first, _ in first }
      }
    }
    try await settle(work, at: positions)
  }

  /// How long access tokens of an app may be valid, in seconds.
  private func lifetimes(of app: App) async throws(Failure) -> TokenLifetimes {
    let longest = try await run { () async throws(DatabaseError) in
      try await database.write(PublisherQueries.longestToken, app.id).first
    }
    return TokenLifetimes(
      native: app.sessionSettings.accessTokenLifetime.wholeSeconds, client: longest ?? 86_400)
  }

  /// Appends events to a feed, unless it has them.
  ///
  /// - Returns: the positions of all, by the id.
  /// - Throws: `.databaseUnavailable`.
  private func append(
    _ events: [NewEvent], to feed: String
  ) async throws(Failure) -> [String: Int] {
    guard !events.isEmpty else { return [:] }
    _ = try await start(of: feed)
    var appended: [NewEvent] = []
    let positions = try await run { () async throws(DatabaseError) in
      try await database.transaction { (transaction) async throws(DatabaseError) in
        appended = []
        var positions: [String: Int] = [:]
        let locked = transaction.send(PublisherQueries.lock, feed)
        let ids = TextArray(events.map(\.id))
        // After the lock, so that it sees what the publisher before this one has appended.
        let present = transaction.send(PublisherQueries.present, feed, ids)
        guard var last = try await locked.rows().first else {
          throw DatabaseError(.undone, "the feed is gone")
        }
        for event in try await present.rows() { positions[event.id] = event.position }
        for event in events where positions[event.id] == nil {
          last += 1
          positions[event.id] = last
          appended.append(event)
        }
        if !appended.isEmpty {
          _ = transaction.send(
            PublisherQueries.append, feed, last - appended.count,
            TextArray(appended.map(\.id)), TextArray(appended.map { $0.user?.text ?? "" }),
            TextArray(appended.map(\.type.rawValue)), TextArray(appended.map(\.at.text)),
            TextArray(appended.map { String(decoding: $0.data.serialized(), as: UTF8.self) }))
        }
        let advanced = transaction.send(PublisherQueries.advance, feed, last)
        transaction.sendCommit()
        _ = try await advanced.rows()
        return positions
      }
    }
    if !appended.isEmpty {
      let now = Timestamp.now.microseconds
      let delay = appended.reduce(0) { $0 + max(0, now - $1.at.microseconds) }
      report(.published(appended.count, delay: .microseconds(delay)))
    }
    return positions
  }

  /// Marks what was published, and removes changes that the log does not keep.
  private func settle(
    _ work: AppWork, at positions: [String: Int]
  ) async throws(Failure) {
    var calls: [PendingQuery] = []
    let logged = work.rows.filter { !$0.isOnlyPublished }
    for (owner, rows) in Dictionary(grouping: logged, by: \.owner).sorted(by: { $0.key < $1.key }) {
      calls.append(PendingQuery(PublisherQueries.settle, owner, TextArray(rows.map(\.id))))
    }
    for session in work.sessions {
      let position = positions[session.id] ?? 0
      calls.append(
        PendingQuery(PublisherQueries.settleSession, session.user, session.id, position))
    }
    _ = try await run { [calls] () async throws(DatabaseError) in
      try await database.answers(to: calls, on: .exclusive)
    }
    let changes = work.rows.filter(\.isOnlyPublished)
    guard !changes.isEmpty else { return }
    // Alone: Citus lets no second role change the shards of these users in one transaction.
    _ = try await run { () async throws(DatabaseError) in
      try await database.write(
        PublisherQueries.removeChanges, NumberArray(changes.map(\.ordinal)),
        TextArray(changes.map(\.owner)), TextArray(changes.map(\.id)))
    }
  }
}
