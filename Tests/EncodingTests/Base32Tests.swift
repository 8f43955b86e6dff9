import Testing

@testable import Encoding

@Suite struct Base32Tests {
  /// RFC 4648 section 10, without padding.
  @Test(
    arguments: [
      ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"),
      ("fooba", "MZXW6YTB"), ("foobar", "MZXW6YTBOI"),
    ]
  )
  func `bytes are encoded as in RFC 4648`(bytes: String, text: String) {
    #expect(Array(bytes.utf8).base32 == text)
    #expect([UInt8](base32: text) == Array(bytes.utf8))
    #expect([UInt8](base32: text.lowercased() + "===") == Array(bytes.utf8))
  }

  @Test func `the secret of an authenticator has 32 digits`() {
    // The secret of RFC 6238's test vectors.
    #expect(Array("12345678901234567890".utf8).base32 == "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
    #expect([UInt8](repeating: 255, count: 20).base32 == String(repeating: "7", count: 32))
  }

  @Test(arguments: ["M", "MZX", "MZXW6Y", "M1", "M ", "=M", "MZ=Q", "ÄA"])
  func `a text with other digits is refused`(text: String) {
    #expect([UInt8](base32: text) == nil)
  }

  @Test func `unused bits are ignored`() {
    #expect([UInt8](base32: "MZ") == Array("f".utf8))
  }
}
