import EventLoop
import Postgres
import Runtime
import Encoding

/// A row that a sweep reads.
protocol SweptRow: RowDecodable {
  /// The id, by which the pages are sorted.
  var id: String { get }
}

/// A scan of all rows of a table in the order of their ids, of which each run does a part.
///
/// A run continues after the last row of the run before it, and after the newest row with the
/// oldest. The first run of a process begins at a random time, so that restarts leave no row out.
@EventLoop final class Sweep<Row: SweptRow> {
  /// Returns the rows after an id.
  private let page: Statement<Row, String>
  /// The most pages of a run.
  private let pages: Int
  /// The id after which the next page begins; nil before the first run.
  private var next: String?

  init(_ page: Statement<Row, String>, pages: Int) {
    self.page = page
    self.pages = pages
  }

  /// Calls `body` with pages of rows, until all rows were read or the run has done its part.
  func run(
    _ database: Database, _ body: @EventLoop ([Row]) async throws(DatabaseError) -> Void
  ) async throws(DatabaseError) {
    let start = if let next { next } else { try await randomPlace(database) }
    var place = start
    var hasWrapped = false
    for _ in 0..<pages {
      let rows = try await database.write(page, place)
      place = rows.last?.id ?? ""
      next = place
      if rows.isEmpty {
        guard !hasWrapped, !start.isEmpty else { return }
        hasWrapped = true
      } else {
        try await body(rows)
        if hasWrapped, place >= start { return }
      }
    }
  }

  /// Returns the first digits of an id, of a random second between the oldest row and now.
  private func randomPlace(_ database: Database) async throws(DatabaseError) -> String {
    let ids = [try await database.write(page, "").first?.id ?? "", UserID().text]
    let times = ids.map { UInt32($0.prefix(8), radix: 16) ?? 0 }
    let time = UInt32.random(in: times[0]...max(times[0], times[1]))
    return String(time, digits: 8, radix: 16)
  }
}
