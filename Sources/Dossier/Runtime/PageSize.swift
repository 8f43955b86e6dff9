/// How many rows the next page of a long look through a table has, so that memory stays the same
/// whatever users keep.
struct PageSize {
  private(set) var count: Int
  private let largest: Int

  /// How much text a page should have.
  private static let bytes = 2_097_152

  /// - Parameters:
  ///   - count: of the first page.
  ///   - largest: that a page has at most.
  init(_ count: Int, upTo largest: Int) {
    self.count = count
    self.largest = largest
  }

  /// Goes by what the rows of a page had; at most twice as many follow.
  mutating func fit(_ bytes: Int, in rows: Int) {
    let average = max(1, bytes / rows)
    count = min(max(1, Self.bytes / average), count * 2, largest)
  }
}
