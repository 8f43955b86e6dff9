import Declarations
import Representations
import EventLoop
import HTTP
import JSON
import Runtime
import Tenancy
import WireKit

/// `/v1/clients/{client}/grants`, for the operator: what clients get by their own secret.
@EventLoop enum ClientGrantResource {
  /// The scopes of a client, a role or a user at an API.
  nonisolated static let scopesAtAPI = Fields("ScopesAtAPI", "Scopes of an API.", .texts("scopes"))
    .like(["scopes": ["read:orders"]])

  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/clients/{client}/grants", access: .operator, gives: [.ok(.list(of: .clientGrant))],
      summary: "List the APIs for which a client gets tokens by its secret, without a user"
    ) { (call) async throws(Failure) in
      let client = try await client(in: call)
      return Response(.ok, list: try await ClientGrants.list(of: client, call.context), \.json)
    },
    Operation(
      .put,
      "/v1/clients/{client}/grants/{resource_server}",
      access: .operator,
      takes: .body(.json(limit: 65_536), scopesAtAPI),
      gives: [.ok(.clientGrant), .created(.clientGrant, "The client had no grant at the API.")],
      refuses: [.publicClient],
      summary: "Set the scopes that a client gets at an API by its secret"
    ) { (call, scopes) async throws(Failure) in
      let (grant, isNew) = try await ClientGrants.set(
        scopes, of: client(in: call), at: call.captured("resource_server"), call.context
      )
      return Response(isNew ? .created : .ok, json: grant.json.serialized())
    }.needing(stepUp: true),
    Operation(
      .delete, "/v1/clients/{client}/grants/{resource_server}", access: .operator,
      gives: [.noContent], summary: "Remove the scopes of a client at an API"
    ) { (call) async throws(Failure) in
      try await ClientGrants.remove(
        of: client(in: call), at: call.captured("resource_server"), call.context
      )
      return Response(.noContent)
    },
  ]

  /// Returns the client in the path.
  ///
  /// - Throws: `.notFound` also for a client of an app that an administrator does not see.
  private static func client(in call: Call) async throws(Failure) -> ClientID {
    let client: ClientID = try call.captured("client")
    if let app = try call.onlyApp {
      _ = try await ClientRecord.table.find(client.text, of: app.id, call.context)
    }
    return client
  }
}
