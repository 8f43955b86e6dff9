/// The fields of a request by SCGI that a stream needs.
///
/// A request is one block of fields, with its length in front. Each name and each value ends with a
/// zero byte.
/// - Source: SCGI: A Simple Common Gateway Interface alternative, 2008.
package struct SCGIHead: Sendable, Equatable {
  package private(set) var query = ""
  package private(set) var address: String?
  /// The cursor of the last event that a browser has received; nil without one.
  package private(set) var lastEventID: String?

  /// The longest block of fields, in bytes; nginx reads header fields up to 16 KiB.
  package static let longest = 32_768
  private static let mostDigits = 5
  /// The bytes that a reader may have to keep: the length, a colon, the block and a comma.
  package static let longestMessage = longest + mostDigits + 2

  /// The meaning of the bytes so far.
  package enum Reading: Sendable, Equatable {
    case incomplete
    case invalid
    case whole(SCGIHead)
  }

  /// Reads the first bytes of a request.
  ///
  /// Bytes after the fields are ignored, since a stream takes no body.
  package static func read(_ bytes: [UInt8]) -> Reading {
    let digits = bytes.prefix(mostDigits + 1).prefix { $0 != UInt8(ascii: ":") }
    guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      digits.count <= mostDigits
    else { return .invalid }
    guard digits.count < bytes.count else { return .incomplete }
    let length = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    guard (1...longest).contains(length) else { return .invalid }
    let start = digits.count + 1
    guard bytes.count > start + length else { return .incomplete }
    let block = bytes[start..<start + length]
    guard bytes[start + length] == UInt8(ascii: ","), block.last == 0 else { return .invalid }
    let parts = block.dropLast().split(separator: 0, omittingEmptySubsequences: false)
    guard parts.count.isMultiple(of: 2) else { return .invalid }
    var head = SCGIHead()
    for place in stride(from: 0, to: parts.count, by: 2) {
      head.take(parts[place], parts[place + 1])
    }
    return .whole(head)
  }

  private mutating func take(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) {
    var text: String { String(decoding: value, as: UTF8.self) }
    if name.elementsEqual("QUERY_STRING".utf8) { query = text }
    if name.elementsEqual("REMOTE_ADDR".utf8) { address = text }
    if name.elementsEqual("HTTP_LAST_EVENT_ID".utf8) { lastEventID = text }
  }
}
