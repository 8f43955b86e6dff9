package import EventLoop
package import JSON
package import Outbound
package import Postgres
package import Records
package import Runtime
package import Tenancy

/// Runs passes over the consumers of feeds, such as webhooks, one after the other.
///
/// Each worker runs them for itself, and each kind of consumer has its own.
@EventLoop package final class FeedPasses {
  private let nap = Nap()
  /// Whether the last pass has failed, which is reported once.
  private var isAway = false

  /// The pause after work; it doubles up to `longest` while there is nothing to do.
  private static let shortest = Duration.milliseconds(250)
  private static let longest = Duration.seconds(2)
  /// The pause while no app has a consumer.
  private static let unused = Duration.seconds(10)

  package init() {}

  /// Starts the passes, which never end.
  ///
  /// - Parameters:
  ///   - pass: runs a pass and returns how much it has done; nil if there are no consumers.
  ///   - outage: called at the first failure after a success.
  package func start(
    _ pass: @escaping @EventLoop () async throws(Failure) -> Int?,
    outage: @escaping @EventLoop (Failure) -> Void
  ) {
    EventLoop.task { [self] in
      var pause = Self.shortest
      while true {
        nap.begin()
        do throws(Failure) {
          if let count = try await pass() {
            pause = count > 0 ? Self.shortest : min(pause * 2, Self.longest)
          } else {
            pause = Self.unused
          }
          isAway = false
        } catch {
          if !isAway { outage(error) }
          isAway = true
          pause = Self.longest
        }
        await nap.rest(for: pause)
        pause = min(pause, Self.longest)
      }
    }
  }

  /// Ends the pause, since there may be new events or free places.
  package func wake() { nap.end() }
}

/// The pause between two passes of a loop, which news ends early.
@EventLoop final class Nap {
  private var sleeper: Task<Void, Never>?
  /// Whether there is news since the last `begin`.
  private var hasNews = false

  /// Begins a pass, which sees all news until now.
  ///
  /// - Returns: whether there was any.
  @discardableResult func begin() -> Bool {
    defer { hasNews = false }
    return hasNews
  }

  /// Ends the pause, or leaves out the next one.
  func end() {
    hasNews = true
    sleeper?.cancel()
  }

  func rest(for time: Duration) async {
    guard !hasNews else { return }
    let sleeper = EventLoop.task { await EventLoop.sleep(for: time) }
    self.sleeper = sleeper
    await sleeper.value
    self.sleeper = nil
  }
}

/// The last position of a feed.
package struct FeedPosition: RowDecodable {
  package let feed: String
  package let last: Int

  package init(from row: Row) throws(DatabaseError) {
    (feed, last) = (try row.text(0), try row.int(1))
  }
}

extension EventFeed {
  /// Returns the position before the first event since a time, where a new consumer begins.
  ///
  /// - Parameters:
  ///   - feed: the id of the feed.
  ///   - created: the time of the creation of the consumer.
  ///   - database: the database.
  /// - Returns: the position; 0 if the feed has none.
  /// - Throws: the error of the database.
  @EventLoop package static func position(
    of feed: String, before created: Timestamp, in database: Database
  ) async throws(DatabaseError) -> Int {
    let last = try await database.write(FeedQueries.ends, feed).first?.last ?? 0
    let first = try await database.write(FeedQueries.since, feed, created).first
    return first.map { $0 - 1 } ?? last
  }

  /// Returns the events of some types after a position, and the next position of their consumer.
  ///
  /// - Parameters:
  ///   - feed: the id of the feed.
  ///   - position: the position of the consumer.
  ///   - last: the last position of the feed.
  ///   - types: the types of the consumer.
  ///   - count: the largest number of events.
  ///   - database: the database.
  /// - Returns: the events in their order, and the position that the consumer has after them.
  /// - Throws: the error of the database.
  @EventLoop package static func batch(
    of feed: String, after position: Int, upTo last: Int, _ types: EventTypes, count: Int,
    in database: Database
  ) async throws(DatabaseError) -> (events: [FeedEvent], next: Int) {
    let end = min(last, position + scanned)
    let names = TextArray(types.names)
    let events = try await database.write(
      FeedQueries.page, feed, position, end, names, nil, nil, count)
    return (events, events.count == count ? events.last?.position ?? end : end)
  }
}

/// An event as consumers get it.
package struct FeedMessage: Sendable {
  package let id: String
  package let type: String
  package let at: Timestamp
  /// The members as JSON.
  package let data: [UInt8]

  /// - Parameters:
  ///   - event: the id of the event, without its prefix.
  ///   - type: the type.
  ///   - at: the time of the event.
  ///   - data: the members as JSON.
  package init(event: String, type: String, at: Timestamp, data: [UInt8]) {
    (id, self.type, self.at, self.data) = ("evt_\(event)", type, at, data)
  }

  package init(_ event: FeedEvent) {
    self.init(event: event.id, type: event.type, at: event.at, data: event.data)
  }

  /// Creates a message of the server itself, such as a test, which no feed has.
  ///
  /// - Parameters:
  ///   - type: the type.
  ///   - app: the app.
  ///   - members: further members.
  package init(type: String, of app: App, _ members: JSONObject = JSONObject()) {
    var data = JSONObject([("app", .string(app.name))])
    for (name, value) in members { data[name] = value }
    self.init(
      event: "\(EventID())", type: type, at: .now, data: JSON.object(data).serialized())
  }

  /// The event as JSON.
  package var body: [UInt8] {
    var body = JSONWriter()
    write(to: &body)
    return body.bytes
  }

  package func write(to body: inout JSONWriter) {
    body.beginObject()
    body.member("id", id)
    body.member("type", type)
    body.member("timestamp", at.text)
    body.key("data")
    body.word(String(decoding: data, as: UTF8.self))
    body.endObject()
  }
}

// MARK: Of an app

/// The record of a consumer of a feed.
package protocol FeedConsumer: OwnedRecord {
  /// The types that it gets.
  var eventTypes: EventTypes { get }
}

/// The consumers of one kind of an app, as the worker last read them.
package struct AppConsumers<R: FeedConsumer>: AppPart, EventSubscriber {
  package private(set) var all: [Stored<R>] = []

  /// Those of disabled consumers too: they continue where they have stopped.
  package var eventTypes: EventTypes { all.reduce(into: []) { $0.formUnion($1.record.eventTypes) } }

  package static func load(
    _ database: Database, _ known: [AppID: AppConsumers]
  ) async throws(DatabaseError) -> [AppID: AppConsumers] {
    var apps: [AppID: AppConsumers] = [:]
    for consumer in try await database.read(R.table.statements.list, nil) {
      guard let app = consumer.appID else { continue }
      apps[app, default: AppConsumers()].all.append(consumer)
    }
    return apps
  }
}

// MARK: Rules

extension ColumnRule {
  /// Types of events; `EventTypes.check` checks the words.
  package static let eventTypes = ColumnRule.texts(
    atMost: 50, "type", "This must be a type of events, such as user.created."
  ) { (1...64).contains($0.utf8.count) }
}

extension EventTypes {
  /// Creates the set of types that a consumer has chosen; unknown ones count for nothing.
  package init(chosen types: [String]) {
    self = types.reduce(into: []) { $0.formUnion(EventTypes(matching: $1) ?? []) }
  }

  /// Reads the types of a request.
  ///
  /// - Parameter names: the types, or groups such as `user.*`.
  /// - Throws: `.unknownEventType` if a name has no type, and without a name.
  package init(named names: [String]) throws(Failure) {
    guard !names.isEmpty else { throw .noEventType }
    self = []
    for (index, name) in names.enumerated() {
      guard !name.utf8.contains(UInt8(ascii: ",")), let types = EventTypes(matching: name) else {
        throw .unknownEventType(at: "/types/\(index)")
      }
      formUnion(types)
    }
  }

  /// Checks the types of a new or changed consumer.
  ///
  /// - Parameter types: the member `types`; nil if it does not change.
  /// - Throws: `.unknownEventType`.
  package static func check(_ types: JSON?) throws(Failure) {
    let names = types?.array?.map(\.string) ?? []
    // The table refuses other values than texts.
    if !names.isEmpty, !names.contains(nil) { _ = try EventTypes(named: names.compactMap(\.self)) }
  }
}

extension ReceiverURL {
  /// Checks the URL of a new or changed consumer.
  ///
  /// - Parameters:
  ///   - url: the member `url`; nil if it does not change.
  ///   - allows: returns whether receivers may have an address.
  /// - Throws: `.urlNotAllowed`.
  package static func check(
    _ url: JSON?, allows: (IPAddress) -> Bool
  ) throws(Failure) {
    guard let url = url?.string, (1...longest).contains(url.unicodeScalars.count) else { return }
    let address: IPAddress?
    do throws(ReceiverURLError) {
      address = try ReceiverURL(url).address
    } catch {
      throw .urlNotAllowed(at: "/url", error.rule)
    }
    if let address, !allows(address) {
      throw .urlNotAllowed(at: "/url", "The address in the URL is not one of the internet.")
    }
  }
}

extension Failure {
  package static let urlNotAllowed = Failure("url_not_allowed", .invalid)
    .titled("The URL cannot be that of a receiver.")
    .remedied(
      "Use https, and a host with a public address. The operator can allow internal networks: "
        + "see the setting outgoing_networks.")
  package static let noEventType = Failure.unknownEventType(
    at: "/types", "Name at least one type of events.")
  package static let unknownEventType = Failure("unknown_event_type", .invalid)
    .titled("There is no such type of events.")
    .remedied("The guide of the event feed lists all types.")
}
