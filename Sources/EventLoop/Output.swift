import Glibc

/// The output of a program that may block.
package enum Output {
  /// Writes all of the text, or as much as the reader accepts.
  package static func write(_ text: String, to descriptor: Int32) {
    _ = write(Array(text.utf8), to: descriptor)
  }

  /// Writes all of the bytes; returns false if a write fails, and leaves its `errno`.
  package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      guard count > 0 || count < 0 && errno == EINTR else { return false }
      rest = rest.dropFirst(max(0, count))
    }
    return true
  }
}
