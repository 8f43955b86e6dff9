import OpenIDClient
import EventLoop
import Federation
import HTTP
import JSON
import Runtime
import Sessions
import Tenancy
import WireKit
import Records

/// `/api/v2/tenants/settings` and `/api/v2/connections`: what tools of configuration read of an app.
///
/// They show settings of the app, and change none.
@EventLoop enum TenantRoutes {
  nonisolated static let routes = [
    Route(
      .get, "/api/v2/tenants/settings", access: .management("read:clients"),
      summary: "Read the settings of the app"
    ) { call async throws(Failure) in
      let settings = JSONObject([
        ("friendly_name", .string(call.context.app.name)),
        ("default_directory", .string(ClientSettings.Connection.password.auth0Name)),
        ("flags", .object(JSONObject())),
      ])
      let selection = try FieldSelection(call.query)
      return Response(.ok, json: selection.applied(to: settings).serialized())
    },
    Route(
      .get, "/api/v2/connections", access: .management("read:connections"),
      summary: "List the ways to sign in"
    ) { call async throws(Failure) in
      let query = try call.query(repeating: .only("strategy"))
      let (page, selection) = (try PageParameters(query), try FieldSelection(query))
      let strategies = query.all("strategy")
      let name = query["name"].flatMap { $0.isEmpty ? nil : $0 }
      let found = try await connections(call.context).filter { connection in
        (strategies.isEmpty || strategies.contains { connection.strategy.hasSameBytes(as: $0) })
          && name.map(connection.name.hasSameBytes) ?? true
      }
      return page.response(found, named: "connections") { selection.applied(to: $0.json) }
    },
    Route(
      .get, "/api/v2/connections/{connection}", access: .management("read:connections"),
      summary: "Read a way to sign in"
    ) { call async throws(Failure) in
      let id = call.text("connection")
      let all = try await connections(call.context)
      guard let found = all.first(where: { $0.id.hasSameBytes(as: id) }) else {
        throw .inexistentResource("The connection does not exist.")
      }
      let selection = try FieldSelection(call.query)
      return Response(.ok, json: selection.applied(to: found.json).serialized())
    },
  ]

  /// Returns the ways to sign in: by an address, by connections, and by the issuers of the app.
  private static func connections(
    _ context: RequestContext
  ) async throws(Failure) -> [ConnectionObject] {
    let clients = try await ClientRecord.table.list(of: context.app.id, context)
    let own = ClientSettings.Connection.builtIn.map { connection in
      ConnectionObject(
        id: "con_\(connection.name)",
        name: connection.auth0Name,
        strategy: connection == .password ? "auth0" : "email",
        clients: clients.filter { $0.kind != .machine && $0.settings.allows(connection) }
          .map(\.id)
      )
    }
    // Their tokens sign users in without a client of OpenID Connect.
    let issuers = try await IssuerRecord.table.list(of: context.app.id, context).map {
      ConnectionObject(id: "con_issuer_\($0.name)", name: $0.name, strategy: "oidc", clients: [])
    }
    let connections = context.app.connections
    let services = connections.all.map { connection in
      var object = ConnectionObject(
        id: "con_service_\(connection.key)", name: connections.auth0Name(of: connection),
        strategy: connection.strategy,
        clients: clients.filter {
          $0.kind != .machine && $0.settings.allows(.named(connection.key))
        }.map(\.id))
      object.title = connection.label
      object.options["client_id"] = .string(connection.clientID)
      return object
    }
    return own + services + issuers
  }
}

/// A way to sign in, as the API shows a connection.
private struct ConnectionObject {
  let id: String
  let name: String
  let strategy: String
  let clients: [ClientID]
  /// The name that people see; nil without one.
  var title: String?
  var options = JSONObject()

  var json: JSONObject {
    let shown: [(String, JSON)] = title.map { [("display_name", .string($0))] } ?? []
    return JSONObject(
      shown + [
        ("id", .string(id)), ("name", .string(name)), ("strategy", .string(strategy)),
        ("realms", .array([.string(name)])), ("options", .object(options)),
        ("is_domain_connection", false),
        ("enabled_clients", .array(clients.map { .string($0.text) })),
      ])
  }
}
