import Encoding
package import EventLoop

/// Cursors that clients keep as opaque texts.
///
/// The text has a checksum with a key of ours over the purpose and the bytes. So a damaged cursor is
/// refused, and one of another app or user, and the bytes are only what we have written.
@EventLoop package enum MarkedCursor {
  private nonisolated static let markLength = 12

  /// Returns the text of bytes.
  ///
  /// - Parameters:
  ///   - bytes: what the cursor has.
  ///   - purpose: what it is for, and whose it is.
  ///   - context: the context of the request.
  /// - Returns: the text, in the alphabet of URLs.
  package static func text(
    of bytes: [UInt8], for purpose: String, _ context: RequestContext
  ) -> String {
    let mark = context.keys.master.mark(of: tagged(bytes, purpose), by: 0)
    return (bytes + mark.prefix(markLength)).base64URL
  }

  /// Returns the bytes of a text; nil unless `text` has returned it for the purpose.
  package static func bytes(
    of text: String, for purpose: String, count: Int, _ context: RequestContext
  ) -> [UInt8]? {
    bytes(of: text, count: count) { bytes, mark in
      context.keys.master.number(marking: tagged(bytes, purpose)) {
        $0.prefix(markLength).elementsEqual(mark)
      } != nil
    }
  }

  /// Does so with any check of the mark.
  nonisolated static func bytes(
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
    .titled("The cursor is none that this route has returned to the caller.")
    .remedied("Send the cursor of the last response unchanged, or begin without one.")
}
