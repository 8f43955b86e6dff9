package import Postgres

/// An item of a paginated list, with its cursor.
package protocol Listed: RowDecodable {
  associatedtype Cursor: LosslessStringConvertible & Sendable
  var cursor: Cursor { get }
}

package enum PageLimit {
  /// The most items on a page of any list.
  package static let most = 100
}

/// A page of a list, and the cursor of the next page.
package struct Page<Item: Listed>: Sendable {
  package let items: [Item]
  /// Nil for the last page.
  package let next: Item.Cursor?

  /// - Parameters:
  ///   - items: the items found.
  ///   - count: the requested size of the page.
  package init(_ items: [Item], of count: Int) {
    self.items = items
    next = items.count == count ? items.last?.cursor : nil
  }

  package init(_ items: [Item], next: Item.Cursor?) { (self.items, self.next) = (items, next) }
}

/// A row of a statement that checks access: an item, or nil if nothing was found.
///
/// Such a statement returns no row if access is denied, for example if the session has ended.
/// Otherwise it returns at least one row, of nulls if nothing was found: `left join … on true`. The
/// first column of an item is never null.
package struct Found<Item: RowDecodable>: RowDecodable {
  package let item: Item?

  package init(from row: Row) throws(DatabaseError) {
    item = row.isNull(0) ? nil : try Item(from: row)
  }

  /// Returns the items; nil if access is denied.
  package static func items(_ rows: [Found]) -> [Item]? {
    rows.isEmpty ? nil : rows.compactMap(\.item)
  }
}

extension RequestContext {
  /// Writes, and returns what was written; nil if access is denied.
  package func written<Item, each Value>(
    _ statement: Statement<Found<Item>, repeat each Value>, _ values: repeat each Value
  ) async throws(Failure) -> [Item]? {
    Found.items(try await write(statement, repeat each values))
  }

  /// Reads a list; returns nil if its owner does not exist or access is denied.
  package func list<Item, each Value>(
    _ statement: Statement<Found<Item>, repeat each Value>, _ values: repeat each Value
  ) async throws(Failure) -> [Item]? {
    Found.items(try await read(statement, repeat each values))
  }
}

/// The page size of a long table scan, adapted to the size of its rows to bound memory.
package struct PageSize {
  package private(set) var count: Int
  private let largest: Int

  /// The target size of a page, in bytes of text.
  private static let bytes = 2_097_152

  /// - Parameters:
  ///   - count: the size of the first page.
  ///   - largest: the greatest size of a page.
  package init(_ count: Int, upTo largest: Int) {
    self.count = count
    self.largest = largest
  }

  /// Adapts the size to the rows of the last page; at most doubles it.
  package mutating func fit(_ bytes: Int, in rows: Int) {
    let average = max(1, bytes / rows)
    count = min(max(1, Self.bytes / average), count * 2, largest)
  }
}
