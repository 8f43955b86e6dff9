package import EventLoop
import Events
import JSON
import Postgres
import Records
package import Runtime
import Tenancy

/// Sends the events of apps to their log streams, in each worker.
///
/// One worker at a time has a stream: it claims it for half a minute, and each accepted batch renews
/// that. A position moves only while the claim is valid and the position is the one that was read. So a
/// worker may end at any statement, and another one continues when the claim has ended.
@EventLoop package final class LogStreamWorker {
  private let dependencies: Dependencies
  private let sender: LogStreamSender
  private let report: @EventLoop (Report) -> Void
  /// The id of this worker in claims.
  private let holder = AppID().text
  private let passes = FeedPasses()
  /// The streams that this worker sends now, and how many of each app.
  private var streamsUnderWay: Set<String> = []
  private var underWay: [String: Int] = [:]

  private var database: Database { dependencies.database }

  /// A report for the metrics.
  package enum Report: Sendable {
    case sent(Int)
    case failed
    /// The age of the oldest event that a stream has not sent; zero if all are sent.
    case lag(Duration)
    /// Events were removed before a stream has sent them.
    case lost(String)
    /// Events have to wait.
    case outage(String)
  }

  /// How many events a batch has at most.
  nonisolated static let batch = 500
  /// The size of the lines of a batch in bytes, without its last event.
  nonisolated static let batchBytes = 262_144
  /// How many batches a stream sends before others have their turn.
  private static let mostBatches = 20
  /// How long more events are waited for if there are few.
  private static let collection = Duration.seconds(1)
  nonisolated static let claim = Duration.seconds(30)
  /// The pause after a failure.
  nonisolated static let pause = Duration.seconds(60)

  package init(_ dependencies: Dependencies, report: @escaping @EventLoop (Report) -> Void) {
    (self.dependencies, self.report) = (dependencies, report)
    sender = dependencies[LogStreamSender.self]
  }

  // MARK: Loop

  package func start() {
    passes.start { [self] () async throws(Failure) in
      let streams = await streams()
      guard !streams.isEmpty else { return nil }
      guard database.isReady else { throw .databaseUnavailable }
      return try await pass(streams)
    } outage: { [report] in
      report(.outage("\($0)"))
    }
    EventLoop.task { [self] in
      while true {
        let streams = await streams()
        if database.isReady, let lag = try? await longestLag(of: streams) { report(.lag(lag)) }
        await EventLoop.sleep(for: .seconds(Int.random(in: 10...20)))
      }
    }
  }

  /// Ends the pause, since there may be new events or free places.
  package func wake() { passes.wake() }

  private func streams() async -> [LogStream] {
    let apps = (try? await dependencies[Apps.self].all()) ?? []
    return apps.flatMap(\.logStreams)
  }

  private func run<Value>(
    _ body: @EventLoop () async throws(DatabaseError) -> Value
  ) async throws(Failure) -> Value {
    do throws(DatabaseError) { return try await body() } catch { throw Failure(error) }
  }

  /// Returns the greatest age of an event that a stream has not sent.
  private func longestLag(of streams: [LogStream]) async throws(Failure) -> Duration {
    guard !streams.isEmpty else { return .zero }
    let (work, last) = try await places(of: streams)
    var longest = Duration.zero
    for stream in streams where stream.isEnabled {
      guard let position = work[stream.key]?.position else { continue }
      let end = last[stream.app] ?? 0
      let age = try await run { () async throws(DatabaseError) in
        try await LogStreams.lag(of: stream, after: position, upTo: end, in: database)
      }
      longest = max(longest, age)
    }
    return longest
  }

  /// Returns the progress by the stream, and the last position by the feed.
  private func places(
    of streams: [LogStream]
  ) async throws(Failure) -> ([String: LogStreamWork], [String: Int]) {
    let ids = TextArray(streams.map(\.key))
    let feeds = TextArray(Array(Set(streams.map(\.app))).sorted())
    let (work, ends) = try await run { () async throws(DatabaseError) in
      let work = try await database.write(LogStreamQueries.work, ids, ServerTime())
      return (work, try await database.write(FeedQueries.lasts, feeds))
    }
    return (
      Dictionary(work.map { ($0.stream, $0) }) { first, _ in first },
      Dictionary(ends.map { ($0.feed, $0.last) }) { first, _ in first }
    )
  }

  // MARK: One pass

  /// Begins to send what streams have not sent.
  ///
  /// It waits for no receiver.
  /// - Returns: the number of streams that were begun.
  /// - Throws: `.databaseUnavailable`.
  @discardableResult package func pass(_ streams: [LogStream]) async throws(Failure) -> Int {
    let (work, last) = try await places(of: streams)
    var (count, candidates): (Int, [(stream: LogStream, behind: Int)]) = (0, [])
    for stream in streams.shuffled() {
      guard let work = work[stream.key] else {
        try await begin(stream)
        count += 1
        continue
      }
      // A disabled one has a position too, so that it knows what it has lost.
      guard stream.isEnabled else { continue }
      let behind = (last[stream.app] ?? 0) - work.position
      guard behind > 0, work.isFree, !streamsUnderWay.contains(stream.key) else { continue }
      candidates.append((stream, behind))
    }
    // An app with fewer streams under way is first.
    candidates.sort { underWay[$0.stream.app] ?? 0 < underWay[$1.stream.app] ?? 0 }
    for (stream, behind) in candidates where hasRoom(for: stream) {
      count += 1
      take(stream, 1)
      EventLoop.task { [self] in
        if stream.kind == .http, behind < Self.batch {
          await EventLoop.sleep(for: Self.collection)
        }
        do throws(Failure) {
          try await send(stream.key, of: stream.app)
        } catch {
          // A pass reports that the database is away.
          if database.isReady { report(.outage("\(error)")) }
        }
        take(stream, -1)
        wake()
      }
    }
    return count
  }

  /// Returns whether a stream may be sent now.
  private func hasRoom(for stream: LogStream) -> Bool {
    // The last places are for apps without a stream under way, so that slow receivers delay no others.
    let ofApp = underWay[stream.app] ?? 0
    let free =
      LogStreamSender.most - streamsUnderWay.count - (ofApp == 0 ? 0 : LogStreamSender.reserve)
    return free > 0 && ofApp < LogStreamSender.mostOfApp
  }

  private func take(_ stream: LogStream, _ count: Int) {
    if count > 0 { streamsUnderWay.insert(stream.key) } else { streamsUnderWay.remove(stream.key) }
    let sum = (underWay[stream.app] ?? 0) + count
    underWay[stream.app] = sum == 0 ? nil : sum
  }

  /// Stores the position of a new stream: it gets the events since its creation.
  private func begin(_ stream: LogStream) async throws(Failure) {
    let created = Timestamp(stored: stream.created) ?? .now
    try await run { () async throws(DatabaseError) in
      let position = try await EventFeed.position(of: stream.app, before: created, in: database)
      _ = try await database.write(LogStreamQueries.begin, stream.key, position)
    }
  }

  // MARK: One stream

  /// Claims a stream, and sends its events until none is left, it fails, or others have their turn.
  ///
  /// - Throws: `.databaseUnavailable`; the claim then ends after half a minute.
  package func send(_ key: String, of app: String) async throws(Failure) {
    let claimed = try await run { () async throws(DatabaseError) in
      try await database.write(
        LogStreamQueries.claim, key, holder, Self.claim, ServerTime()
      ).first
    }
    guard let claimed else { return }
    var (position, unreported) = (claimed.position, claimed.unreported)
    for _ in 0..<Self.mostBatches {
      // Its attributes may have changed since the apps were read.
      let (stream, ends) = try await run { () async throws(DatabaseError) in
        let show = LogStreamRecord.table.statements.show
        let stream = try await database.write(show, app, key).first
        return (stream, try await database.write(FeedQueries.ends, app).first)
      }
      guard let stream, stream.isEnabled, let ends, ends.last > position else { break }
      let first = ends.firstKept
      if first > position + 1 {
        let lost = first - 1 - position
        guard try await lose(lost, of: stream, at: position) else { return }
        (position, unreported) = (first - 1, unreported + lost)
      }
      guard
        let next = try await sendBatch(
          of: stream, after: position, upTo: ends.last, unreported: unreported)
      else { return }
      if next.hasReported { unreported = 0 }
      position = next.position
    }
    _ = try await run { () async throws(DatabaseError) in
      try await database.write(LogStreamQueries.release, key, holder)
    }
  }

  private typealias Next = (position: Int, hasReported: Bool)

  /// Sends a batch, and moves the position.
  ///
  /// - Returns: the next position; nil if the batch has failed or another worker has the stream.
  private func sendBatch(
    of stream: LogStream, after position: Int, upTo last: Int, unreported: Int
  ) async throws(Failure) -> Next? {
    var (events, next) = try await run { () async throws(DatabaseError) in
      try await EventFeed.batch(
        of: stream.app, after: position, upTo: last, stream.eventTypes, count: Self.batch,
        in: database)
    }
    var (size, count) = (0, 0)
    while count < events.count, size < Self.batchBytes {
      size += events[count].data.count + 128
      count += 1
    }
    if count < events.count {
      events.removeSubrange(count...)
      next = events[count - 1].position
    }
    var messages = events.map { (message: FeedMessage($0), position: $0.position) }
    if unreported > 0 {
      let app = try await dependencies[Apps.self].app(AppID(trusted: stream.app))
      let members = JSONObject([("count", .number(JSONNumber(unreported)))])
      let message = FeedMessage(type: "log_stream.events_lost", of: app, members)
      messages.insert((message, position), at: 0)
    }
    guard !messages.isEmpty else {
      let moved = try await run { [next] () async throws(DatabaseError) in
        try await database.write(
          LogStreamQueries.skip, stream.key, holder, position, next, Self.claim, ServerTime())
      }
      return moved.isEmpty ? nil : (next, false)
    }
    let result = await sender.send(messages, to: stream, dependencies.keys.master)
    if result.count > 0 {
      let isWhole = result.count == messages.count
      let end = isWhole ? next : messages[result.count - 1].position
      let moved = try await run { () async throws(DatabaseError) in
        try await database.write(
          LogStreamQueries.advance, stream.key, holder, position, end, unreported, .now, Self.claim,
          ServerTime())
      }
      report(.sent(result.count))
      if moved.isEmpty { return nil }
      if isWhole { return (next, true) }
    }
    report(.failed)
    let error = result.status.map { "status \($0)" } ?? result.error ?? ""
    let now = Timestamp.now
    _ = try await run { () async throws(DatabaseError) in
      try await database.write(
        LogStreamQueries.fail, stream.key, holder, now, error, now.later(by: Self.pause))
    }
    return nil
  }

  /// Moves the position over events that the feed no longer has.
  ///
  /// - Returns: whether this worker still has the stream.
  private func lose(
    _ count: Int, of stream: LogStream, at position: Int
  ) async throws(Failure) -> Bool {
    let moved = try await run { () async throws(DatabaseError) in
      try await database.write(
        LogStreamQueries.lose, stream.key, holder, position, position + count, count, .now)
    }
    guard !moved.isEmpty else { return false }
    report(
      .lost(
        "log stream \(stream.key) of the app \(stream.app) has lost \(count) events, which were "
          + "older than event_feed_days"))
    return true
  }
}
