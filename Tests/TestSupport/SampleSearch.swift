import Documents
import Postgres
import Runtime

/// Searches of an app with an index for each kind of value: `metadata.text`, `metadata.number` and
/// `metadata.boolean`.
package enum SampleSearch {
  package static let kinds = ["text", "number", "boolean"]

  /// Returns the SQL of the second page of a search.
  package static func sql(_ filter: String) throws -> String {
    let indexes = try kinds.compactMap { name in
      try FilterValue.Kind(rawValue: name).map {
        try SearchIndex(path: "metadata.\(name)", kind: $0)
      }
    }
    return try FilterComposer.page(
      Filter.parse(filter),
      of: AppID(),
      after: UserID(),
      count: 1,
      indexes: indexes
    ).sql
  }
}
