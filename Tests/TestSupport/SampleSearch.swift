package import Documents
import Postgres
import Runtime

/// Searches of an app with an index for each kind of value: `metadata.text`, `metadata.number` and
/// `metadata.boolean`.
package enum SampleSearch {
  package static let kinds = ["text", "number", "boolean"]

  /// Returns the statements of the second page of a search: the count of its candidates, and the
  /// page by their ids and as a walk.
  ///
  /// - Throws: `.notIndexed` if no index covers the filter.
  package static func sql(_ filter: String) throws -> [String] {
    let search = try search(filter)
    guard search.isCovered else { throw search.notIndexed }
    let byName = try self.search(filter, by: .nameDescending, position: "\(UserID()).QQ")
    return [
      search.count(upTo: 1).sql, search.page(of: 1, candidates: 1).sql,
      search.page(of: 1, candidates: nil).sql, byName.page(of: 1, candidates: 1).sql,
      byName.page(of: 1, candidates: nil).sql, search.total(upTo: 1, candidates: 1).sql,
    ]
  }

  private static func search(
    _ filter: String, by sort: UserSort? = nil, position: String = UserID().text
  ) throws -> FilterComposer {
    FilterComposer(
      try Filter.parse(filter), of: AppID(), by: sort, after: UserPosition(position),
      indexes: try indexes())
  }

  package static func indexes() throws -> [SearchIndex] {
    try kinds.compactMap { name in
      try FilterValue.Kind(rawValue: name).map {
        try SearchIndex(path: "metadata.\(name)", kind: $0)
      }
    }
  }
}
