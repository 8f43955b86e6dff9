import Encoding
import JSON
import TestSupport
import Testing

@testable import WebAuthn

@Suite struct CBORTests {
  private func parse(_ digits: String) throws -> CBOR {
    try CBOR.parse(#require([UInt8](hexadecimal: digits.utf8))[...])
  }

  @Test(
    arguments: [
      ("00", .integer(0)), ("17", .integer(23)), ("1818", .integer(24)), ("18ff", .integer(255)),
      ("190100", .integer(256)), ("1a00010000", .integer(65_536)),
      ("1b0000000100000000", .integer(4_294_967_296)), ("1b7fffffffffffffff", .integer(.max)),
      ("20", .integer(-1)), ("390100", .integer(-257)), ("3b7fffffffffffffff", .integer(.min)),
      ("40", .bytes([])), ("420102", .bytes([1, 2])), ("60", .text(ByteString(""))),
      ("62c3a9", .text(ByteString("\u{e9}"))), ("80", .array([])),
      ("820180", .array([.integer(1), .array([])])), ("a0", .map([:])),
      ("f4", .bool(false)), ("f5", .bool(true)), ("f6", .null),
      ("a2016161202f", .map([1: .text(ByteString("a")), -1: .integer(-16)])),
      // Keys in any order.
      ("a3616200200061610a", .map(["b": .integer(0), -1: .integer(0), "a": .integer(10)])),
      // Two keys of different bytes that Swift's strings treat as one.
      ("a262c3a9006365cc8100", .map(["\u{e9}": .integer(0), "e\u{301}": .integer(0)])),
      // Five levels.
      ("81818181" + "80", .array([.array([.array([.array([.array([])])])])])),
      ("a1008181a10000", .map([0: .array([.array([.map([0: .integer(0)])])])])),
    ] as [(String, CBOR)])
  func `a value is read, and encodes to the same bytes`(digits: String, value: CBOR) throws {
    #expect(try parse(digits) == value)
    #expect(String(hexadecimal: value.encoded) == digits)
  }

  @Test(arguments: [
    ("", "it ends within a value"), ("18", "it ends within a value"),
    ("19ff", "it ends within a value"), ("4101ff", "bytes follow its value"),
    ("41", "it ends within a value"), ("6161" + "00", "bytes follow its value"),
    ("8100" + "00", "bytes follow its value"), ("a10000" + "f6", "bytes follow its value"),
    ("81", "it ends within a value"), ("a1", "it ends within a value"),
    ("a100", "it ends within a value"),
    // The long forms of 23, 255, 65,535 and 4,294,967,295, and of lengths.
    ("1817", "it has a number in a long form"), ("1900ff", "it has a number in a long form"),
    ("1a0000ffff", "it has a number in a long form"),
    ("1b00000000ffffffff", "it has a number in a long form"),
    ("3817", "it has a number in a long form"), ("5800", "it has a number in a long form"),
    ("580141", "it has a number in a long form"), ("780161", "it has a number in a long form"),
    ("980100", "it has a number in a long form"), ("b8010000", "it has a number in a long form"),
    // Counts of more than the bytes that follow.
    ("9affffffff", "it ends within a value"), ("baffffffff00", "it ends within a value"),
    ("9b0000000100000000", "it ends within a value"),
    ("bb0000000100000000" + "00", "it ends within a value"),
    ("5b7fffffffffffffff" + "00", "it ends within a value"),
    ("9bffffffffffffffff", "it ends within a value"),
    ("5bffffffffffffffff", "it ends within a value"),
    ("1b8000000000000000", "it has an integer of more than 64 bits"),
    ("3b8000000000000000", "it has an integer of more than 64 bits"),
    // Indefinite lengths.
    ("5f4100ff", "it has an indefinite length"), ("7f6161ff", "it has an indefinite length"),
    ("9f00ff", "it has an indefinite length"), ("bf0000ff", "it has an indefinite length"),
    ("ff", "it has an indefinite length"), ("1c", "it has a reserved length"),
    ("5d", "it has a reserved length"), ("9e", "it has a reserved length"),
    // Tags, floating-point numbers and other simple values.
    ("c000", "it has a tag"), ("d81801", "it has a tag"),
    ("f93c00", "it has a floating-point number"), ("fa3f800000", "it has a floating-point number"),
    ("fb3ff0000000000000", "it has a floating-point number"),
    ("f7", "it has an unknown simple value"), ("e0", "it has an unknown simple value"),
    ("f820", "it has an unknown simple value"), ("f8ff", "it has an unknown simple value"),
    ("61ff", "its text is not UTF-8"), ("62c328", "its text is not UTF-8"),
    ("63eda080", "its text is not UTF-8"),
    ("a200000001", "it has a key twice"), ("a2616100616101", "it has a key twice"),
    ("a2200020f6", "it has a key twice"),
    ("a14000", "it has a key that is neither an integer nor a text"),
    ("a18000", "it has a key that is neither an integer nor a text"),
    ("a1f400", "it has a key that is neither an integer nor a text"),
    // Six levels.
    ("8181818181" + "80", "it has more than 5 levels"),
    ("8181818181" + "a0", "it has more than 5 levels"),
    ("a100a100a100a100a100" + "a0", "it has more than 5 levels"),
  ])
  func `bytes that break a rule are refused`(digits: String, rule: String) {
    #expect(throws: WebAuthnError.invalidCBOR(rule: rule)) { try parse(digits) }
  }

  @Test func `many keys are compared in linear time`() throws {
    let map = CBOR.map(CBORMap((0..<2_000).map { CBORMap.Entry(.integer($0), .null) }))
    #expect(try CBOR.parse(map.encoded[...]) == map)
    let twice = Array(map.encoded.dropLast(4)) + [0x00, 0xf6]
    #expect(throws: WebAuthnError.invalidCBOR(rule: "it has a key twice")) {
      try CBOR.parse(twice[...])
    }
  }
}
