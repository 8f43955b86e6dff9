/// Times as people write them into files.
enum Timestamp {
  /// Whether it is a time of RFC 3339 that PostgreSQL takes, from 1970 on.
  static func isValid(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard (20...40).contains(bytes.count),
      let year = number(bytes, 0, 4), let month = number(bytes, 5, 2),
      let day = number(bytes, 8, 2), let hour = number(bytes, 11, 2),
      let minute = number(bytes, 14, 2), let second = number(bytes, 17, 2),
      bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] | 0x20 == UInt8(ascii: "t"), bytes[13] == UInt8(ascii: ":"),
      bytes[16] == UInt8(ascii: ":"), year >= 1970, (1...12).contains(month),
      (1...days(of: month, in: year)).contains(day), hour < 24, minute < 60, second < 60
    else { return false }
    var rest = bytes[19...]
    if rest.first == UInt8(ascii: ".") {
      let digits = rest.dropFirst().prefix(while: isDigit)
      guard (1...9).contains(digits.count) else { return false }
      rest = rest.dropFirst(1 + digits.count)
    }
    if rest.elementsEqual("Z".utf8) || rest.elementsEqual("z".utf8) { return true }
    let zone = Array(rest)
    guard zone.count == 6, zone[0] == UInt8(ascii: "+") || zone[0] == UInt8(ascii: "-"),
      zone[3] == UInt8(ascii: ":"), let hours = number(zone, 1, 2), let minutes = number(zone, 4, 2)
    else { return false }
    return hours < 15 && minutes < 60
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func number(_ bytes: [UInt8], _ start: Int, _ count: Int) -> Int? {
    let digits = bytes[start..<start + count]
    guard digits.allSatisfy(isDigit) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  private static func days(of month: Int, in year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}
