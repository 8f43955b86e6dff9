import Testing

@testable import Runtime
@testable import Sessions

@Suite struct TimeBasedCodeTests {
  private let secret = Array("12345678901234567890".utf8)

  /// Tests the codes of RFC 6238, appendix B.
  ///
  /// An authenticator app shows their last six digits.
  @Test(
    arguments: [
      (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"),
      (1_234_567_890, "89005924"), (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
    ]
  )
  func `a code equals that of the standard`(time: Int, code: String) {
    let step = TimeBasedCode.step(at: time)
    #expect(TimeBasedCode.code(of: secret, at: step) == code.suffix(6))
  }

  @Test func `the code of the step before is accepted, and none of a later step`() {
    for step in 97...103 {
      let code = TimeBasedCode.code(of: secret, at: step)
      let found = TimeBasedCode.step(of: code, secret, near: 100, after: 0)
      #expect(found == ((99...100).contains(step) ? step : nil))
    }
  }

  @Test func `used codes are refused`() {
    for step in 99...100 {
      let code = TimeBasedCode.code(of: secret, at: step)
      let found = TimeBasedCode.step(of: code, secret, near: 100, after: 99)
      #expect(found == (step == 100 ? 100 : nil))
    }
  }

  @Test(arguments: ["", "0", "00000", "0000000", "abcdef", "１２３４５６"])
  func `a code has six digits`(_ code: String) {
    #expect(TimeBasedCode.step(of: code, secret, near: 100, after: 0) == nil)
  }

  @Test func `a URI is percent-encoded`() {
    let uri = ProvisioningURI.text(secret, of: "ada+x@example.com", at: "Ada & Søns")
    #expect(
      uri == "otpauth://totp/Ada%20%26%20S%C3%B8ns:ada%2Bx%40example.com"
        + "?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Ada%20%26%20S%C3%B8ns"
    )
  }
}

@Suite struct RecoveryCodeTests {
  private let user = UserID()
  private let key = MasterKey([UInt8](repeating: 7, count: 32))

  @Test func `ten recovery codes are created, and can be parsed`() throws {
    let codes = RecoveryCode.make()
    #expect(Set(codes).count == 10)
    for code in codes {
      // Four groups of six characters of 5 bits.
      #expect(code.text.split(separator: "-").map(\.utf8.count) == [6, 6, 6, 6])
      #expect(try #require(RecoveryCode(code.text)) == code)
    }
  }

  @Test(
    arguments: [
      "0123456789abcdefghjkmnpq", "012345-6789ab-cdefgh-jkmnpq", "OI2345 6789AB CDEFGH JKMNPQ",
      " ol23-4567-89ab-cdef-ghjk-mnpq ",
    ]
  )
  func `a code may be typed in many ways`(_ typed: String) {
    #expect(RecoveryCode(typed)?.text == "012345-6789ab-cdefgh-jkmnpq")
  }

  @Test(arguments: [
    // The form from before had 50 random bits.
    "01234-56789", "OL23456789",
    "", "123456", "0123456789a", "u123456789", "012345678é", "01234_6789",
    "0123456789abcdefghjkmnp", "0123456789abcdefghjkmnpqr", "0123456789abcdefghjkmnpu",
  ])
  func `a malformed recovery code is refused`(_ typed: String) {
    #expect(RecoveryCode(typed) == nil)
  }

  @Test func `a code is stored as a hash for its user and each master key`() throws {
    let code = try #require(RecoveryCode("012345-6789ab-cdefgh-jkmnpq"))
    let hash = code.hash(of: user, key)
    #expect(code.hash(of: UserID(), key) != hash)
    let secrets = [UInt8(8), 7].map { [UInt8](repeating: $0, count: 32) }
    let hashes = code.hashes(of: user, MasterKey(secrets))
    #expect(hashes.count == 2)
    #expect(hashes[1] == hash)
  }
}
