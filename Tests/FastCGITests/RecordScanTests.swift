import Testing

@testable import FastCGI

/// Tests how much of a request some bytes contain.
@Suite struct RecordScanTests {
  private static let begin = record(1, [0, 1, 1, 0, 0, 0, 0, 0])
  private static let parameters = record(4, Array("\u{e}\u{3}REQUEST_METHODGET".utf8), padding: 5)
  private static let endOfParameters = record(4, [])
  private static let body = record(5, Array("{}".utf8))
  private static let endOfBody = record(5, [])
  private static let head = begin + parameters + endOfParameters
  private static let request = head + body + endOfBody

  /// Returns a record with a type and content.
  private static func record(
    _ type: UInt8, _ content: [UInt8], id: UInt16 = 1, padding: Int = 0
  ) -> [UInt8] {
    [
      1, type, UInt8(id >> 8), UInt8(id & 0xff), UInt8(content.count >> 8),
      UInt8(content.count & 0xff), UInt8(padding), 0,
    ] + content + [UInt8](repeating: 0, count: padding)
  }

  private func scan(_ bytes: [UInt8]) -> RecordScan {
    unsafe bytes.withUnsafeBytes { unsafe RecordScan($0) }
  }

  @Test func `every prefix of a request is scanned correctly`() {
    for length in 0...Self.request.count {
      let wanted: RecordScan =
        if length < Self.head.count {
          .partialHead
        } else if length < Self.request.count {
          .head
        } else {
          .whole
        }
      #expect(scan(Array(Self.request[..<length])) == wanted, "\(length)")
    }
  }

  @Test func `bytes after a whole request are ignored`() {
    #expect(scan(Self.request + [0xff]) == .whole)
    #expect(scan(Self.request + Self.request) == .whole)
  }

  @Test func `parameters and bodies come in any number of records`() {
    let parts = Self.begin + (0..<50).flatMap { _ in Self.parameters } + Self.endOfParameters
    #expect(scan(parts) == .head)
    #expect(scan(parts + (0..<50).flatMap { _ in Self.body }) == .head)
    #expect(scan(parts + (0..<50).flatMap { _ in Self.body } + Self.endOfBody) == .whole)
  }

  @Test func `the header determines the length of a record with its padding`() {
    // Names and values of seven bytes.
    let long = Self.record(4, [UInt8](repeating: 7, count: 65_520), padding: 255)
    let bytes = Self.begin + long + Self.endOfParameters + Self.endOfBody
    #expect(scan(bytes) == .whole)
    #expect(scan(Array(bytes.dropLast())) == .head)
    // Without the padding, all later records are read at the wrong offset.
    let cut = Self.begin + long.dropLast(255) + Self.endOfParameters + Self.endOfBody
    #expect(scan(cut) != .whole)
  }

  @Test func `records of another request are ignored`() {
    let other = Self.record(4, [], id: 2) + Self.record(5, [], id: 2)
    #expect(scan(Self.begin + other) == .partialHead)
    #expect(scan(Self.head + other) == .head)
    #expect(
      scan(Self.begin + other + Self.parameters + Self.endOfParameters + Self.endOfBody) == .whole
    )
  }

  @Test(arguments: [
    [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], [0x80, 1, 0, 1, 0],
    [0, 0xff, 0xff, 0xff, 0xff],
    [1, 2, 65, 66, 67, 0xff, 0xff, 0xff, 0xfe, 1],
  ])
  func `a parameter longer than the window is refused, even if its length is split`(
    _ bytes: [UInt8]
  ) {
    for cut in 1..<bytes.count {
      let parts = Self.record(4, Array(bytes[..<cut])) + Self.record(4, Array(bytes[cut...]))
      #expect(scan(Self.begin + parts) == .garbage)
    }
    #expect(scan(Self.begin + Self.record(4, bytes)) == .garbage)
    #expect(scan(Self.begin + Self.record(4, [0x80, 0, 0, 1, 2, 65, 66, 67])) == .partialHead)
  }

  @Test func `parameters do not end within a parameter`() {
    let short = Array("\u{1}\u{1}ab".utf8)
    let long: [UInt8] = [0x80, 0, 0, 200, 0x80, 0, 1, 0] + [UInt8](repeating: 0xff, count: 456)
    let pairs = short + long + [0, 0] + short
    let ends = [0, 4, 468, 470, 474]
    for length in 0...pairs.count {
      let parameters = length == 0 ? [] : Self.record(4, Array(pairs[..<length]))
      let wanted: RecordScan = ends.contains(length) ? .head : .garbage
      #expect(scan(Self.begin + parameters + Self.endOfParameters) == wanted, "\(length)")
    }
  }

  @Test func `the end of the body before the end of the parameters is ignored`() {
    #expect(scan(Self.begin + Self.endOfBody) == .partialHead)
    #expect(scan(Self.begin + Self.endOfBody + Self.parameters) == .partialHead)
    #expect(scan(Self.begin + Self.endOfBody + Self.endOfParameters) == .head)
  }

  @Test func `records of unknown types are skipped, and management records refused`() {
    let unknown = Self.record(77, [1, 2, 3])
    #expect(scan(Self.begin + unknown + Self.parameters) == .partialHead)
    #expect(scan(Self.head + unknown + Self.endOfBody) == .whole)
    for type: UInt8 in [1, 9, 77] {
      let management = Self.record(type, [0, 1, 1, 0, 0, 0, 0, 0], id: 0)
      #expect(scan(management) == .garbage)
      #expect(scan(Self.begin + management) == .garbage)
      #expect(scan(Self.head + management + Self.endOfBody) == .garbage)
    }
  }

  @Test(arguments: [
    [UInt8](repeating: 0xff, count: 64), [UInt8](repeating: 0, count: 8),
    Array("GET / HTTP/1.1\r\n\r\n".utf8),
    // An unknown version, and parameters without a begun request.
    [2, 1, 0, 1, 0, 8, 0, 0], [1, 4, 0, 1, 0, 0, 0, 0],
  ])
  func `bytes that are not FastCGI are refused at their first header`(_ bytes: [UInt8]) {
    #expect(scan(bytes) == .garbage)
    #expect(scan(Array(bytes[..<7])) == .partialHead)
    #expect(scan(Self.begin + [2] + bytes) == .garbage)
  }
}
