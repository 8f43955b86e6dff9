import FoundationEssentials

extension [UInt8] {
  /// - Source: RFC 4648 section 5, without padding.
  var base64URL: String {
    String(unsafeUninitializedCapacity: (count * 4 + 2) / 3) { text in
      var place = 0
      var bits = 0
      var held = 0
      for byte in self {
        bits = (bits << 8 | Int(byte)) & 0xffff
        held += 8
        while held >= 6 {
          held -= 6
          text[place] = Self.digit(bits >> held & 63)
          place += 1
        }
      }
      if held > 0 {
        text[place] = Self.digit(bits << (6 - held) & 63)
        place += 1
      }
      return place
    }
  }

  /// Nil unless it is what `base64URL` makes of some bytes: no two texts are one token.
  init?(base64URL text: some StringProtocol) {
    self = []
    reserveCapacity(text.utf8.count * 3 / 4)
    var bits = 0
    var held = 0
    for character in text.utf8 {
      guard let value = Self.value(character) else { return nil }
      bits = (bits << 6 | value) & 0xffff
      held += 6
      if held >= 8 {
        held -= 8
        append(UInt8(truncatingIfNeeded: bits >> held))
      }
    }
    // A digit that ends no byte, or says more than the byte has.
    guard held < 6, bits & (1 << held - 1) == 0 else { return nil }
  }

  private static func digit(_ value: Int) -> UInt8 {
    switch value {
    case 0..<26: UInt8(ascii: "A") + UInt8(value)
    case 26..<52: UInt8(ascii: "a") + UInt8(value - 26)
    case 52..<62: UInt8(ascii: "0") + UInt8(value - 52)
    case 62: UInt8(ascii: "-")
    default: UInt8(ascii: "_")
    }
  }

  fileprivate static func value(_ digit: UInt8) -> Int? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}

extension UInt8 {
  var isBase64URL: Bool { [UInt8].value(self) != nil }
}

extension Data {
  var base64URL: String { [UInt8](self).base64URL }

  init?(base64URL text: some StringProtocol) {
    guard let bytes = [UInt8](base64URL: text) else { return nil }
    self.init(bytes)
  }
}
