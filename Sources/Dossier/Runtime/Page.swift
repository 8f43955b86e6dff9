package import Postgres

/// What comes in pages: each has a place from which a list goes on.
package protocol Listed: RowDecodable {
  associatedtype Cursor: LosslessStringConvertible & Sendable
  var cursor: Cursor { get }
}

/// A page of a list, and where the next one goes on.
package struct Page<Item: Listed>: Sendable {
  package let items: [Item]
  /// Nil when this is the last.
  package let next: Item.Cursor?

  /// - Parameters:
  ///   - items: what there was.
  ///   - count: that was asked for at most.
  init(_ items: [Item], of count: Int) {
    self.items = items
    next = items.count == count ? items.last?.cursor : nil
  }
}

/// One of the rows of what was found, or that there was nothing where it was looked for.
///
/// A statement that looks by a right has no row when that is gone, as with a session that is not live,
/// and else one at least, of nulls when there is nothing: `left join … on true`. The first column of an
/// item is never null.
package struct Found<Item: RowDecodable>: RowDecodable {
  package let item: Item?

  package init(from row: Row) throws(DatabaseError) {
    item = row.isNull(0) ? nil : try Item(from: row)
  }

  /// Nil when the caller's right is gone.
  fileprivate static func items(_ rows: [Found]) -> [Item]? {
    rows.isEmpty ? nil : rows.compactMap(\.item)
  }
}

extension RequestContext {
  /// Writes, and tells what was written; nil when the caller's right is gone.
  func written<Item, each Value>(
    _ statement: Statement<Found<Item>, repeat each Value>,
    _ values: repeat each Value
  ) async throws(Failure) -> [Item]? {
    Found.items(try await write(statement, repeat each values))
  }

  /// Reads a list; nil when it is of something that is not there, or not the caller's.
  func list<Item, each Value>(
    _ statement: Statement<Found<Item>, repeat each Value>,
    _ values: repeat each Value
  ) async throws(Failure) -> [Item]? {
    Found.items(try await read(statement, repeat each values))
  }
}
