package import EventLoop
import Postgres

/// The definitions of a schema, as the server's catalogs describe them.
///
/// The server prints expressions, views and functions from the form in which it stores them, and one
/// release prints them differently than the next. So two catalogs are only compared if one server has
/// printed both.
package struct Catalog: Equatable, Sendable {
  /// A definition for each object, column, constraint, index and privilege.
  package let facts: [String: String]

  package init(facts: [String: String]) { self.facts = facts }

  /// Reads the catalog of the schema that comes first in the search path.
  ///
  /// It leaves out the ledger, and objects of extensions.
  /// - Parameters:
  ///   - session: a session whose search path has this one schema.
  ///   - role: the server's role. Its privileges are read, and those of the owner and `public`.
  /// - Throws: `.statementFailed`, `.connectionLost`.
  @EventLoop package init(
    _ session: MigratorSession,
    role: String? = nil
  ) async throws(MigrationError) {
    let rows = try await session.query(Catalog.query, [role]).rows
    facts = Dictionary(
      rows.map { ($0[0] ?? "", $0[1] ?? "") },
      uniquingKeysWith: { "\($0)\n\($1)" }
    )
  }

  /// Returns the lines in which `live` differs, or nil if it does not.
  ///
  /// - Parameters:
  ///   - live: the catalog to look at.
  ///   - restored: what this catalog becomes when it is restored from a dump; either is right.
  ///   - limit: the number of lines to return; a last one says how many more there are.
  /// - Returns: lines that begin with `-` for what is missing, and `+` for what should not be there.
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
