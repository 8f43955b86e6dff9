import EventLoop
import JSON
package import Postgres

/// A program that calls with a key of its own, as the key was checked for one call.
package struct Client: RowDecodable {
  package let id: ClientID
  /// Nil for an operator's, which may do everything in every app.
  package let app: AppID?
  package let scopes: Scopes

  package init(from row: Row) throws(DatabaseError) {
    id = ClientID(trusted: try row.text(0))
    app = row.text(ifAny: 1).map(AppID.init(trusted:))
    scopes = app == nil ? .everything : Scopes(try row.text(2))
  }

  package var isOperator: Bool { app == nil }

  /// Whether it may work on that app at all.
  package func belongs(to app: AppID) -> Bool { isOperator || self.app == app }
}

/// A client as those see it who administer clients.
package struct ClientInfo: RowDecodable {
  package let id: ClientID
  /// The name of its app; nil for an operator's.
  package let app: String?
  package let name: String
  package let scopes: [String]
  package let isDisabled: Bool
  package let createdAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    app = row.text(ifAny: 1)
    name = try row.text(2)
    scopes = try row.text(3).split(separator: " ").map(String.init)
    isDisabled = try row.bool(4)
    createdAt = try row.time(5)
  }
}

extension Scopes {
  package static let readUsers = "read:users"
  package static let updateUsers = "update:users"
  package static let deleteUsers = "delete:users"
  package static let createUsers = "create:users"
  package static let readAppMetadata = "read:users_app_metadata"
  package static let updateAppMetadata = "update:users_app_metadata"
  package static let readUserLogs = "read:logs_users"
  /// What a client of an app can be allowed.
  ///
  /// - Source: the names that Auth0's management API has for them.
  package static let management = [
    readUsers, updateUsers, deleteUsers, createUsers, readAppMetadata, updateAppMetadata,
    readUserLogs,
  ]
}

/// Programs: an app's back end, or the operator's tools.
package enum Clients {
  /// A client that was made: the only time that its key is shown.
  package struct Made: Sendable {
    package let id: ClientID
    package let key: String
  }

  /// Whether a text has the form of a client's key, be it one or not.
  package nonisolated static func isKey(_ text: String) -> Bool {
    text.utf8.starts(with: Credential.Kind.clientKey.rawValue.utf8)
  }

  /// Whose key that is, as the database has it now.
  ///
  /// - Throws: `.unknownClient` when it was made up, deleted or disabled, `.unavailable`.
  @EventLoop package static func client(
    by key: String,
    _ context: RequestContext
  ) async throws(Failure) -> Client {
    // Whoever guesses does not get past the mark.
    guard let credential = Credential(.clientKey, key, context.keys.master) else {
      throw .unknownClient
    }
    let rows = try await context.read(
      ClientQueries.authenticate,
      credential.owner(as: ClientID.self),
      credential.hash(context.keys.master)
    )
    guard let client = rows.first else { throw .unknownClient }
    return client
  }

  /// Makes a client with a key.
  ///
  /// - Parameters:
  ///   - name: 1 to 100 characters, for people.
  ///   - app: the name of the app it is of; nil makes an operator's, without `scopes`.
  ///   - scopes: of `Scopes.management`.
  ///   - context: the context of the request.
  /// - Returns: the client with its key.
  /// - Throws: `.invalid`, `.unknownApp`, `.unavailable`.
  @EventLoop package static func create(
    _ name: String,
    app: String?,
    scopes: [String],
    _ context: RequestContext
  ) async throws(Failure) -> Made {
    try check(name, isOperator: app == nil, scopes)
    let id = ClientID()
    let key = Credential(.clientKey, of: id)
    let owner: AppID? =
      if let app { try await Apps.record(of: app, context).id } else { nil }
    let names = Scopes.management.filter(scopes.contains)
    try await context.transaction { transaction async throws(Failure) in
      _ = try await transaction.run(
        ClientQueries.create,
        id,
        owner,
        name,
        names.joined(separator: " "),
        key.hash(context.keys.master)
      )
      try await Event(
        "client_create",
        detail: [
          "client_id": .string(id.text), "name": .string(name),
          "scopes": .array(names.map(JSON.string)),
        ]
      ).record(in: transaction, app: owner ?? .deployment, context)
    }
    return Made(id: id, key: key.text(context.keys.master))
  }

  private static func check(_ name: String, isOperator: Bool, _ scopes: [String]) throws(Failure) {
    var faults: [Fault] = []
    if let fault = OperatorName.labelFault(in: name, at: "/name") { faults.append(fault) }
    for (index, scope) in scopes.enumerated() where !Scopes.management.contains(scope) {
      let all = Scopes.management.joined(separator: ", ")
      faults.append(Fault("/scopes/\(index)", "choice", "A scope is one of \(all)."))
    }
    if isOperator, !scopes.isEmpty {
      faults.append(
        Fault(
          "/scopes",
          "operator",
          "A client of the operator may do everything; it has no scopes."
        )
      )
    }
    if !isOperator, scopes.isEmpty {
      faults.append(Fault("/scopes", "missing", "A client of an app has at least one scope."))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
  }

  /// The clients, the oldest first, without their keys.
  ///
  /// - Parameters:
  ///   - app: the name of one whose clients are asked for; nil for all.
  ///   - context: the context of the request.
  /// - Returns: the clients.
  /// - Throws: `.unavailable`.
  @EventLoop package static func list(
    of app: String?,
    _ context: RequestContext
  ) async throws(Failure) -> [ClientInfo] {
    try await context.read(ClientQueries.list, app)
  }

  /// Disables a client, whose next call is refused, or enables it again.
  ///
  /// - Throws: `.notFound`, `.unavailable`.
  @EventLoop package static func setDisabled(
    _ isDisabled: Bool,
    _ id: ClientID,
    _ context: RequestContext
  ) async throws(Failure) {
    try await act(isDisabled ? "client_disable" : "client_enable", on: id, context) {
      transaction async throws(Failure) in
      try await transaction.run(ClientQueries.setDisabled, id, isDisabled)
    }
  }

  /// Deletes a client, whose next call is refused.
  ///
  /// - Throws: `.notFound`, `.unavailable`.
  @EventLoop package static func delete(
    _ id: ClientID,
    _ context: RequestContext
  ) async throws(Failure) {
    try await act("client_delete", on: id, context) {
      transaction async throws(Failure) in
      try await transaction.run(ClientQueries.delete, id)
    }
  }

  /// Runs a statement that answers with the client it found, and records it.
  @EventLoop private static func act(
    _ action: String,
    on id: ClientID,
    _ context: RequestContext,
    _ statement: @EventLoop (Transaction) async throws(Failure) -> [Client]
  ) async throws(Failure) {
    try await context.act(action) { transaction async throws(Failure) in
      try await statement(transaction).first
    } recording: { client in
      (client.app ?? .deployment, ["client_id": .string(id.text)])
    }
  }
}

package enum ClientQueries {
  /// Served by the primary key.
  static let authenticate = Statement<Client, ClientID, BinaryBytes>(
    "clients.authenticate",
    """
    select client_id, app_id, scope from clients
    where client_id = $1 and key_hash = $2 and disabled_at is null
    """
  )

  static let create = Statement<NoRow, ClientID, AppID?, String, String, BinaryBytes>(
    "clients.create",
    "insert into clients (client_id, app_id, name, scope, key_hash) values ($1, $2, $3, $4, $5)"
  )

  static let list = Statement<ClientInfo, String?>(
    "clients.list",
    """
    select c.client_id, a.name, c.name, c.scope, c.disabled_at is not null, c.created_at
    from clients c left join apps a on a.app_id = c.app_id
    where $1::text is null or a.name = $1
    order by c.client_id
    """
  )

  static let setDisabled = Statement<Client, ClientID, Bool>(
    "clients.set_disabled",
    """
    update clients
    set disabled_at = case when $2::boolean then coalesce(disabled_at, now()) end
    where client_id = $1 returning client_id, app_id, scope
    """
  )

  static let delete = Statement<Client, ClientID>(
    "clients.delete",
    "delete from clients where client_id = $1 returning client_id, app_id, scope"
  )

  package static let all: [any PreparedStatement] = [
    authenticate, create, list, setDisabled, delete,
  ]
}
