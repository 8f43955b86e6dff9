import Encoding
import Testing

@Suite struct ASCIITests {
  @Test func `the visible characters are those from ! to ~`() {
    let visible = (UInt8.min...UInt8.max).filter(\.isVisible)
    #expect(visible == Array(UInt8(ascii: "!")...UInt8(ascii: "~")))
  }

  @Test(
    arguments: [
      (0, 2, 10, "00"), (7, 2, 10, "07"), (2_026, 4, 10, "2026"), (12_345, 4, 10, "12345"),
      (255, 4, 16, "00ff"),
    ]
  )
  func `a number gets zeros in front, and keeps all its digits`(
    number: Int, digits: Int, radix: Int, text: String
  ) {
    #expect(String(number, digits: digits, radix: radix) == text)
  }

  @Test func `spaces and hyphens of a typed code do not count`() {
    #expect("12 34-56".withoutSpacesAndHyphens == "123456")
  }
}
