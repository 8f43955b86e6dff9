package import Postgres

/// A page of a list, and where the next one goes on.
package struct Page<ID: Identifier>: RowDecodable {
  /// A JSON array.
  package let items: [UInt8]
  /// Nil when this is the last.
  package let next: ID?

  package init(from row: Row) throws(DatabaseError) {
    items = try row.bytes(0)
    next = row.text(ifAny: 1).map(ID.init(trusted:))
  }
}
