import Encoding

/// The version of a file's content, for URLs that caches may keep forever.
package enum AssetVersion {
  /// Returns 16 hexadecimal digits.
  ///
  /// Two contents may share a version, but not by accident. It is no protection from attackers.
  /// - Source: draft-eastlake-fnv, FNV-1a with 64 bits.
  package static func of(_ text: String) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, digits: 16, radix: 16)
  }
}
