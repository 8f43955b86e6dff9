/// The modules of a QR code while it is made.
struct QRCodeMatrix {
  let version: Int
  let size: Int
  private(set) var isDark: [Bool]
  /// Whether a module belongs to a pattern, and so holds no data.
  private var isPattern: [Bool]

  /// Creates a code with its patterns only.
  init(_ version: Int) {
    self.version = version
    size = 17 + 4 * version
    isDark = Array(repeating: false, count: size * size)
    isPattern = isDark
    for place in 0..<size {
      set(6, place, place.isMultiple(of: 2))
      set(place, 6, place.isMultiple(of: 2))
    }
    for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] { drawFinder(row, column) }
    drawAlignments()
    drawFormat(mask: 0)
    drawVersion()
  }

  var freeModules: Int { isPattern.count { !$0 } }

  private mutating func set(_ row: Int, _ column: Int, _ dark: Bool) {
    isDark[row * size + column] = dark
    isPattern[row * size + column] = true
  }

  private mutating func drawFinder(_ row: Int, _ column: Int) {
    for y in max(0, row - 4)...min(size - 1, row + 4) {
      for x in max(0, column - 4)...min(size - 1, column + 4) {
        let distance = max(abs(y - row), abs(x - column))
        set(y, x, distance != 2 && distance != 4)
      }
    }
  }

  private mutating func drawAlignments() {
    guard version > 1 else { return }
    let gaps = version / 7 + 1
    // The distance of two patterns is even; the first gap is the one that may be smaller.
    let step = ((size - 13 + gaps - 1) / gaps + 1) / 2 * 2
    let places = [6] + (0..<gaps).map { size - 7 - step * $0 }.reversed()
    for row in places {
      for column in places where !isInCorner(row, column) {
        for y in -2...2 {
          for x in -2...2 { set(row + y, column + x, max(abs(y), abs(x)) != 1) }
        }
      }
    }
  }

  /// Returns whether a finder pattern is at the place.
  private func isInCorner(_ row: Int, _ column: Int) -> Bool {
    let last = size - 7
    return (row == 6 && column == 6) || (row == 6 && column == last)
      || (row == last && column == 6)
  }

  /// Draws the mask and the level M, whose two bits are zero.
  private mutating func drawFormat(mask: Int) {
    let bits = (mask << 10 | Self.remainder(of: mask << 10, by: 0x537)) ^ 0x5412
    for bit in 0..<15 {
      let dark = bits >> bit & 1 == 1
      // Down the column next to the first finder, then to the left.
      switch bit {
      case ..<6: set(bit, 8, dark)
      case 6: set(7, 8, dark)
      case 7: set(8, 8, dark)
      case 8: set(8, 7, dark)
      default: set(8, 14 - bit, dark)
      }
      if bit < 8 { set(8, size - 1 - bit, dark) } else { set(size - 15 + bit, 8, dark) }
    }
    set(size - 8, 8, true)
  }

  private mutating func drawVersion() {
    guard version >= 7 else { return }
    let bits = version << 12 | Self.remainder(of: version << 12, by: 0x1f25)
    for bit in 0..<18 {
      let dark = bits >> bit & 1 == 1
      set(bit / 3, size - 11 + bit % 3, dark)
      set(size - 11 + bit % 3, bit / 3, dark)
    }
  }

  /// Returns the remainder of polynomials over the field of two elements.
  private static func remainder(of value: Int, by divisor: Int) -> Int {
    var rest = value
    let degree = Int.bitWidth - divisor.leadingZeroBitCount
    while true {
      let length = Int.bitWidth - rest.leadingZeroBitCount
      guard length >= degree else { return rest }
      rest ^= divisor << (length - degree)
    }
  }

  // MARK: Data

  /// Places the words in pairs of columns, from the right, upwards and downwards in turn.
  mutating func place(_ words: [UInt8]) {
    var index = 0
    var isUpwards = true
    for right in stride(from: size - 1, through: 1, by: -2).map({ $0 <= 6 ? $0 - 1 : $0 }) {
      for step in 0..<size {
        let row = isUpwards ? size - 1 - step : step
        for column in [right, right - 1] where !isPattern[row * size + column] {
          // Some versions have a few modules after the last word.
          if index < 8 * words.count {
            isDark[row * size + column] = words[index / 8] >> UInt8(7 - index % 8) & 1 == 1
          }
          index += 1
        }
      }
      isUpwards.toggle()
    }
  }

  func masked(by mask: Int) -> QRCodeMatrix {
    var matrix = self
    for row in 0..<size {
      for column in 0..<size where !isPattern[row * size + column] {
        if Self.isInverted(mask, row, column) { matrix.isDark[row * size + column].toggle() }
      }
    }
    matrix.drawFormat(mask: mask)
    return matrix
  }

  /// - Source: ISO/IEC 18004:2015 table 10.
  private static func isInverted(_ mask: Int, _ row: Int, _ column: Int) -> Bool {
    switch mask {
    case 0: (row + column) % 2 == 0
    case 1: row % 2 == 0
    case 2: column % 3 == 0
    case 3: (row + column) % 3 == 0
    case 4: (row / 2 + column / 3) % 2 == 0
    case 5: row * column % 2 + row * column % 3 == 0
    case 6: (row * column % 2 + row * column % 3) % 2 == 0
    default: ((row + column) % 2 + row * column % 3) % 2 == 0
    }
  }

  /// The penalty of patterns that are hard to read.
  ///
  /// - Source: ISO/IEC 18004:2015 section 7.8.3.1.
  var penalty: Int {
    var penalty = 0
    for line in 0..<size {
      penalty += Self.penalty(of: (0..<size).map { isDark[line * size + $0] })
      penalty += Self.penalty(of: (0..<size).map { isDark[$0 * size + line] })
    }
    for row in 1..<size {
      for column in 1..<size {
        let dark = isDark[row * size + column]
        let isBlock =
          isDark[row * size + column - 1] == dark && isDark[(row - 1) * size + column] == dark
          && isDark[(row - 1) * size + column - 1] == dark
        if isBlock { penalty += 3 }
      }
    }
    let share = isDark.count { $0 } * 100 / isDark.count
    return penalty + abs(share - 50) / 5 * 10
  }

  /// Returns the penalty of a row or a column: long runs, and runs like those of a finder.
  private static func penalty(of line: [Bool]) -> Int {
    var penalty = 0
    var run = 0
    // The last 11 modules, the newest in the lowest bit.
    var window = 0
    for (index, dark) in line.enumerated() {
      run = index > 0 && line[index - 1] == dark ? run + 1 : 1
      if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
      window = (window << 1 | (dark ? 1 : 0)) & 0x7ff
      if index >= 10, window == 0b101_1101_0000 || window == 0b000_0101_1101 { penalty += 40 }
    }
    return penalty
  }
}
