/// A number as it was spelled: `2.0` stays `2.0`.
///
/// Two are equal when they have one value, whatever their spelling.
package struct JSONNumber: Sendable, Equatable {
  package let text: String

  /// Takes text that is known to be a JSON number.
  package init(_ text: String) { self.text = text }

  package init(_ value: Int) { text = String(value) }

  package var int: Int? { Int(text) }

  package var double: Double? { Double(text) }

  package static func == (first: JSONNumber, second: JSONNumber) -> Bool {
    first.text == second.text || Decimal(first.text) == Decimal(second.text)
  }
}

/// The value of a number, exactly: its significant digits and the power of ten of the last.
struct Decimal: Equatable {
  private(set) var isNegative = false
  private(set) var digits: [UInt8] = []
  private(set) var exponent = 0

  init(_ text: some StringProtocol) {
    var isFraction = false
    var rest = Array(text.utf8)[...]
    if rest.first == UInt8(ascii: "-") {
      isNegative = true
      rest = rest.dropFirst()
    }
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "."): isFraction = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        // What does not fit is far over every limit.
        let written =
          Int(String(decoding: rest, as: UTF8.self))
          ?? (rest.first == UInt8(ascii: "-") ? -1 << 40 : 1 << 40)
        exponent += written
        rest = rest.dropFirst(rest.count)
      default:
        if !digits.isEmpty || byte != UInt8(ascii: "0") { digits.append(byte) }
        if isFraction { exponent -= 1 }
      }
    }
    while digits.last == UInt8(ascii: "0") {
      digits.removeLast()
      exponent += 1
    }
    if digits.isEmpty {
      isNegative = false
      exponent = 0
    }
  }

  /// The power of ten of the first digit; 0 for zero.
  var magnitude: Int { digits.isEmpty ? 0 : exponent + digits.count - 1 }
}
