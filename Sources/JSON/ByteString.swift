import Glibc

/// A string that compares by bytes, like PostgreSQL, for keys, ids and lookups.
///
/// Swift's own strings compare by canonical equivalence: `é` as one scalar equals `é` as two. That
/// would treat two database values as one.
package struct ByteString: Hashable, Comparable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (first: ByteString, second: ByteString) -> Bool {
    first.text.hasSameBytes(as: second.text)
  }

  package static func < (first: ByteString, second: ByteString) -> Bool {
    first.text.utf8.lexicographicallyPrecedes(second.text.utf8)
  }

  /// Hashes the bytes.
  ///
  /// The hash of `String` first normalizes the text.
  package func hash(into hasher: inout Hasher) {
    var word: UInt64 = 0
    var count = 0
    for byte in text.utf8 {
      word = word << 8 | UInt64(byte)
      count += 1
      if count.isMultiple(of: 8) { hasher.combine(word) }
    }
    hasher.combine(word)
    hasher.combine(count)
  }
}

extension String {
  package func hasSameBytes(as other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    return utf8.span.withUnsafeBytes { own in
      other.utf8.span.withUnsafeBytes { bytes in
        guard let first = own.baseAddress, let second = bytes.baseAddress else { return true }
        return memcmp(first, second, own.count) == 0
      }
    }
  }
}

extension String.UTF8View {
  /// Returns whether the text has these bytes.
  func hasSameBytes(as bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    withContiguousStorageIfAvailable { own in
      guard own.count == bytes.count else { return false }
      guard let first = own.baseAddress, let second = bytes.baseAddress else { return true }
      return memcmp(first, second, own.count) == 0
    } ?? elementsEqual(bytes)
  }
}
