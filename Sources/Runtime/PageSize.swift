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
