package import JSON
package import Postgres

/// Columns as values of the domain.
extension Row {
  package func id<ID: Identifier>(_ column: Int) throws(DatabaseError) -> ID {
    ID(trusted: try text(column))
  }

  package func id<ID: Identifier>(ifAny column: Int) -> ID? {
    text(ifAny: column).map(ID.init(trusted:))
  }

  /// Reads a column of type `json` or `jsonb`, which earlier limits may have allowed.
  package func json(_ column: Int) throws(DatabaseError) -> JSON {
    guard let json = try? JSON.parse(try bytes(column), limits: .stored) else {
      throw DatabaseError(.unexpectedColumn, "column \(column) is not JSON")
    }
    return json
  }
}

extension ID: RowDecodable {
  package init(from row: Row) throws(DatabaseError) { self = try row.id(0) }
}

extension JSONLimits {
  /// The limits for text from PostgreSQL: documents stored under earlier limits stay readable.
  package static let stored = JSONLimits(depth: 512, numberLength: .max)
}
