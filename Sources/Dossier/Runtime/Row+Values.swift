import JSON
import Postgres

/// Columns as values of the domain.
extension Row {
  func id<Of>(_ column: Int) throws(DatabaseError) -> ID<Of> { ID(trusted: try text(column)) }

  func id<Of>(ifAny column: Int) -> ID<Of>? { text(ifAny: column).map(ID.init(trusted:)) }

  /// Reads a column of type `json` or `jsonb`, which earlier limits may have allowed.
  func json(_ column: Int) throws(DatabaseError) -> JSON {
    guard let json = try? JSON.parse(try bytes(column), limits: .stored) else {
      throw DatabaseError(.unexpectedColumn, "column \(column) is not JSON")
    }
    return json
  }
}
