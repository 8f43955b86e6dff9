import Administration
import IdentitySubjects
import Permissions
import Runtime
import Delivery
import Documents
import HTTP
import JSON
@testable import ManagementWire
import Sessions
import Tenancy

extension FuzzTarget {
  /// Lines: a search, a query of a list, an id, and the body of a change.
  static let searches = FuzzTarget(
    "searches",
    words: [
      "email:", "email.domain:", "(a AND NOT b)", "user_id:", "\"auth0|", "user_metadata.a.b:",
      "app_metadata.", "_exists_:",
      " AND ", " OR ", " NOT ", "-", "(", ")", "[", "{", " TO ", "]", "}", "*", "\\", "\"",
      "created_at:", "2026-01-01", "2026-12", "9999", "&&", "||", "!", "blocked:true", "name:ada*",
      "\n", "&fields=", "&sort=email:-1",
      "&per_page=", "9223372036854775808", "&include_totals=true", "{\"user_metadata\":", "null",
      "\"app_metadata\":{\"email\":1}", "%00", "?", "rol_", "{\"roles\":[\"", "{\"permissions\":[{",
      "\"resource_server_identifier\":", "\"permission_name\":",
      "\"link_with\":", "\"user_id\":\"a\"", "\"ttl_sec\":1e9", "\"picture\":\"https://a/\"",
      "&from=", "&take=",
    ],
    bound: MemoryBound(factor: 120, base: 262_144)
  ) { input in
    let lines = lines(input)
    if case .filter(let filter)? = try? LuceneQuery(text(lines[0])) {
      expect(filter.terms.count <= FilterLimits.terms, "a search has many terms")
    }
    if lines.count > 1, let query = FormValues(text(lines[1])[...]) {
      _ = try? FieldSelection(query)
      _ = try? ListParameters(query)
      if let page = try? PageParameters(query) {
        expect(page.start + page.size <= PageParameters.records, "a page is too far")
      }
      _ = try? CheckpointParameters<Kinds.Session>(query)
    }
    if lines.count > 2 {
      let id = text(lines[2])
      expect(SessionName(id).map { $0.text == id.lowercased() } ?? true, "another session")
      expect(!ForeignIDs.isForeign(id) || id.utf8.count <= ForeignIDs.longest, "a long id")
      _ = try? RoleName.id(id)
    }
    guard lines.count > 3, let body = try? JSON.parse(Array(lines[3])) else { return }
    if let roles = try? body.texts("roles", atMost: RoleLimits.rolesOfUser) {
      expect((1...RoleLimits.rolesOfUser).contains(roles.count), "a list of roles is too long")
    }
    if let permissions = try? PermissionReference.list(body) {
      expect((1...RoleLimits.permissions).contains(permissions.count), "permissions are too many")
    }
    guard let body = body.object else { return }
    if let change = try? UserChange(body) {
      expect(
        change.revision.documents.allSatisfy {
          AppMetadata.reservedKey(in: .object($0.members)) == nil
            || $0.kind == .metadata
        },
        "a reserved key is written"
      )
    }
    _ = try? UserDescription(body)
    _ = try? LinkRequest(body)
    if let request = try? TicketRequest(body, for: .reset) {
      expect((request.client?.utf8.count ?? 0) <= lines[3].count, "a client was made up")
    }
  }
}
