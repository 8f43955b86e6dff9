import Testing

@testable import Pages

@Suite struct QRCodeTests {
  @Test func `the smallest version that fits is used`() {
    // The capacities of level M in bytes.
    let capacities = [1: 14, 2: 26, 6: 106, 7: 122, 9: 180, 10: 213, 14: 362, 20: 666]
    for (version, bytes) in capacities {
      #expect(QRCode(String(repeating: "a", count: bytes))?.size == 17 + 4 * version)
      let longer = QRCode(String(repeating: "a", count: bytes + 1))
      #expect(longer?.size ?? 0 > 17 + 4 * version || (version == 20 && longer == nil))
    }
    #expect(QRCode("") == nil)
  }

  @Test func `the finder patterns are in three corners`() throws {
    let code = try #require(QRCode("otpauth://totp/a"))
    let finder = ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]
    for (row, column) in [(0, 0), (0, code.size - 7), (code.size - 7, 0)] {
      for (y, line) in finder.enumerated() {
        for (x, digit) in line.enumerated() {
          #expect(code.modules[(row + y) * code.size + column + x] == (digit == "1"))
        }
      }
    }
  }

  @Test func `the path has only letters, digits and signs`() throws {
    let code = try #require(QRCode("\"><script>"))
    #expect(code.path.utf8.allSatisfy { "MhvHz -0123456789".utf8.contains($0) })
  }
}
