package import Accounts
import Documents
import EventLoop
import JSON
package import Postgres
package import Runtime
import Tenancy

/// The objects of an app that a text finds: users, and by an id also sessions, devices, clients and
/// events.
///
/// An index finds each of them. Each word of a name is found by its start.
package struct AppSearch: Sendable {
  /// The most results of each kind.
  package static let most = 20
  /// In bytes: more than the longest address.
  package static let longest = 320

  /// The members that were compared with the text, for the audit log.
  package private(set) var members: [String] = []
  package private(set) var users: [Profile] = []
  package private(set) var sessions: [FoundSession] = []
  package private(set) var devices: [FoundDevice] = []
  package private(set) var clients: [FoundClient] = []
  package private(set) var events: [AuditEntry] = []

  /// Searches an app.
  ///
  /// 24 hexadecimal digits are an id. `@example.com` is the domain of addresses. A text with an `@`
  /// is an address, or the start of one. Any other text is the start of an address, a name, or a
  /// telephone number; or the starts of words of a user's names, in any order.
  /// - Parameters:
  ///   - text: the text, of at most `longest` bytes; an empty one finds nothing.
  ///   - context: the context of the app. Clients and events are found if the principal may read
  ///     them.
  /// - Returns: the results.
  /// - Throws: `.searchTooSlow`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func run(
    for text: String, _ context: RequestContext
  ) async throws(Failure) -> AppSearch {
    var found = AppSearch()
    guard !text.isEmpty else { return found }
    if let user = UserID(text) {
      found.members = ["id"]
      try await found.find(user, context)
    } else if text.utf8.first == UInt8(ascii: "@"), text.utf8.count > 1 {
      try await found.add([(.emailDomain, .equal)], String(text.dropFirst()), context)
    } else if text.utf8.contains(UInt8(ascii: "@")) {
      try await found.add([(.email, .equal)], text, context)
      try await found.add([(.email, .beginsWith)], text, context)
    } else {
      let members: [ProfileMember] = [.email, .name, .names, .phone]
      try await found.add(members.map { ($0, .beginsWith) }, text, context)
    }
    if UserID(text) == nil, let client = ClientID(text) {
      try await found.findClient(client, context)
    }
    return found
  }

  /// Adds the users of whom a member fits.
  @EventLoop private mutating func add(
    _ members: [(ProfileMember, FilterOperator)], _ text: String, _ context: RequestContext
  ) async throws(Failure) {
    let terms = members.map { member, comparison in
      Filter.term(
        FilterTerm(subject: .profile(member), test: .compares(comparison, .text(text))))
    }
    self.members += members.map(\.0.rawValue)
    let page = try await UserSearch.page(of: .or(terms), after: nil, count: Self.most, context)
    let known = Set(users.map(\.id))
    users += page.items.map(\.profile).filter { !known.contains($0.id) }
    users = Array(users.prefix(Self.most))
  }

  /// Finds all that has an id.
  @EventLoop private mutating func find(
    _ id: UserID, _ context: RequestContext
  ) async throws(Failure) {
    let (app, text) = (context.app.id, id.text)
    do throws(Failure) {
      users = [try await Profiles.read(of: id, context)]
    } catch .notFound {
      users = []
    }
    sessions = try await context.read(
      AppSearchQueries.session, app, SessionID(trusted: text), on: .search)
    devices = try await context.read(AppSearchQueries.device, DeviceID(trusted: text), app)
    if let client = ClientID(text) { try await findClient(client, context) }
    if context.principal.scopes.contains(Scopes.readUserLogs) {
      let event = try await Audit.find(EventID(trusted: text), of: app, context)
      events = event.map { [$0] } ?? []
    }
  }

  @EventLoop private mutating func findClient(
    _ id: ClientID, _ context: RequestContext
  ) async throws(Failure) {
    guard context.principal.scopes.contains(Self.readClients) else { return }
    clients = try await context.read(AppSearchQueries.client, id, context.app.id)
  }

  /// The scope of operators, which no client of an app has.
  private static let readClients = "read:clients"
}

/// A session, also one that has ended.
package struct FoundSession: RowDecodable {
  package let id: SessionID
  package let user: UserID
  package let device: DeviceID
  package let createdAt: Timestamp
  package let expiresAt: Timestamp
  package let endedAt: Timestamp?

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    user = try row.id(1)
    device = try row.id(2)
    createdAt = try row.time(3)
    expiresAt = try row.time(4)
    endedAt = try row.time(ifAny: 5)
  }
}

/// A device.
package struct FoundDevice: RowDecodable {
  package let id: DeviceID
  package let createdAt: Timestamp
  package let lastSeenAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    createdAt = try row.time(1)
    lastSeenAt = try row.time(2)
  }
}

/// A client, also a disabled one.
package struct FoundClient: RowDecodable {
  package let id: ClientID
  package let name: String
  package let kind: String

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    name = try row.text(1)
    kind = try row.text(2)
  }
}

package enum AppSearchQueries {
  /// Asks all shards for one session.
  ///
  /// Served by `sessions_by_id`.
  static let session = Statement<FoundSession, AppID, SessionID>(
    "app_search.session",
    """
    select session_id, user_id, device_id, created_at, expires_at, ended_at from sessions
    where app_id = $1 and session_id = $2
    """)

  /// Served by the primary key.
  static let device = Statement<FoundDevice, DeviceID, AppID>(
    "app_search.device",
    """
    select device_id, created_at, last_seen_at from devices where device_id = $1 and app_id = $2
    """)

  /// Served by the primary key.
  static let client = Statement<FoundClient, ClientID, AppID>(
    "app_search.client",
    "select client_id, name, kind from clients where client_id = $1 and app_id = $2"
  )
}
