/// The generated picture of a user who has none: a symmetric pattern of squares in one color.
///
/// The pattern and the color come from the name alone, so no name needs the database.
package struct Avatar {
  private let bytes: [UInt8]

  /// Creates a picture from at least 16 bytes.
  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The width and the height, in pixels.
  private static let size = 480
  private static let squares = 5
  private static let side = 80
  private static let margin = (size - squares * side) / 2

  /// The colors, each with a contrast of at least 4.5 to the ground.
  private static let colors: [(UInt8, UInt8, UInt8)] = [
    (0x1f, 0x57, 0xc3), (0x1a, 0x6b, 0x3c), (0xb3, 0x26, 0x1e), (0x6b, 0x3f, 0xa0),
    (0x8a, 0x4b, 0x08), (0x0b, 0x66, 0x6a), (0x9c, 0x27, 0x6b), (0x4a, 0x52, 0x60),
  ]
  private static let ground: (UInt8, UInt8, UInt8) = (0xec, 0xee, 0xf1)

  /// Returns whether a square has the color.
  ///
  /// The right half mirrors the left.
  private func isFilled(_ row: Int, _ column: Int) -> Bool {
    let mirrored = min(column, Self.squares - 1 - column)
    let bit = row * 3 + mirrored
    return bytes[1 + bit / 8] >> (bit % 8) & 1 == 1
  }

  /// The picture as a PNG with two colors.
  package var png: [UInt8] {
    var rows: [UInt8] = []
    rows.reserveCapacity(Self.size * (1 + Self.size / 8))
    for y in 0..<Self.size {
      // The filter of the row: none.
      rows.append(0)
      for byte in 0..<Self.size / 8 {
        rows.append((0..<8).reduce(0) { $0 << 1 | (isFilled(x: byte * 8 + $1, y: y) ? 1 : 0) })
      }
    }
    let color = Self.colors[Int(bytes[0]) % Self.colors.count]
    return PNG.file(size: Self.size, palette: [Self.ground, color], rows: rows)
  }

  private func isFilled(x: Int, y: Int) -> Bool {
    let (column, row) = (x - Self.margin, y - Self.margin)
    let range = 0..<Self.squares * Self.side
    return range.contains(column) && range.contains(row)
      && isFilled(row / Self.side, column / Self.side)
  }
}

/// Writes PNG files with a palette of two colors.
///
/// - Source: PNG (Third Edition) sections 5 and 11; RFC 1950; RFC 1951 section 3.2.4.
private enum PNG {
  /// Returns the file.
  ///
  /// - Parameters:
  ///   - size: the width and the height.
  ///   - palette: the colors of the bits 0 and 1.
  ///   - rows: each row with its filter, one bit a pixel.
  /// - Returns: the file.
  static func file(size: Int, palette: [(UInt8, UInt8, UInt8)], rows: [UInt8]) -> [UInt8] {
    let colors = palette.flatMap { [$0.0, $0.1, $0.2] }
    // One bit a pixel, with a palette; the only compression and filter methods; not interlaced.
    let header = number(size) + number(size) + [1, 3, 0, 0, 0]
    return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + chunk("IHDR", header)
      + chunk("PLTE", colors) + chunk("IDAT", stored(rows)) + chunk("IEND", [])
  }

  private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let named = Array(type.utf8) + content
    return number(content.count) + named + number(Int(checksum(named)))
  }

  private static func number(_ value: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  /// Returns the bytes in blocks without compression.
  private static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    let most = 65_535
    for start in stride(from: 0, to: bytes.count, by: most) {
      let block = bytes[start..<min(start + most, bytes.count)]
      let length = UInt16(block.count)
      stream.append(start + most >= bytes.count ? 1 : 0)
      for number in [length, ~length] {
        stream.append(UInt8(truncatingIfNeeded: number))
        stream.append(UInt8(truncatingIfNeeded: number >> 8))
      }
      stream += block
    }
    return stream + number(Int(adler(bytes)))
  }

  /// Returns the checksum of a zlib stream.
  private static func adler(_ bytes: [UInt8]) -> UInt32 {
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return high << 16 | low
  }

  /// Returns the checksum of a chunk.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { sum, byte in table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ sum >> 8 }
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { sum, _ in sum & 1 == 1 ? 0xedb8_8320 ^ sum >> 1 : sum >> 1 }
  }
}
