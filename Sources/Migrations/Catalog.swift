package import EventLoop
import Postgres

/// The definitions of a schema, as the server's catalogs describe them.
///
/// The server prints expressions, views and functions from their stored form. Releases print them
/// differently. So two catalogs are compared only if the same server printed both.
package struct Catalog: Equatable, Sendable {
  /// A definition for each object, column, constraint, index and privilege.
  package let facts: [String: String]

  package init(facts: [String: String]) { self.facts = facts }

  /// Reads the catalog of the first schema in the search path.
  ///
  /// The ledger and objects of extensions are left out.
  /// - Parameters:
  ///   - session: a session with only this schema in its search path.
  ///   - role: the server's role. Its privileges are read, and those of the owner and `public`.
  /// - Throws: `.statementFailed` if the server rejects a statement, `.connectionLost`.
  @EventLoop package init(
    _ session: MigratorSession, role: String? = nil
  ) async throws(MigrationError) {
    let rows = try await session.query(Catalog.query, [role]).rows
    facts = Dictionary(
      rows.map { ($0[0] ?? "", $0[1] ?? "") }, uniquingKeysWith: { "\($0)\n\($1)" }
    )
  }

  /// Returns the lines in which `live` differs, or nil if it does not.
  ///
  /// - Parameters:
  ///   - live: the catalog to compare.
  ///   - restored: this catalog after a restore from a dump; a match with either is accepted.
  ///   - limit: the maximum number of lines; one more line counts the rest.
  /// - Returns: lines that begin with `-` for missing parts, and with `+` for unexpected parts.
  package func difference(_ live: Catalog, restored: Catalog? = nil, limit: Int = 60) -> String? {
    var lines: [String] = []
    for name in Set(facts.keys).union(live.facts.keys).sorted() {
      let (expected, found) = (facts[name], live.facts[name])
      guard expected != found, found == nil || restored?.facts[name] != found else { continue }
      if let expected, let found, (expected + found).contains("\n") {
        lines.append("  \(name):")
        lines += Catalog.changedLines(expected, found)
      } else {
        if let expected { lines.append("- \(name): \(expected)") }
        if let found { lines.append("+ \(name): \(found)") }
      }
    }
    guard !lines.isEmpty else { return nil }
    let rest = lines.count > limit ? ["and \(lines.count - limit) more lines"] : []
    return (lines.prefix(limit) + rest).joined(separator: "\n")
  }

  private static func changedLines(_ old: String, _ new: String) -> [String] {
    new.lines.difference(from: old.lines).map { change in
      switch change {
      case .remove(let offset, let line, _): (offset: offset, text: "  - \(line)")
      case .insert(let offset, let line, _): (offset: offset, text: "  + \(line)")
      }
    }.sorted { $0.offset < $1.offset }.map(\.text)
  }
}
