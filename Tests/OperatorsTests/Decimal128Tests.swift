import Testing

@testable import Operators

@Suite struct Decimal128Tests {
  @Test(arguments: [
    ("0", "0"), ("-0", "-0"), ("0.00", "0.00"), ("1.10", "1.10"), ("+5", "5"), ("007", "7"),
    ("1E3", "1E+3"), ("1e-3", "0.001"), ("1E-7", "1E-7"), ("0.000001", "0.000001"),
    ("0.0000001", "1E-7"), ("12.5E3", "1.25E+4"), (".5", "0.5"), ("5.", "5"), ("inf", "Infinity"),
    ("-Infinity", "-Infinity"), ("NaN", "NaN"),
    ("1234567890123456789012345678901234", "1234567890123456789012345678901234"),
    ("12345678901234567890123456789012340", "1.234567890123456789012345678901234E+34"),
    ("1E6144", "1.000000000000000000000000000000000E+6144"), ("1E6111", "1E+6111"),
    ("1E-6176", "1E-6176"), ("10E-6177", "1E-6176"), ("0E9999", "0E+6111"), ("0E-9999", "0E-6176"),
  ])
  func `text is read and written`(text: String, written: String) {
    #expect(Decimal128(text)?.description == written)
  }

  @Test(arguments: [
    "", "-", ".", "e1", "1e", "1e+", "1.2.3", "1x", " 1", "1 ", "--1", "0x1", "1E6145", "1E-6177",
    "12345678901234567890123456789012345", "1e999999999999999999999", "infinit", "1_000",
  ])
  func `what is no decimal, or is none exactly, is refused`(text: String) {
    #expect(Decimal128(text) == nil)
  }

  /// Calculated with Python's decimal module, in the context of decimal128.
  @Test(arguments: [
    ("1.10", "2.2", "3.30", "2.420"),
    ("0.1", "0.2", "0.3", "0.02"),
    ("-1.5", "1.5", "0.0", "-2.25"),
    ("1E+20", "1E-20", "100000000000000000000.0000000000000", "1"),
    (
      "9999999999999999999999999999999999", "1", "1.000000000000000000000000000000000E+34",
      "9999999999999999999999999999999999"
    ),
    (
      "1234567890123456789012345678901234", "-0.5", "1234567890123456789012345678901234",
      "-617283945061728394506172839450617.0"
    ),
    ("0E+3", "1.5", "1.5", "0E+2"),
    ("5", "0.00", "5.00", "0.00"),
    ("9.99E+6144", "1E+6144", "Infinity", "Infinity"),
    ("1E-6176", "1E-6176", "2E-6176", "0E-6176"),
    ("Infinity", "-Infinity", "NaN", "-Infinity"),
    ("Infinity", "0", "Infinity", "NaN"),
    ("NaN", "1", "NaN", "NaN"),
    ("-3", "3", "0", "-9"),
    ("1E+100", "-1E-100", "1.000000000000000000000000000000000E+100", "-1"),
    (
      "1.000000000000000000000000000000001", "1.000000000000000000000000000000001",
      "2.000000000000000000000000000000002", "1.000000000000000000000000000000002"
    ),
  ])
  func `sums and products`(first: String, second: String, sum: String, product: String) throws {
    let first = try #require(Decimal128(first))
    let second = try #require(Decimal128(second))
    #expect((first + second).description == sum)
    #expect((second + first).description == sum)
    #expect((first * second).description == product)
    #expect((second * first).description == product)
  }

  @Test(arguments: [
    (0.1, "0.1"), (1.0, "1.0"), (1.0 / 3, "0.333333333333333"), (1e300, "1E+300"),
    (2.0 / 3, "0.666666666666667"), (-0.0, "-0.0"), (.infinity, "Infinity"),
    (1.9999999999999998, "2.00000000000000"),
  ])
  func `doubles become decimals of 15 digits`(double: Double, decimal: String) {
    #expect(Decimal128(double).description == decimal)
  }
}
