/// Splits the bytes of an input into lines, in constant memory.
package struct LineSplitter {
  package enum Line: Sendable {
    case text([UInt8])
    /// A line over the maximum length, which is skipped.
    case tooLong
  }

  /// The maximum length of a line: more than all documents of a user, even with every character
  /// escaped.
  package static let longest = 8_388_608

  package private(set) var position: InputPosition
  private var buffer: [UInt8] = []
  private var start = 0
  /// How many bytes after `start` have no line end.
  private var searched = 0
  private var isTooLong = false

  package init(at position: InputPosition = InputPosition()) { self.position = position }

  /// Adds the next bytes of the input.
  package mutating func add(_ bytes: [UInt8]) {
    buffer.removeFirst(start)
    start = 0
    buffer += bytes
  }

  /// Returns the next line without its line end.
  ///
  /// - Parameter isOver: whether the input has no further bytes.
  /// - Returns: the line; nil if it needs further bytes, and at the end of the input.
  package mutating func next(isOver: Bool) -> Line? {
    if let end = buffer[(start + searched)...].firstIndex(of: UInt8(ascii: "\n")) {
      let line = text(of: buffer[start..<end])
      position.pass(buffer[start...end])
      (start, searched) = (end + 1, 0)
      defer { isTooLong = false }
      return isTooLong || line.count > Self.longest ? .tooLong : .text(line)
    }
    searched = buffer.count - start
    if searched > Self.longest {
      isTooLong = true
      position.pass(buffer[start...], isEnd: false)
      (start, searched) = (buffer.count, 0)
    }
    guard isOver, searched > 0 || isTooLong else { return nil }
    let line = text(of: buffer[start...])
    position.pass(line)
    (buffer, start, searched) = ([], 0, 0)
    defer { isTooLong = false }
    return isTooLong ? .tooLong : .text(line)
  }

  /// Returns a line as text, of the first line without its mark of UTF-8.
  private func text(of line: ArraySlice<UInt8>) -> [UInt8] {
    Array(position.bytes == 0 ? line.withoutByteOrderMark : line)
  }
}

extension ArraySlice<UInt8> {
  /// The bytes without the mark that editors of Windows put before UTF-8.
  ///
  /// - Source: RFC 8259 section 8.1, which lets a reader ignore it.
  package var withoutByteOrderMark: ArraySlice<UInt8> {
    starts(with: [0xef, 0xbb, 0xbf]) ? dropFirst(3) : self
  }
}
