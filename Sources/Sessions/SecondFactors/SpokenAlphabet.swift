/// The 32 digits and letters of codes that people read, type and say.
///
/// The letters I, L, O and U are not in it. A person who types I, L or O means 1, 1 or 0.
/// - Source: Douglas Crockford's base 32.
enum SpokenAlphabet {
  private static let all = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

  static func random(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in all[Int.random(in: 0..<32)] }
  }

  /// Reads what a person typed, in either case, with any spaces and hyphens.
  ///
  /// Returns nil if it has another length or other characters.
  static func characters(of typed: String, count: Int) -> [UInt8]? {
    var characters: [UInt8] = []
    for byte in typed.utf8.prefix(100) {
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "-"): continue
      case UInt8(ascii: "o"), UInt8(ascii: "O"): characters.append(UInt8(ascii: "0"))
      case UInt8(ascii: "i"), UInt8(ascii: "I"), UInt8(ascii: "l"), UInt8(ascii: "L"):
        characters.append(UInt8(ascii: "1"))
      default:
        let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        characters.append(isUpper ? byte + 32 : byte)
      }
    }
    guard characters.count == count, characters.allSatisfy(all.contains) else { return nil }
    return characters
  }

  /// Returns the characters in groups, with hyphens between these.
  static func text(_ characters: [UInt8], inGroupsOf size: Int) -> String {
    stride(from: 0, to: characters.count, by: size).map { start in
      String(decoding: characters[start...].prefix(size), as: UTF8.self)
    }.joined(separator: "-")
  }
}
