/// A time that somebody wrote, checked here so that the database cannot but read it.
struct Moment: Equatable {
  /// As the database takes it.
  let text: String
  let year: Int
  /// Hours from UTC, in either direction; nil for a date alone.
  let zone: Int?

  /// Reads a date, or a date and a time with a zone.
  ///
  /// - Source: RFC 3339 section 5.6, without leap seconds.
  init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    guard let year = rest.takeNumber(4), year > 0, rest.take("-"),
      let month = rest.takeNumber(2), (1...12).contains(month), rest.take("-"),
      let day = rest.takeNumber(2), (1...Self.days(month, year)).contains(day)
    else { return nil }
    guard !rest.isEmpty else {
      (self.text, self.year, zone) = (text + "T00:00:00Z", year, nil)
      return
    }
    guard rest.take("T"), rest.takeClock(to: 23) != nil, rest.take(":"),
      let second = rest.takeNumber(2),
      second < 60
    else { return nil }
    if rest.take(".") {
      let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
      guard (1...9).contains(digits) else { return nil }
      rest = rest.dropFirst(digits)
    }
    var zone = 0
    if !rest.take("Z") {
      // PostgreSQL knows zones up to 15:59.
      guard rest.take("+") || rest.take("-"), let hours = rest.takeClock(to: 15) else { return nil }
      zone = hours
    }
    guard rest.isEmpty else { return nil }
    (self.text, self.year, self.zone) = (text, year, zone)
  }

  private static func days(_ month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func take(_ mark: Character) -> Bool {
    guard first == mark.asciiValue else { return false }
    self = dropFirst()
    return true
  }

  fileprivate mutating func takeNumber(_ digits: Int) -> Int? {
    let number = prefix(digits)
    guard number.count == digits,
      number.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    self = dropFirst(digits)
    return number.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// Takes hours and minutes; the hours.
  fileprivate mutating func takeClock(to lastHour: Int) -> Int? {
    guard let hour = takeNumber(2), hour <= lastHour, take(":"), let minute = takeNumber(2),
      minute < 60
    else { return nil }
    return hour
  }
}
