package import Postgres

/// A page of a list, and where the next one goes on.
package struct Page<Cursor: LosslessStringConvertible & Sendable>: RowDecodable {
  /// A JSON array.
  package let items: [UInt8]
  /// Nil when this is the last.
  package let next: Cursor?

  package init(from row: Row) throws(DatabaseError) {
    items = try row.bytes(0)
    next = row.text(ifAny: 1).flatMap { Cursor($0) }
  }
}
