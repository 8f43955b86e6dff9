import Declarations
import Representations
import EventLoop
import HTTP
import JSON
import Runtime
import Tenancy
import WireKit

/// `/v1/resource-servers`, for the operator: the APIs that access tokens are for.
@EventLoop enum ResourceServerResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/resource-servers", access: .operator, takes: .query(.app),
      gives: [.ok(.resourceServers)], summary: "List the APIs of all apps, or of one"
    ) { (call) async throws(Failure) in
      let app = try await AuditResource.app(in: call)?.name
      return Response(.ok, list: try await ResourceServers.list(of: app, call.context), \.json)
    },
    Operation(
      .post,
      "/v1/resource-servers",
      access: .operator,
      takes: .body(.json(limit: bodyLimit), described),
      gives: [.created(.resourceServer, "The API.", fields: [.location])],
      refuses: [.resourceServerExists],
      summary: "Create an API that access tokens are for",
      create
    ),
    Operation(
      .get, "/v1/resource-servers/{resource_server}", access: .operator, versions: .read,
      gives: [.ok(.resourceServer)], summary: "Read an API with its scopes"
    ) { (call) async throws(Failure) in
      let id: ResourceServerID = try call.captured("resource_server")
      return response(.ok, try await ResourceServers.record(of: id, call.context))
    },
    Operation(
      .patch,
      "/v1/resource-servers/{resource_server}",
      access: .operator,
      takes: .body(.mergePatch(limit: bodyLimit), changed),
      versions: .write,
      gives: [.ok(.resourceServer)],
      summary: "Change an API; null removes a scope or a claim",
      patch
    ),
    Operation(
      .delete, "/v1/resource-servers/{resource_server}", access: .operator, gives: [.noContent],
      summary: "Delete an API with the grants of clients; its tokens stay valid until they expire"
    ) { (call) async throws(Failure) in
      try await ResourceServers.delete(call.captured("resource_server"), call.context)
      return Response(.noContent)
    },
  ]

  /// In bytes: room for two hundred scopes with long descriptions, and for the claims.
  private nonisolated static let bodyLimit = 262_144

  private nonisolated static let described = Fields(
    "ResourceServerDescription", "An API to create.", .text("app", .slug),
    .text("identifier", .identifierOfAPI), .text("name", .nameOfAPI), details(scopes: .scopesOfAPI)
  ).like([
    "app": "adventure", "identifier": "https://api.example.com", "name": "Orders",
    "scopes": ["read:orders": "See your orders"],
  ])

  private nonisolated static let changed = Fields(
    "ResourceServerPatch", "Changes of an API. Scopes and claims are merge patches.",
    .optional(.text("name", .nameOfAPI)), details(scopes: patchOfScopes)
  ).like(["scopes": ["write:orders": "Change your orders"], "token_seconds": 3_600])

  private nonisolated static let patchOfScopes = Shape.map(of: .text.orNull)
    .like(["write:orders": "Change your orders"])

  /// Returns the members that a description and a patch share.
  private nonisolated static func details(scopes: Shape) -> Field<ResourceServerChange> {
    .group(
      .optional(.object("scopes", scopes)),
      .optional(.seconds("token_seconds")),
      .optional(.flag("allows_offline_access")),
      .optional(.flag("skips_consent")),
      .optional(.flag("enforce_policies")),
      .optional(.choice("token_dialect", .tokenDialect, "dialect", else: TokenDialect.standard)),
      .optional(.object("claims", .claimMap))
    ) { scopes, seconds, allowsOfflineAccess, skipsConsent, enforcesPolicies, dialect, claims in
      var change = ResourceServerChange()
      (change.tokenSeconds, change.tokenDialect) = (seconds, dialect)
      (change.allowsOfflineAccess, change.skipsConsent) = (allowsOfflineAccess, skipsConsent)
      change.enforcesPolicies = enforcesPolicies
      if let scopes { change.scopes = scopes }
      if let claims { change.claims = claims }
      return change
    }
  }

  private static func create(
    _ call: Call, _ app: String, _ identifier: String, _ name: String,
    _ details: ResourceServerChange
  ) async throws(Failure) -> Response {
    try call.context.checkIdentifier(identifier, of: await Apps.record(of: app, call.context).app)
    let server = try await ResourceServers.create(
      ResourceServerDescription(app: app, identifier: identifier, name: name, details), call.context
    )
    var response = response(.created, server)
    response.add(.location, "/v1/resource-servers/\(server.id)")
    return response
  }

  private static func patch(
    _ call: Call, _ name: String?, _ details: ResourceServerChange
  ) async throws(Failure) -> Response {
    var change = details
    change.name = name
    let server = try await ResourceServers.change(
      call.captured("resource_server"), change, if: call.condition, call.context
    )
    return response(.ok, server)
  }

  private static func response(_ status: Status, _ server: ResourceServerRecord) -> Response {
    Response(status, json: server.json.serialized(), tag: EntityTag(server.version))
  }
}

extension Field<Int> {
  /// Returns a member with the lifetime of tokens.
  fileprivate static func seconds(_ name: String) -> Field {
    Field(name, .tokenSeconds) { members, name in
      if let seconds = members.json(name).number?.int { return seconds }
      members.refuse(.wrongType("/\(name)", "a whole number"))
      return 0
    }
  }
}
