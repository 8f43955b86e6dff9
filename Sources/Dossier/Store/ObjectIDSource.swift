import Glibc
import Synchronization

/// Where new ids come from.
enum ObjectIDSource {
  private static let process = (0..<5).map { _ in UInt8.random(in: .min ... .max) }
  private static let counter = Atomic<UInt32>(UInt32.random(in: .min ... .max))

  static func next() -> String {
    let seconds = UInt32(truncatingIfNeeded: time(nil))
    let count = counter.wrappingAdd(1, ordering: .relaxed).newValue
    var bytes: [UInt8] = []
    bytes.reserveCapacity(12)
    for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: seconds >> shift)) }
    bytes.append(contentsOf: process)
    for shift in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
    return String(hexadecimal: bytes)
  }
}

extension UInt8 {
  /// Whether it is an ASCII hexadecimal digit of either case.
  var isHexadecimalDigit: Bool { hexadecimalValue != nil }

  fileprivate var hexadecimalValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension [UInt8] {
  /// Reads pairs of digits that are known to be such.
  init(hexadecimal digits: some Sequence<UInt8>) {
    self = []
    var high: UInt8?
    for digit in digits {
      guard let value = digit.hexadecimalValue else { continue }
      if let first = high {
        append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
  }
}

extension String {
  init(hexadecimal bytes: some Sequence<UInt8>) {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    self = String(decoding: text, as: UTF8.self)
  }
}
