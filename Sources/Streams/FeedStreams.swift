import EventLoop
import Events
import Postgres
import Runtime

/// The streams of the events of apps, for back ends.
///
/// It reads the last positions of the connected feeds once a second.
@EventLoop final class FeedStreams {
  private let master: MasterKey
  private let database: Database
  private var streams: [ObjectIdentifier: FeedStream] = [:]

  /// The streams of an app.
  static let mostOfFeed = 20
  /// The events of one statement, which wait for a client in less than `longestUnsent` bytes.
  private static let share = 50
  private static let interval = Duration.seconds(1)
  /// The pause while a client is behind.
  private static let pause = Duration.milliseconds(20)

  init(_ master: MasterKey, _ database: Database) {
    (self.master, self.database) = (master, database)
    EventLoop.task { await self.pass() }
  }

  /// The number of streams.
  var count: Int { streams.count }

  /// Returns the subscription of a stream; nil if the app has as many as allowed.
  ///
  /// - Parameters:
  ///   - stream: a stream that is about to begin.
  ///   - subject: the feed, and the events of it that the client wants.
  ///   - lastEventID: the cursor that the client says it has; nil without one.
  /// - Returns: the subscription.
  func subscribe(
    _ stream: EventStream, to subject: StreamTicket.FeedSubject, after lastEventID: String?
  ) -> FeedStream? {
    guard streams.values.count(where: { $0.subject.feed == subject.feed }) < Self.mostOfFeed else {
      return nil
    }
    let cursor = lastEventID.flatMap { EventCursor($0, of: subject.feed, master) }
    let subscription = FeedStream(
      stream, subject, after: cursor?.position ?? subject.position, self)
    streams[ObjectIdentifier(subscription)] = subscription
    return subscription
  }

  fileprivate func forget(_ stream: FeedStream) { streams[ObjectIdentifier(stream)] = nil }

  private func pass() async {
    while true {
      // Without an answer of the database, the streams wait.
      let isBehind = (try? await read()) ?? false
      await EventLoop.sleep(for: isBehind ? Self.pause : Self.interval)
    }
  }

  /// Reads what each client has not received, and sends a part of it.
  ///
  /// - Returns: whether a client has not received all.
  /// - Throws: the error of the database.
  private func read() async throws(DatabaseError) -> Bool {
    let connected = Array(streams.values)
    guard !connected.isEmpty else { return false }
    let feeds = Set(connected.map(\.subject.feed)).sorted()
    let last = Dictionary(
      try await database.search(FeedQueries.lasts, TextArray(feeds)).map { ($0.feed, $0.last) }
    ) { first, _ in first }
    var isBehind = false
    for stream in connected {
      if stream.isNew { stream.greet(master) }
      guard let last = last[stream.subject.feed], stream.position < last else { continue }
      // One that does not read is closed soon.
      if stream.mayReceive { try await send(to: stream, last) }
      isBehind = isBehind || stream.position < last && !stream.isClosed
    }
    return isBehind
  }

  private func send(to stream: FeedStream, _ last: Int) async throws(DatabaseError) {
    let (subject, since) = (stream.subject, stream.position)
    let end = min(last, since + EventFeed.scanned)
    let names = subject.types.map { TextArray($0.names) }
    let events = try await database.search(
      FeedQueries.page, subject.feed, since, end, names, subject.user?.text, nil, Self.share)
    // After the page: what was removed meanwhile may be missing in it.
    let ends = try await database.search(FeedQueries.ends, subject.feed).first
    guard since >= (ends?.firstKept ?? 1) - 1 else { return stream.expire() }
    stream.show(events, until: events.count < Self.share ? end : nil, master)
  }
}

/// The events of an app, for one client.
@EventLoop final class FeedStream: Subscription {
  let subject: StreamTicket.FeedSubject
  /// The client has received what it wants up to here.
  private(set) var position: Int
  private(set) var isNew = true
  private let stream: EventStream
  private unowned let streams: FeedStreams

  /// The worker then checks the caller again.
  private static let usualLife = 60.0

  fileprivate init(
    _ stream: EventStream, _ subject: StreamTicket.FeedSubject, after position: Int,
    _ streams: FeedStreams
  ) {
    (self.stream, self.subject, self.streams) = (stream, subject, streams)
    self.position = position
  }

  var life: Double { Self.usualLife * .random(in: 0.9...1.1) }

  fileprivate var isClosed: Bool { stream.isClosed }

  /// Whether the client has received all that was sent to it.
  fileprivate var mayReceive: Bool { stream.hasSentAll }

  fileprivate func greet(_ master: MasterKey) {
    isNew = false
    stream.send(StreamEvent.ready(cursor(master)))
  }

  /// Sends events, and goes on after them.
  ///
  /// - Parameters:
  ///   - events: the next events.
  ///   - end: the position up to which there are no others; nil if there may be.
  ///   - master: the master key.
  fileprivate func show(_ events: [FeedEvent], until end: Int?, _ master: MasterKey) {
    var (bytes, isWhole): ([UInt8], Bool) = ([], true)
    for event in events {
      position = event.position
      bytes += StreamEvent.event(event, cursor(master))
      // One event has at most 4 KB.
      isWhole = bytes.count < EventStream.longestUnsent / 2
      if !isWhole { break }
    }
    if let end, isWhole { position = end }
    if !bytes.isEmpty { stream.send(bytes) }
  }

  /// Ends the stream, since events after its position were removed.
  fileprivate func expire() { stream.end("cursor_expired") }

  private func cursor(_ master: MasterKey) -> String {
    EventCursor(position, of: subject.feed).text(master)
  }

  func close() { streams.forget(self) }
}
