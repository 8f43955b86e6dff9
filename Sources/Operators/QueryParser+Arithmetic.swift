/// The operands of `$mod` and of the bit operators.
extension QueryParser {
  func modulo(_ operand: BSON) throws(OperatorError) -> Modulo {
    guard let elements = operand.array, elements.count == 2, let divisor = elements[0].truncated,
      let remainder = elements[1].truncated
    else { throw error("$mod must be an array of two numbers: the divisor and the remainder.") }
    guard divisor != 0 else { throw error("The divisor of $mod must not be 0.") }
    return Modulo(divisor: divisor, remainder: remainder)
  }

  /// Returns the positions of the set bits of a mask, or of a list of positions.
  func bits(_ operand: BSON) throws(OperatorError) -> BitMask {
    switch operand {
    case .array(let positions):
      guard positions.count <= Self.bitLimit else {
        throw error("A test of bits may have at most \(Self.bitLimit) positions.")
      }
      var mask = BitMask()
      for position in positions {
        guard let position = position.integer, (0...Int(Int32.max)).contains(position) else {
          throw error("The positions of bits must be whole numbers that are not negative.")
        }
        mask.positions.append(position)
      }
      return mask
    case .binary(let bytes, _):
      guard bytes.count <= Self.bitLimit / 8 else {
        throw error("A mask of bits may have at most \(Self.bitLimit / 8) bytes.")
      }
      return BitMask(positions: (0..<bytes.count * 8).filter { bytes[$0 / 8] >> ($0 % 8) & 1 == 1 })
    default:
      guard let mask = operand.integer, mask >= 0 else {
        throw error("Bits must be a non-negative mask, binary data or a list of positions.")
      }
      return BitMask(positions: (0..<63).filter { mask >> $0 & 1 == 1 })
    }
  }

  /// More positions than any client needs.
  private static let bitLimit = 4_096
}

/// The operand of `$mod`.
struct Modulo: Sendable {
  let divisor: Int64
  let remainder: Int64

  /// Returns whether a value is a number with this remainder.
  ///
  /// Fractions are cut off first.
  func fits(_ value: BSON) -> Bool {
    guard let number = value.truncated else { return false }
    // The least integer divided by -1 does not fit 64 bits. Its remainder is 0.
    return (divisor == -1 ? 0 : number % divisor) == remainder
  }
}

/// The operand of `$bitsAllSet` and the other bit operators.
struct BitMask: Sendable {
  var positions: [Int] = []

  /// Returns whether a value is an integer or binary data whose bits pass the operator.
  func fits(_ value: BSON, _ operation: QueryOperator) -> Bool {
    let isSet: (Int) -> Bool
    if case .binary(let bytes, _) = value {
      isSet = { $0 / 8 < bytes.count && bytes[$0 / 8] >> ($0 % 8) & 1 == 1 }
    } else if value.kind.isNumber, let number = value.integer {
      // Sign extension sets all higher bits of a negative number.
      isSet = { number >> min($0, 63) & 1 == 1 }
    } else {
      return false
    }
    return switch operation {
    case .bitsAllSet: positions.allSatisfy(isSet)
    case .bitsAllClear: !positions.contains(where: isSet)
    case .bitsAnySet: positions.contains(where: isSet)
    default: !positions.allSatisfy(isSet)
    }
  }
}

extension BSON {
  /// The number without its fraction.
  ///
  /// Nil if the value is not a number or does not fit 64 bits.
  fileprivate var truncated: Int64? {
    switch self {
    case .int32(let value): Int64(value)
    case .int64(let value): value
    case .double(let number): Int64(exactly: number.value.rounded(.towardZero))
    case .decimal(let number): number.truncated
    default: nil
    }
  }
}
