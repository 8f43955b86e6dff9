import JSON
@testable import ManagementWire
import Records
import Runtime
import Tenancy
@testable import Transfer

extension FuzzTarget {
  /// An export of a tenant of Auth0, with the bodies in it.
  static let tenants = FuzzTarget(
    "tenants",
    isJSON: true,
    words: [
      "clients", "resourceServers", "resource_servers", "clientGrants", "client_grants", "roles",
      "connections", "databases", "rules", "name", "client_id", "client_secret", "global",
      "app_type",
      "spa", "native", "regular_web", "non_interactive", "grant_types", "implicit", "callbacks",
      "token_endpoint_auth_method", "none", "jwt_configuration", "alg", "RS256", "oidc_logout",
      "backchannel_logout_urls", "identifier", "is_system", "scopes", "value", "description",
      "token_lifetime", "token_lifetime_for_web", "audience", "scope", "subject_type",
      "permissions",
      "permission_name", "resource_server_identifier", "strategy", "auth0", "options",
      "##CLIENT_SECRET##", "@@CALLBACKS@@", "##", "@@", "https://a.auth0.com/api/v2/",
    ],
    bound: MemoryBound(factor: 200, base: 1_048_576)
  ) { input in
    for kind in [nil] + TenantExport.Kind.allCases.map(Optional.some) {
      var export = TenantExport()
      refuses { () throws(Failure) in try export.add(input, file: "export.json", kind: kind) }
      for item in export.items {
        expect(JSONPointer(item.place) != nil, "a place is no pointer")
        expect(kind == nil || item.kind == kind, "an object has another kind than its folder")
        refuses { () throws(Failure) in
          switch item.kind {
          case .client:
            let client = try ClientBody(item.object).description()
            expect(client.secret == nil || !client.kind.isPublic, "a public client has a secret")
            _ = try ClientRecord.table.checked(RecordPatch(client.members))
            expect(client.id.map { ClientID($0) != nil } ?? true, "an invalid id is accepted")
          case .resourceServer:
            let members = try ResourceServerBody(item.object).description()
            _ = try ResourceServerRecord.table.checked(RecordPatch(members))
          case .clientGrant: _ = try ClientGrantBody(item.object)
          case .role: _ = try RoleBody(.object(item.object))
          case .connection: break
          }
        }
      }
    }
  }
}
