import EventLoop
import JSON
import Records
package import Postgres
package import Runtime

extension Clients {
  /// Creates a client; one of kind `web` or `machine` gets a secret, or keeps the given one.
  ///
  /// - Returns: the client, and its new secret, which is shown only once.
  /// - Throws: `.invalid`, `.clientExists`, `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package static func create(
    _ client: ClientDescription, _ context: RequestContext
  ) async throws(Failure) -> (client: ClientRecord, secret: String?) {
    let settings = try settings(of: client)
    let id = client.id.flatMap { ClientID($0) } ?? ClientID()
    let needsSecret = !client.kind.isPublic && client.secret == nil
    let secret = needsSecret ? newSecret() : nil
    let app: AppID? =
      if let name = client.app { try await Apps.record(of: name, context).id } else { nil }
    let names = Scopes.management.filter(client.scopes.contains)
    let made = try await context.transaction { transaction async throws(Failure) in
      try await transaction.send(
        ClientAdministrationQueries.create,
        id,
        app,
        client.kind.rawValue,
        client.name,
        names.joined(separator: " "),
        secret?.hash(context.keys.master) ?? client.secret?.hash(of: id, context.keys.master),
        TextBytes(settings.serialized())
      ).rows(duplicate: .clientExists)
      var detail = JSONObject([
        ("client_id", .string(id.text)), ("kind", .string(client.kind.rawValue)),
        ("name", .string(client.name)), ("scopes", .array(names.map(JSON.string))),
      ])
      if settings.count > 0 { detail["settings"] = .object(RecordChange.shown(settings)) }
      Event("client_create", detail: .object(detail)).record(
        in: transaction, app: app ?? .deployment
      )
      return try await transaction.run(ClientAdministrationQueries.lock, id)
    }.first.orUnforeseen("a client that was made")
    return (made, secret?.text(context.keys.master))
  }

  /// A client secret names no client, since a client may have an id of another form.
  private static func newSecret() -> Credential {
    Credential(.clientSecret, of: ID<Credential>())
  }

  /// Checks a client to create.
  ///
  /// - Throws: `.invalid` with every fault.
  package static func check(_ client: ClientDescription) throws(Failure) {
    _ = try settings(of: client)
  }

  /// Returns the members that a change would change: the name, and settings by their names.
  ///
  /// - Throws: `.invalid`.
  package static func differences(
    of client: ClientRecord, by change: ClientChange
  ) throws(Failure) -> [String] {
    if let name = change.name, let fault = OperatorName.labelFault(in: name) {
      throw .invalid([fault])
    }
    let before = client.settings.chosen ?? JSONObject()
    let after = try ClientRules.settings(before, changedBy: change.settings, of: client.kind)
    let isRenamed = change.name.map { !$0.hasSameBytes(as: client.name) } ?? false
    return (isRenamed ? ["name"] : [])
      + change.settings.map(\.key).filter { before[$0] ?? .null != after[$0] ?? .null }
  }

  private static func settings(of client: ClientDescription) throws(Failure) -> JSONObject {
    var faults: [FieldError] = []
    if let id = client.id, ClientID(id) ?? .pages == .pages {
      faults.append(FieldError("/id", "id", ClientID.rule))
    }
    if let fault = client.secret?.fault(of: client.kind) { faults.append(fault) }
    if let fault = OperatorName.labelFault(in: client.name) { faults.append(fault) }
    if client.app == nil, client.kind != .machine {
      faults.append(
        FieldError("/kind", "operator", "A client of the operator must be of kind machine.")
      )
    }
    faults += ClientRules.faults(
      inScopes: client.scopes, of: client.kind, isOperator: client.app == nil
    )
    var settings = JSONObject()
    do throws(Failure) {
      settings = try ClientRules.settings(JSONObject(), changedBy: client.settings, of: client.kind)
    } catch {
      faults += error.faults
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    return settings
  }

  /// Returns the clients, oldest first.
  ///
  /// - Parameters:
  ///   - app: the name of an app; nil for the clients of all apps.
  ///   - context: the context of the request.
  /// - Returns: the clients.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func list(
    of app: String?, _ context: RequestContext
  ) async throws(Failure) -> [ClientRecord] {
    try await context.read(ClientAdministrationQueries.list, app)
  }

  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func record(
    of id: ClientID, _ context: RequestContext
  ) async throws(Failure) -> ClientRecord {
    guard let client = try await context.first(ClientAdministrationQueries.show, id) else {
      throw .notFound
    }
    return client
  }

  /// Changes a client, and increments the version even if no value differs.
  ///
  /// A disabled client's next request is refused.
  /// - Throws: `.invalid` with pointers into a body with `name`, `scopes` and `settings`;
  ///   `.preconditionFailed`, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func change(
    _ id: ClientID, _ change: ClientChange, if condition: VersionCondition,
    _ context: RequestContext
  ) async throws(Failure) -> ClientRecord {
    if let name = change.name, let fault = OperatorName.labelFault(in: name) {
      throw .invalid([fault])
    }
    return try await context.transaction { transaction async throws(Failure) in
      guard let before = try await transaction.run(ClientAdministrationQueries.lock, id).first
      else { throw .notFound }
      try condition.require(before.version)
      let faults = ClientRules.faults(
        inScopes: change.scopes ?? [], of: before.kind, isOperator: before.app == nil
      )
      guard faults.isEmpty else { throw .invalid(faults) }
      let settings = try ClientRules.settings(
        before.settings.chosen ?? JSONObject(), changedBy: change.settings, of: before.kind
      )
      let scopes = change.scopes.map { Scopes.management.filter($0.contains) } ?? before.scopes
      _ = transaction.send(
        ClientAdministrationQueries.change, id, change.name ?? before.name,
        scopes.joined(separator: " "), TextBytes(settings.serialized()),
        change.isDisabled ?? before.isDisabled, ServerTime()
      )
      var detail = change.audited
      detail["client_id"] = .string(id.text)
      Event("client_change", detail: .object(detail)).record(
        in: transaction, app: before.appID ?? .deployment
      )
      let after = try await transaction.run(ClientAdministrationQueries.lock, id)
      return try after.first.orUnforeseen("a client that was changed")
    }
  }

  /// Replaces the secret of a client; requests with the old one are refused at once.
  ///
  /// - Returns: the client, and its new secret, which is shown only once.
  /// - Throws: `.publicClient`, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func rotateSecret(
    of id: ClientID, _ context: RequestContext
  ) async throws(Failure) -> (client: ClientRecord, secret: String) {
    let secret = newSecret()
    let client = try await context.transaction { transaction async throws(Failure) in
      guard let before = try await transaction.run(ClientAdministrationQueries.lock, id).first
      else { throw .notFound }
      guard !before.kind.isPublic else { throw .publicClient }
      _ = transaction.send(
        ClientAdministrationQueries.setSecret, id, secret.hash(context.keys.master)
      )
      Event("client_secret_rotate", detail: ["client_id": .string(id.text)]).record(
        in: transaction, app: before.appID ?? .deployment
      )
      return try await transaction.run(ClientAdministrationQueries.lock, id)
    }.first.orUnforeseen("a client with a new secret")
    return (client, secret.text(context.keys.master))
  }

  /// Deletes a client with its grants; its next request is refused.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func delete(
    _ id: ClientID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.act("client_delete") { transaction async throws(Failure) in
      try await transaction.run(ClientAdministrationQueries.delete, id).first
    } recording: { app in
      // The text is empty for a client of the operator.
      (AppID(app) ?? .deployment, ["client_id": .string(id.text)])
    }
  }
}

extension SQL {
  /// The select of a `ClientRecord`, without a condition.
  fileprivate static let clients: SQL = """
    select c.client_id, c.app_id, a.name, c.kind, c.name, c.scope, c.settings, c.version,
      c.disabled_at is not null, c.created_at
    from clients c left join apps a on a.app_id = c.app_id
    """
}

package enum ClientAdministrationQueries {
  static let create = Statement<
    NoRow, ClientID, AppID?, String, String, String, BinaryBytes?, TextBytes
  >(
    "clients.create",
    """
    insert into clients (
      client_id, app_id, kind, name, scope, secret_hash, secret_created_at, settings)
    values ($1, $2, $3, $4, $5, $6, case when $6::bytea is not null then now() end, $7::jsonb)
    """)

  static let list = Statement<ClientRecord, String?>(
    "clients.list",
    """
    \(.clients)
    where $1::text is null or a.name = $1
    order by c.created_at, c.client_id
    """)

  static let show = Statement<ClientRecord, ClientID>(
    "clients.show", "\(.clients) where c.client_id = $1"
  )

  /// Locks a client, so that concurrent changes of it run one after the other.
  static let lock = Statement<ClientRecord, ClientID>(
    "clients.lock", "\(.clients) where c.client_id = $1 for update of c"
  )

  static let change = Statement<NoRow, ClientID, String, String, TextBytes, Bool, ServerTime>(
    "clients.change",
    """
    update clients set name = $2, scope = $3, settings = $4::jsonb,
      disabled_at = case when $5::boolean then coalesce(disabled_at, $6::timestamptz) end,
      version = version + 1
    where client_id = $1
    """)

  static let setSecret = Statement<NoRow, ClientID, BinaryBytes>(
    "clients.set_secret",
    """
    update clients set secret_hash = $2, secret_created_at = now(), version = version + 1
    where client_id = $1
    """)

  /// Returns the id of the client's app; an empty text for an operator client.
  static let delete = Statement<String, ClientID>(
    "clients.delete", "delete from clients where client_id = $1 returning coalesce(app_id, '')"
  )

  package static let all: [any PreparedStatement] = [
    create, list, show, lock, change, setSecret, delete,
  ]
}
