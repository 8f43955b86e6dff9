import Encoding
import Testing

/// Tests compression by a decoder of its own, which knows only blocks with fixed codes.
@Suite struct GzipTests {
  /// Reads bits, the lowest one of each byte first.
  private struct Bits {
    let bytes: [UInt8]
    var place = 0

    mutating func next(_ count: Int) -> Int {
      (0..<count).reduce(0) { number, index in
        defer { place += 1 }
        return number | Int(bytes[place / 8] >> UInt8(place % 8) & 1) << index
      }
    }

    /// Returns a literal, or the code of a length.
    mutating func symbol() -> Int {
      var code = 0
      func more(_ bits: inout Bits) { code = code << 1 | bits.next(1) }
      for _ in 0..<7 { more(&self) }
      if code < 24 { return 256 + code }
      more(&self)
      if code < 192 { return code - 48 }
      if code < 200 { return 280 + code - 192 }
      more(&self)
      return 144 + code - 400
    }
  }

  private static let lengths = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
  ]
  private static let distances = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1_025, 1_537,
    2_049, 3_073, 4_097, 6_145, 8_193, 12_289, 16_385, 24_577,
  ]

  private func decompressed(_ bytes: [UInt8]) -> [UInt8] {
    #expect(bytes.prefix(3) == [0x1f, 0x8b, 8])
    var bits = Bits(bytes: Array(bytes.dropFirst(10)))
    #expect(bits.next(1) == 1)
    #expect(bits.next(2) == 1)
    var output: [UInt8] = []
    while true {
      let symbol = bits.symbol()
      if symbol == 256 { break }
      if symbol < 256 {
        output.append(UInt8(symbol))
        continue
      }
      let index = symbol - 257
      let extra = index < 8 || index == 28 ? 0 : index / 4 - 1
      let length = Self.lengths[index] + bits.next(extra)
      let place = (0..<5).reduce(0) { code, _ in code << 1 | bits.next(1) }
      let distance = Self.distances[place] + bits.next(place < 4 ? 0 : place / 2 - 1)
      for _ in 0..<length { output.append(output[output.count - distance]) }
    }
    let size = bytes.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    #expect(size == output.count)
    return output
  }

  @Test(arguments: [0, 1, 3, 4, 5, 257, 258, 259, 1_000, 70_000])
  func `equal bytes`(count: Int) {
    let input = [UInt8](repeating: 7, count: count)
    let output = Gzip.compressed(input)
    #expect(decompressed(output) == input)
    #expect(output.count <= 24 + count / 100)
  }

  @Test func `each byte, in patterns of each distance`() {
    var input: [UInt8] = []
    for period in [1, 2, 3, 5, 100, 255, 4_000, 32_768, 32_769, 40_000] {
      let pattern = (0..<period).map { UInt8(truncatingIfNeeded: $0 &* 97 ^ $0 >> 8) }
      input += pattern + pattern
    }
    #expect(decompressed(Gzip.compressed(input)) == input)
  }

  @Test func `the checksum is that of the format`() {
    let tail = Gzip.compressed(Array("123456789".utf8)).suffix(8)
    #expect(tail.prefix(4) == [0x26, 0x39, 0xf4, 0xcb])
  }
}
