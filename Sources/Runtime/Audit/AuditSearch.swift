import EventLoop
package import Outbound
import Postgres

/// The conditions of a search of the audit log; the events satisfy all of them.
package struct AuditFilter: Sendable {
  package var user: UserID?
  package var session: SessionID?
  /// The id of a request.
  package var request: String?
  package var action: ActionPattern?
  package var actor: ActorPattern?
  /// The network of the callers.
  package var network: IPNetwork?
  /// Seconds since 1970; the first of the period.
  package var from: Int?
  /// Seconds since 1970; the last of the period.
  package var to: Int?

  package init() {}

  /// Whether it leaves out no event.
  var isEmpty: Bool { user == nil && !needsScan && index == .app && from == nil && to == nil }
}

/// An action, or the start of several.
package enum ActionPattern: Sendable, Equatable {
  case one(String)
  case beginning(String)

  /// Parses `login` or `user_*`; nil for other text.
  package init?(_ text: String) {
    let name = text.utf8.last == UInt8(ascii: "*") ? String(text.dropLast()) : text
    let isFit = name.utf8.allSatisfy { byte in
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
    }
    guard isFit, name.utf8.count <= 64, !text.isEmpty else { return nil }
    self = name == text ? .one(name) : .beginning(name)
  }
}

/// An actor, or all actors of a kind.
package enum ActorPattern: Sendable, Equatable {
  case one(String)
  /// The actors that are the word alone, or begin with it and a colon.
  case kind(String)

  /// Users themselves, who cause most events.
  ///
  /// Their index is that of the app.
  static let users = ActorPattern.one("user")

  /// Parses `user`, `client:ID` or `operator`; nil for a text that is no actor.
  package init?(_ text: String) {
    guard (1...100).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
    self = ["operator", "administrator", "client"].contains(text) ? .kind(text) : .one(text)
  }
}

/// The order of the events on a page.
package enum AuditOrder: String, CaseIterable, Sendable {
  case newest
  case oldest
}

extension Audit {
  /// The most events that one page of a filter without an index of its own reads.
  package static let scanned = 100_000

  /// Returns a page of the events that match a filter.
  ///
  /// An index finds the events of a user, an action or an actor, and the period. A further condition
  /// reads at most `scanned` of these events. A page with fewer events than `count` has then a `next`
  /// all the same: the last event that was read.
  /// - Parameters:
  ///   - filter: the conditions.
  ///   - app: the app; nil for all apps and the deployment.
  ///   - order: the order of the events.
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: from 1 to `PageLimit.most`.
  ///   - context: the context of the request.
  /// - Returns: the page.
  /// - Throws: `.searchTooSlow`, `.databaseUnavailable`.
  @EventLoop package static func page(
    matching filter: AuditFilter, of app: AppID?, in order: AuditOrder = .newest,
    after cursor: EventID?, count: Int, _ context: RequestContext
  ) async throws(Failure) -> Page<AuditEntry> {
    if filter.isEmpty, order == .newest {
      return try await page(of: app, before: cursor, count: count, context)
    }
    var places: [AuditPlace] = []
    if let user = filter.user {
      places = [AuditPlace(app: app, subject: user.text)]
    } else {
      let apps =
        if let app { [app] } else { try await context.read(AuditLogQueries.apps) + [.deployment] }
      places = try await Self.places(of: filter, in: apps, context)
    }
    guard !places.isEmpty else { return Page([], next: nil) }
    var composer = AuditComposer(filter, places, order, after: cursor)
    guard filter.needsScan else {
      return Page(try await context.read(composer.page(of: count)), of: count)
    }
    var found: [AuditEntry] = []
    var left = scanned
    while true {
      let size = min(left, composer.chunk)
      let more = try await context.read(composer.page(of: count - found.count, among: size))
      found += more
      if found.count == count { return Page(found, of: count) }
      guard let last = try await context.read(composer.last(of: size)).first else {
        return Page(found, next: nil)
      }
      left -= size
      composer.pass(last)
      if left <= 0 { return Page(found, next: last) }
    }
  }

  /// Returns where an index finds the events of a filter, in each app.
  @EventLoop private static func places(
    of filter: AuditFilter, in apps: [AppID], _ context: RequestContext
  ) async throws(Failure) -> [AuditPlace] {
    switch filter.index {
    case .app: return apps.map { AuditPlace(app: $0) }
    case .actor:
      switch filter.actor {
      case .kind(let kind): return try await places(ofActors: kind, in: apps, context)
      case .one(let actor): return apps.map { AuditPlace(app: $0, actor: actor) }
      case nil: return []
      }
    case .action: break
    }
    guard case .beginning(let start) = filter.action else {
      guard case .one(let action) = filter.action else { return [] }
      return apps.map { AuditPlace(app: $0, action: action) }
    }
    // The few actions with this start, one by one from the index.
    var places: [AuditPlace] = []
    var rest = apps.map { (app: $0, after: "") }
    while !rest.isEmpty {
      let calls = rest.map { PendingQuery(AuditLogQueries.nextAction, $0.app, start, $0.after) }
      let found = try await context.read(AuditLogQueries.nextAction, calls, on: .search)
      rest = zip(rest, found).compactMap { last, rows in
        rows.first.map { (app: last.app, after: $0) }
      }
      places += rest.map { AuditPlace(app: $0.app, action: $0.after) }
    }
    return places
  }
}

extension Audit {
  /// The most actors of a kind that one search takes from the index.
  private static let mostActors = 1_000

  /// Returns where the index finds the events of all actors of a kind, in each app.
  ///
  /// - Throws: `.searchTooSlow` for too many actors, `.databaseUnavailable`.
  @EventLoop private static func places(
    ofActors kind: String, in apps: [AppID], _ context: RequestContext
  ) async throws(Failure) -> [AuditPlace] {
    var places = apps.map { AuditPlace(app: $0, actor: kind) }
    var rest = apps.map { (app: $0, after: "") }
    while !rest.isEmpty {
      let calls = rest.map { PendingQuery(AuditLogQueries.nextActor, $0.app, "\(kind):", $0.after) }
      let found = try await context.read(AuditLogQueries.nextActor, calls, on: .search)
      rest = zip(rest, found).compactMap { last, rows in
        rows.first.map { (app: last.app, after: $0) }
      }
      places += rest.map { AuditPlace(app: $0.app, actor: $0.after) }
      guard places.count <= mostActors + apps.count else { throw .searchTooSlow }
    }
    return places
  }
}

extension AuditFilter {
  fileprivate enum Index { case app, action, actor }

  /// The index that finds the events of an app.
  fileprivate var index: Index {
    if let action, action != .beginning("") { return .action }
    return actor == nil || actor == .users ? .app : .actor
  }

  /// Whether conditions remain that no index serves.
  fileprivate var needsScan: Bool {
    session != nil || request != nil || network != nil || (index == .action && actor != nil)
      || (user != nil && index != .app) || actor == .users
  }
}

/// The events that one range of an index has.
struct AuditPlace {
  var app: AppID?
  var subject: String?
  var action: String?
  var actor: String?
}

/// Composes the statements of a search of the audit log.
///
/// Each place is one range of an index, from which the first events are taken.
struct AuditComposer {
  private let filter: AuditFilter
  private let places: [AuditPlace]
  private let order: AuditOrder
  /// The first id, and the one after the last.
  private var lower: String
  private var upper: String

  init(_ filter: AuditFilter, _ places: [AuditPlace], _ order: AuditOrder, after cursor: EventID?) {
    (self.filter, self.places, self.order) = (filter, places, order)
    lower = filter.from.map(Self.start) ?? ""
    upper = filter.to.map { Self.start(of: $0 + 1) } ?? "g"
    if let cursor { pass(cursor) }
  }

  /// Returns the least id of a second.
  static func start(of second: Int) -> String {
    let digits = String(max(0, min(second, 0xffff_ffff)), radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }

  /// The number of events of one look, if few of them match.
  var chunk: Int { max(100, 10_000 / places.count) }

  /// Continues after an event.
  mutating func pass(_ event: EventID) {
    switch order {
    case .newest: upper = min(upper, event.text)
    case .oldest: lower = max(lower, event.text + "0")
    }
  }

  /// Composes the first events that match, of those that indexes find alone.
  func page(of count: Int) -> ComposedStatement<AuditEntry> {
    var search = ComposedStatement<AuditEntry>()
    search.append("select ")
    search.append(columns: .auditEntry)
    search.append(" from (")
    appendPlaces(to: &search, each: count)
    search.append(") e")
    appendOrder(to: &search, count)
    return search
  }

  /// Composes the first events that match among the next ones.
  func page(of count: Int, among size: Int) -> ComposedStatement<AuditEntry> {
    var search = ComposedStatement<AuditEntry>()
    search.append("select ")
    search.append(columns: .auditEntry)
    search.append(" from (select ")
    search.append(columns: .auditEntry)
    search.append(" from (")
    appendPlaces(to: &search, each: size)
    search.append(") e")
    appendOrder(to: &search, size)
    search.append(") e where true")
    append(" and e.session_id = ", filter.session?.text, to: &search)
    append(" and e.request_id = ", filter.request, to: &search)
    switch filter.actor {
    case .one(let actor): append(" and e.actor = ", actor, to: &search)
    case .kind(let kind):
      append(" and split_part(e.actor, ':', 1) = ", kind, to: &search)
    case nil: break
    }
    if let network = filter.network {
      search.append(" and e.address::inet <<= ")
      search.bind(network.description, as: "inet")
    }
    switch filter.action {
    case .one(let action): append(" and e.action = ", action, to: &search)
    case .beginning(let start):
      search.append(" and starts_with(e.action, ")
      search.bind(start, as: "text")
      search.append(")")
    case nil: break
    }
    appendOrder(to: &search, count)
    return search
  }

  /// Composes the last of the next events; no row if they are fewer.
  func last(of size: Int) -> ComposedStatement<EventID> {
    var search = ComposedStatement<EventID>()
    search.append("select e.id from (")
    appendPlaces(to: &search, each: size)
    search.append(") e")
    appendOrder(to: &search, 1, from: size - 1)
    return search
  }

  private func appendPlaces<Row>(to search: inout ComposedStatement<Row>, each count: Int) {
    for (index, place) in places.enumerated() {
      if index > 0 { search.append(" union all ") }
      search.append("(select ")
      search.append(columns: .auditEntry)
      search.append(" from audit_entries e where e.id >= ")
      search.bind(lower, as: "text")
      search.append(" and e.id < ")
      search.bind(upper, as: "text")
      append(" and e.subject_id = ", place.subject, to: &search)
      append(" and e.app_id = ", place.app?.text, to: &search)
      append(" and e.action = ", place.action, to: &search)
      append(" and e.actor = ", place.actor, to: &search)
      // The condition of the index.
      if place.actor != nil { search.append(" and e.actor <> 'user'") }
      appendOrder(to: &search, count)
      search.append(")")
    }
  }

  private func append<Row>(
    _ piece: StaticString, _ value: String?, to search: inout ComposedStatement<Row>
  ) {
    guard let value else { return }
    search.append(piece)
    search.bind(value, as: "text")
  }

  private func appendOrder<Row>(
    to search: inout ComposedStatement<Row>, _ count: Int, from start: Int = 0
  ) {
    search.append(order == .newest ? " order by e.id desc limit " : " order by e.id limit ")
    search.bind(count, as: "bigint")
    guard start > 0 else { return }
    search.append(" offset ")
    search.bind(start, as: "bigint")
  }
}

extension AuditLogQueries {
  /// Returns the first action of an app after one of them, among those with a start.
  ///
  /// Served by `audit_by_action`.
  /// - Parameter 2: the start.
  /// - Parameter 3: the action before; empty for the first one.
  static let nextAction = Statement<String, AppID, String, String>(
    "audit_log.next_action",
    """
    select action from audit
    where app_id = $1 and action >= $2 and action > $3 and action < $2 || chr(1114111)
    order by action limit 1
    """)

  /// Returns the first actor of an app after one of them, among those with a start.
  ///
  /// Served by `audit_by_other_actor`.
  /// - Parameter 2: the start.
  /// - Parameter 3: the actor before; empty for the first one.
  static let nextActor = Statement<String, AppID, String, String>(
    "audit_log.next_actor",
    """
    select actor from audit
    where app_id = $1 and actor >= $2 and actor > $3 and actor < $2 || chr(1114111)
      and actor <> 'user'
    order by actor limit 1
    """)
}
