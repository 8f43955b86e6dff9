import EventLoop
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

extension Page where Cursor: Bindable {
  /// A page of what the caller has, before `cursor`; nil for the first page.
  ///
  /// - Throws: `.unauthenticated`, `.unavailable`.
  @EventLoop static func read(
    _ statement: Statement<Page, UserID, Authority, Cursor?, Int>,
    of caller: Caller,
    _ cursor: Cursor?,
    _ count: Int,
    _ context: Context
  ) async throws(Failure) -> Page {
    let rows = try await context.store.read(
      statement,
      caller.user,
      caller.authority,
      cursor,
      count
    )
    guard let page = rows.first else { throw caller.gone }
    return page
  }
}
