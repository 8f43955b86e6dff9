import FoundationEssentials
import Encoding

extension FuzzTarget {
  /// Compares base64 and hexadecimal digits with Foundation.
  static let digits = FuzzTarget(
    "digits", words: ["AAAA", "-_", "+/", "=", "==", "Zg", "Zm8", "0aF", "\n"],
    bound: MemoryBound(factor: 40, base: 65_536)
  ) { input in
    expect([UInt8](base64URL: input.base64URL) == input, "base64url does not read back")
    expect([UInt8](base64: Array(input.base64.utf8)) == input, "base64 does not read back")
    let padding = String(repeating: "=", count: -input.base64.utf8.count & 3)
    expect(input.base64 + padding == Data(input).base64EncodedString(), "base64 is another's")
    expect(
      [UInt8](hexadecimal: String(hexadecimal: input).utf8) == input,
      "hexadecimal digits do not read back"
    )
    let read = [UInt8](base64: input)
    let filled = Data(input + [UInt8](repeating: UInt8(ascii: "="), count: -input.count & 3))
    let other = Data(base64Encoded: filled).map { [UInt8]($0) }
    if let read {
      expect(read == other, "base64 is read as other bytes")
    } else if let other {
      expect(!other.base64.utf8.elementsEqual(input), "base64 is refused")
    }
    if let read = [UInt8](base64URL: text(input)) {
      expect(read.base64URL == text(input), "two texts of base64url are the same bytes")
    }
    if let read = [UInt8](hexadecimal: input) {
      let digits = String(hexadecimal: read)
      expect(digits == text(input).lowercased(), "hexadecimal digits are read as other bytes")
    }
  }
}
