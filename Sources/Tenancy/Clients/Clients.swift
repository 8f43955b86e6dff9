package import Runtime
import EventLoop
import JSON
package import Postgres

/// An API client, authenticated by its key for one request.
package struct Client: RowDecodable {
  package let id: ClientID
  /// Nil for an operator client, which may do everything in every app.
  package let app: AppID?
  package let scopes: Scopes

  package init(from row: Row) throws(DatabaseError) {
    id = ClientID(trusted: try row.text(0))
    app = row.text(ifAny: 1).map(AppID.init(trusted:))
    scopes = app == nil ? .everything : Scopes(try row.text(2))
  }

  package var isOperator: Bool { app == nil }

  /// Returns whether the client may work on the app at all.
  package func belongs(to app: AppID) -> Bool { isOperator || self.app == app }
}

/// An API client as operators see it.
package struct ClientInfo: RowDecodable {
  package let id: ClientID
  /// The name of the app; nil for an operator client.
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

/// API clients: an app's back end, or the operator's tools.
package enum Clients {
  /// A new client with its key, which is shown only once.
  package struct Made: Sendable {
    package let id: ClientID
    package let key: String
  }

  /// Returns whether a text has the form of a client key, valid or not.
  package nonisolated static func isKey(_ text: String) -> Bool {
    text.utf8.starts(with: Credential.Kind.clientKey.rawValue.utf8)
  }

  /// Authenticates a client by its key, and reads it from the database.
  ///
  /// - Throws: `.unknownClient` if the key is forged, or the client deleted or disabled;
  ///   `.databaseUnavailable`.
  @EventLoop package static func client(
    by key: String,
    _ context: RequestContext
  ) async throws(Failure) -> Client {
    // The MAC in the key rejects guesses without a database query.
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

  /// Creates a client with a key.
  ///
  /// - Parameters:
  ///   - name: a label of 1 to 100 characters.
  ///   - app: the name of its app; nil creates an operator client, without `scopes`.
  ///   - scopes: some of `Scopes.management`.
  ///   - context: the context of the request.
  /// - Returns: the client with its key.
  /// - Throws: `.invalid`, `.unknownApp`, `.databaseUnavailable`.
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

  /// Returns the clients without their keys, oldest first.
  ///
  /// - Parameters:
  ///   - app: the name of an app; nil for the clients of all apps.
  ///   - context: the context of the request.
  /// - Returns: the clients.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func list(
    of app: String?,
    _ context: RequestContext
  ) async throws(Failure) -> [ClientInfo] {
    try await context.read(ClientQueries.list, app)
  }

  /// Disables a client, so that its next request is refused, or enables it again.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
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

  /// Deletes a client; its next request is refused.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func delete(
    _ id: ClientID,
    _ context: RequestContext
  ) async throws(Failure) {
    try await act("client_delete", on: id, context) {
      transaction async throws(Failure) in
      try await transaction.run(ClientQueries.delete, id)
    }
  }

  /// Runs a statement that returns the client it found, and records an audit event.
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
