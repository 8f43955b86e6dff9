import Documents
import HTTP
import JSON
@testable import ManagementWire
import Sessions

extension FuzzTarget {
  /// Lines: a search, a query of a list, an id, and the body of a change.
  static let searches = FuzzTarget(
    "searches",
    words: [
      "email:", "user_id:", "\"auth0|", "user_metadata.a.b:", "app_metadata.", "_exists_:",
      " AND ", " OR ", " NOT ", "-", "(", ")", "[", "{", " TO ", "]", "}", "*", "\\", "\"",
      "created_at:", "2026-01-01", "blocked:true", "name:ada*", "\n", "&fields=", "&sort=email:-1",
      "&per_page=", "9223372036854775808", "&include_totals=true", "{\"user_metadata\":", "null",
      "\"app_metadata\":{\"email\":1}", "%00", "?",
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
    }
    if lines.count > 2 {
      let id = text(lines[2])
      expect(!ForeignIDs.isForeign(id) || id.utf8.count <= ForeignIDs.longest, "a long id")
    }
    guard lines.count > 3, let body = try? JSON.parse(Array(lines[3])), let body = body.object
    else { return }
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
  }
}
