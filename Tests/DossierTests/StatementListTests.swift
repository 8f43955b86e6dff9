import Declarations
import Postgres
import TestSupport
import Testing

/// Tests that `allStatements` is complete, since no test prepares a missing statement.
///
/// `Tests/statements` writes the list.
@Suite struct StatementListTests {
  @Test func `every declared statement is listed`() throws {
    let (declared, unreadable) = try Self.declarations()
    #expect(unreadable == [])
    let listed = Set(allStatements.map { "\($0.name)" })
    #expect(declared.subtracting(listed).sorted() == [], "run Tests/statements")
    #expect(listed.subtracting(declared).sorted() == [], "run Tests/statements")
  }

  /// Returns the names of the statements in the sources, and the places that this test cannot read.
  private static func declarations() throws -> (names: Set<String>, unreadable: [String]) {
    var names: Set<String> = []
    var unreadable: [String] = []
    for module in try SourceFiles.modules()
    where !["Postgres", "Distribution", "Migrations", "dossier-migrate"].contains(module) {
      for (path, text) in try SourceFiles.all(of: module) {
        // Each value of these types names its statements by arguments, which its initializer uses.
        let isOfTables = ["struct ExpiredRows {", "struct SealedRows {", "struct RecordTable<"]
          .contains { text.contains($0) }
        if isOfTables || text.contains("RecordTable<") {
          for match in text.matches(
            of: /\b(page|deletion|change|removal|list|show|lock|insert|delete): "([\w.]+)"/)
          {
            names.insert(String(match.2))
          }
        }
        for match in text.matches(of: /\bStatement(<[^()]*?>)?\s*\(\s*("([\w.]+)")?/) {
          if let name = match.3 {
            names.insert(String(name))
          } else {
            let rest = text[match.range.upperBound...]
            let isArgument =
              rest.prefixMatch(of: /(page|deletion|change|removal|names\.\w+),/) != nil
            if !isOfTables || !isArgument { unreadable.append("\(path): \(match.0)") }
          }
        }
        // The type is named, and the initializer is not.
        for match in text.matches(of: /:\s*Statement<[^()]*?>\s*=\s*(\S+)/)
        where !match.1.hasPrefix("Statement") {
          unreadable.append("\(path): \(match.0)")
        }
      }
    }
    return (names, unreadable)
  }
}
