import Encoding

/// Cursors that clients keep as opaque texts.
///
/// A cursor has numbers. Its text has a checksum with a key of ours over the purpose and the numbers.
/// So a damaged cursor is refused, and one of another app or user.
package enum MarkedCursor {
  private static let markLength = 12

  /// Returns the text of a cursor.
  ///
  /// - Parameters:
  ///   - numbers: what the cursor has.
  ///   - purpose: what it is for, and whose it is.
  ///   - master: the master key.
  /// - Returns: the text, in the alphabet of URLs.
  package static func text(
    of numbers: [Int], for purpose: String, _ master: MasterKey
  ) -> String {
    let bytes = bytes(of: numbers)
    let mark = master.mark(of: tagged(bytes, purpose), by: 0)
    return (bytes + mark.prefix(markLength)).base64URL
  }

  /// Returns 8 bytes for each number, the most significant byte first.
  package static func bytes(of numbers: [Int]) -> [UInt8] {
    numbers.flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
  }

  /// Returns the numbers of a text; nil unless `text` has returned it for the purpose.
  package static func numbers(
    of text: String, for purpose: String, count: Int, _ master: MasterKey
  ) -> [Int]? {
    let bytes = bytes(of: text, count: 8 * count) { bytes, mark in
      master.number(marking: tagged(bytes, purpose)) {
        $0.prefix(markLength).elementsEqual(mark)
      } != nil
    }
    return bytes.map { bytes in
      (0..<count).map { place in
        let word = bytes[8 * place..<8 * place + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(truncatingIfNeeded: word)
      }
    }
  }

  /// Returns the bytes of a text whose mark a check accepts; nil for any other text.
  static func bytes(
    of text: String, count: Int, isMarked: ([UInt8], ArraySlice<UInt8>) -> Bool
  ) -> [UInt8]? {
    guard text.utf8.count <= 2 * (count + markLength), let all = [UInt8](base64URL: text),
      all.count == count + markLength
    else { return nil }
    let bytes = Array(all.prefix(count))
    return isMarked(bytes, all.suffix(markLength)) ? bytes : nil
  }

  private static func tagged(_ bytes: [UInt8], _ purpose: String) -> [UInt8] {
    Array("cursor \(purpose) ".utf8) + bytes
  }
}

extension Failure {
  package static let cursorInvalid = Failure("cursor_invalid", .malformed)
    .titled("The cursor is not one that this route has returned to the caller.")
    .remedied("Send the cursor of the last response unchanged, or begin without one.")
}
