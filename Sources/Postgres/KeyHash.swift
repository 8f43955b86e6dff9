/// PostgreSQL's hash of a text in the collation C, or of bytes.
///
/// Citus places a row by this hash of its key.
/// - Source: PostgreSQL 15, src/common/hashfn.c, `hash_bytes`; Bob Jenkins, lookup3.c, 2006, public
///   domain.
package struct KeyHash {
  private var a: UInt32, b: UInt32, c: UInt32

  package static func of(_ bytes: some Sequence<UInt8>) -> Int32 {
    let bytes = Array(bytes)
    var hash = KeyHash(length: bytes.count)
    var rest = bytes[...]
    while rest.count >= 12 {
      hash.add(rest.prefix(12))
      hash.mix()
      rest = rest.dropFirst(12)
    }
    // The lowest byte of the third word is left out, as the length is in it.
    let last = Array(rest.prefix(8)) + Array(repeating: 0, count: max(0, 8 - rest.count))
    hash.add((last + [0] + rest.dropFirst(8))[...])
    hash.finish()
    return Int32(bitPattern: hash.c)
  }

  private init(length: Int) {
    let start = 0x9e37_79b9 &+ UInt32(truncatingIfNeeded: length) &+ 3_923_095
    (a, b, c) = (start, start, start)
  }

  /// Adds up to twelve bytes, the lowest of each word first.
  private mutating func add(_ bytes: ArraySlice<UInt8>) {
    for (index, byte) in bytes.enumerated() {
      let part = UInt32(byte) << UInt32(index % 4 * 8)
      switch index / 4 {
      case 0: a &+= part
      case 1: b &+= part
      default: c &+= part
      }
    }
  }

  private mutating func mix() {
    Self.stir(&a, &c, b, 4)
    Self.stir(&b, &a, c, 6)
    Self.stir(&c, &b, a, 8)
    Self.stir(&a, &c, b, 16)
    Self.stir(&b, &a, c, 19)
    Self.stir(&c, &b, a, 4)
  }

  private static func stir(_ x: inout UInt32, _ y: inout UInt32, _ z: UInt32, _ count: UInt32) {
    x &-= y
    x ^= rotated(y, count)
    y &+= z
  }

  private mutating func finish() {
    Self.fold(&c, b, 14)
    Self.fold(&a, c, 11)
    Self.fold(&b, a, 25)
    Self.fold(&c, b, 16)
    Self.fold(&a, c, 4)
    Self.fold(&b, a, 14)
    Self.fold(&c, b, 24)
  }

  private static func fold(_ x: inout UInt32, _ y: UInt32, _ count: UInt32) {
    x ^= y
    x &-= rotated(y, count)
  }

  private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word << count | word >> (32 - count)
  }
}
