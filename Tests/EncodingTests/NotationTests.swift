import Testing

@testable import Encoding

@Suite struct NotationTests {
  /// RFC 4648 section 10, and bytes that need the last two digits.
  @Test(
    arguments: [
      ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
      ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"), ("~~?~", "fn4_fg"), ("~~>~", "fn4-fg"),
    ]
  )
  func `base64url decodes to the bytes that were encoded`(bytes: String, text: String) {
    #expect(Array(bytes.utf8).base64URL == text)
    #expect([UInt8](base64URL: text) == Array(bytes.utf8))
  }

  /// Bits behind the last byte, padding, a single digit, the other alphabet, line ends.
  @Test(
    arguments: ["Zh", "Zm9=", "Zg==", "Z", "Zm9vY", "fn4/fg", "fn4+fg", "Zm9v\n", " Zm9v", "Zé9v"]
  )
  func `different base64url texts decode to different bytes`(_ text: String) {
    #expect([UInt8](base64URL: text) == nil)
  }

  @Test func `every byte survives base64 and hexadecimal digits`() {
    for count in 0..<300 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + count) }
      #expect([UInt8](base64URL: bytes.base64URL) == bytes)
      #expect([UInt8](base64: Array(bytes.base64.utf8)) == bytes)
      var text = Array("a.".utf8)
      text.append(base64URL: bytes)
      #expect(String(decoding: text, as: UTF8.self) == "a." + bytes.base64URL)
      #expect([UInt8](hexadecimal: String(hexadecimal: bytes).utf8) == bytes)
    }
  }

  /// For each byte where a digit stands, in each place of a group of four and of its rest.
  @Test func `a byte that is not a digit is refused at every position`() {
    let url = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    let hexadecimal = Set("0123456789abcdefABCDEF".utf8)
    for byte in UInt8.min ... .max {
      for place in 0..<8 {
        var text = Array("AAAAAAAA".utf8)
        text[place] = byte
        let read = String(validating: text, as: UTF8.self).flatMap { [UInt8](base64URL: $0) }
        #expect((read != nil) == url.contains(byte))
        #expect(([UInt8](hexadecimal: text) != nil) == hexadecimal.contains(byte))
      }
    }
    // Of two digits the last four bits must be zero, of three the last two.
    let valid = url.filter { [UInt8](base64URL: "A" + String(UnicodeScalar($0))) != nil }
    #expect(valid == Set("AQgw".utf8))
    let longer = url.filter { [UInt8](base64URL: "AA" + String(UnicodeScalar($0))) != nil }
    #expect(longer == Set("AEIMQUYcgkosw048".utf8))
  }

  @Test func `hexadecimal digits come in pairs of either case`() {
    #expect([UInt8](hexadecimal: "00aBFf".utf8) == [0, 0xab, 0xff])
    for text in ["0", "0g", "000", "１2"] { #expect([UInt8](hexadecimal: text.utf8) == nil) }
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0, 0), ("1970-01-01", 0, 0),
      ("2024-02-29T23:59:59.25Z", 1_709_251_199, 250_000_000),
      ("2012-12-24T12:15:30.501-05:00", 1_356_369_330, 501_000_000),
      ("2012-12-24T12:15:30+0530", 1_356_331_530, 0), ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
      ("9999-12-31T23:59:59.999999999Z", 253_402_300_799, 999_999_999),
    ]
  )
  func `a time of RFC 3339 is parsed`(text: String, seconds: Int, nanoseconds: Int) throws {
    let time = try #require(CalendarTime(text))
    #expect(time.seconds == seconds)
    #expect(time.nanoseconds == nanoseconds)
  }

  @Test(
    arguments: [
      "", "2025", "2025-02-29", "2025-13-01", "2025-00-01", "2025-01-00", "2025-04-31",
      "2025-01-01T", "2025-01-01T00:00:00", "2025-01-01T24:00:00Z", "2025-01-01T00:60:00Z",
      "2025-01-01T00:00:60Z", "2025-01-01T00:00Z", "2025-01-01T00:00:00.Z",
      "2025-01-01T00:00:00.0000000001Z", "2025-01-01T00:00:00+24:00", "2025-01-01T00:00:00+00:60",
      "2025-01-01T00:00:00Zx", "2025-01-01 00:00:00Z", "2025-01-01t00:00:00z", "12025-01-01",
      "-025-01-01", "2025-1-1", "２025-01-01",
    ]
  )
  func `other times are refused`(_ text: String) {
    #expect(CalendarTime(text) == nil)
  }

  /// 29 days are no month, so that every day of the month is met.
  @Test func `days survive formatting and parsing, also before 1970`() {
    for number in stride(from: -719_162, to: 2_932_896, by: 29) {
      let day = CalendarDay(number: number)
      #expect(day.number == number)
      #expect(CalendarDay(day.year, day.month, day.day) == day)
    }
  }

  @Test func `text in markup is escaped`() {
    #expect(HTML.escaped(#"<a b="c" d='e'>&"#) == "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;")
  }

  @Test(
    arguments: [
      ("abc", 3, "abc"), ("abcd", 3, "abc…"), ("aé", 2, "a…"), ("aé", 3, "aé"), ("é", 0, "…"),
      ("e\u{301}x", 1, "e…"), ("a\u{301}", 2, "a…"), ("😀😀", 7, "😀…"), ("", 0, ""),
    ]
  )
  func `a text is shortened between characters`(_ text: String, bytes: Int, excerpt: String) {
    #expect(Array(text.excerpt(bytes).utf8) == Array(excerpt.utf8))
  }
}
