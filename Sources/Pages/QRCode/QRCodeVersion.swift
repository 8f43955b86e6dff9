/// A version of a QR code: its size and its blocks of error correction.
struct QRCodeVersion {
  /// From 1 to 20.
  let number: Int
  private let blocks: Int
  private let correctionWords: Int
  private let words: Int

  /// The correction words of each block and the number of blocks, for level M.
  ///
  /// - Source: ISO/IEC 18004:2015 table 9.
  private static let table = [
    (10, 1), (16, 1), (26, 1), (18, 2), (24, 2), (16, 4), (18, 4), (22, 4), (22, 5), (26, 5),
    (30, 5), (22, 8), (22, 9), (24, 9), (24, 10), (28, 10), (28, 11), (26, 13), (26, 14), (26, 16),
  ]

  init(_ number: Int) {
    self.number = number
    (correctionWords, blocks) = Self.table[number - 1]
    words = QRCodeMatrix(number).freeModules / 8
  }

  /// Returns the smallest version that holds so many bytes; nil if none does.
  static func smallest(forBytes count: Int) -> QRCodeVersion? {
    // No version holds more, so the loop is not needed for a hostile length.
    guard count <= 666 else { return nil }
    return (1...table.count).lazy.map(QRCodeVersion.init).first {
      4 + $0.countBits + 8 * count <= 8 * $0.dataWords
    }
  }

  private var dataWords: Int { words - blocks * correctionWords }

  /// The length of the field with the number of bytes.
  private var countBits: Int { number < 10 ? 8 : 16 }

  /// Returns the words of the code: data and error correction, interleaved by blocks.
  func codewords(of bytes: [UInt8]) -> [UInt8] {
    let data = dataWords(of: bytes)
    let shortLength = dataWords / blocks
    let shortBlocks = blocks - dataWords % blocks
    var start = 0
    var parts: [(data: ArraySlice<UInt8>, correction: [UInt8])] = []
    let divisor = ReedSolomon.divisor(of: correctionWords)
    for block in 0..<blocks {
      let end = start + shortLength + (block < shortBlocks ? 0 : 1)
      let part = data[start..<end]
      parts.append((part, ReedSolomon.remainder(of: part, by: divisor)))
      start = end
    }
    var result: [UInt8] = []
    for index in 0...shortLength {
      for part in parts where index < part.data.count {
        result.append(part.data[part.data.startIndex + index])
      }
    }
    for index in 0..<correctionWords { result += parts.map { $0.correction[index] } }
    return result
  }

  /// Returns the data words: the mode, the length, the bytes, and the padding.
  private func dataWords(of bytes: [UInt8]) -> [UInt8] {
    var bits: [Bool] = []
    func append(_ value: Int, _ count: Int) {
      for bit in stride(from: count - 1, through: 0, by: -1) { bits.append(value >> bit & 1 == 1) }
    }
    append(0b0100, 4)
    append(bytes.count, countBits)
    for byte in bytes { append(Int(byte), 8) }
    append(0, min(4, 8 * dataWords - bits.count))
    append(0, (8 - bits.count % 8) % 8)
    var words = stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
    }
    for index in 0..<dataWords - words.count { words.append(index.isMultiple(of: 2) ? 0xec : 0x11) }
    return words
  }
}

/// The error correction of QR codes, over the field of 256 elements.
private enum ReedSolomon {
  /// Returns the coefficients of the generator, without the leading one.
  static func divisor(of degree: Int) -> [UInt8] {
    var divisor = [UInt8](repeating: 0, count: degree - 1) + [1]
    var root: UInt8 = 1
    for _ in 0..<degree {
      for index in divisor.indices {
        let next = index + 1 < degree ? divisor[index + 1] : 0
        divisor[index] = product(divisor[index], root) ^ next
      }
      root = product(root, 2)
    }
    return divisor
  }

  static func remainder(of data: some Sequence<UInt8>, by divisor: [UInt8]) -> [UInt8] {
    var rest = [UInt8](repeating: 0, count: divisor.count)
    for byte in data {
      let factor = byte ^ rest.removeFirst()
      rest.append(0)
      for index in rest.indices { rest[index] ^= product(divisor[index], factor) }
    }
    return rest
  }

  private static func product(_ first: UInt8, _ second: UInt8) -> UInt8 {
    var result = 0
    for bit in stride(from: 7, through: 0, by: -1) {
      result = result << 1 ^ (result >> 7) * 0x11d
      if second >> bit & 1 == 1 { result ^= Int(first) }
    }
    return UInt8(result)
  }
}
