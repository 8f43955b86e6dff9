import EventLoop
package import Postgres
package import Runtime
import Tenancy

/// The names that people know for the actors and users of events.
package struct AuditNames {
  /// The addresses of administrators and the names of clients, by the actors of events.
  private var actors: [String: String] = [:]
  private var users: [String: String] = [:]

  /// Reads the names of actors and users.
  ///
  /// - Parameters:
  ///   - actors: the actors, as events name them.
  ///   - users: the users; of one without an address, the name is returned.
  ///   - context: the context of an operator's request.
  /// - Returns: the names; none for whom was deleted.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func read(
    of actors: [String], users: [UserID] = [], _ context: RequestContext
  ) async throws(Failure) -> AuditNames {
    var names = AuditNames()
    for (kind, statement) in [
      ("administrator:", AuditNameQueries.administrators), ("client:", AuditNameQueries.clients),
    ] {
      let ids = Set(actors.filter { $0.hasPrefix(kind) }.map { String($0.dropFirst(kind.count)) })
      guard !ids.isEmpty else { continue }
      for row in try await context.read(statement, TextArray(ids.sorted())) {
        names.actors[kind + row.id] = row.name
      }
    }
    let ids = Set(users.map(\.text))
    if !ids.isEmpty {
      let rows = try await context.read(
        AuditNameQueries.users, TextArray(ids.sorted()), on: .search)
      for row in rows { names.users[row.id] = row.name }
    }
    return names
  }

  /// Reads the names of events.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func read(
    of events: [AuditEntry], _ context: RequestContext
  ) async throws(Failure) -> AuditNames {
    try await read(of: events.map(\.actor), users: events.compactMap(\.user), context)
  }

  /// Returns the address of an administrator, the name of a client, or that of a person on the
  /// command line; nil for another actor.
  package func name(ofActor actor: String) -> String? {
    let start = "operator:"
    return actors[actor]
      ?? (actor.hasPrefix(start) ? String(actor.dropFirst(start.utf8.count)) : nil)
  }

  /// Returns the address or the name of a user; nil without both.
  package func name(of user: UserID) -> String? { users[user.text] }
}

/// An id with its name.
package struct NamedID: RowDecodable {
  let id: String
  let name: String?

  package init(from row: Row) throws(DatabaseError) {
    id = try row.text(0)
    name = row.text(ifAny: 1)
  }
}

package enum AuditNameQueries {
  /// Served by the primary key.
  static let administrators = Statement<NamedID, TextArray>(
    "audit_names.administrators",
    "select user_id, email from administrators where user_id = any ($1::text[])")

  /// Served by the primary key.
  static let clients = Statement<NamedID, TextArray>(
    "audit_names.clients",
    "select client_id, name from clients where client_id = any ($1::text[])")

  /// Asks all shards, once.
  static let users = Statement<NamedID, TextArray>(
    "audit_names.users",
    "select user_id, coalesce(email, name) from users where user_id = any ($1::text[])")
}
