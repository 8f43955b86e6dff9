import Encoding

/// The parts of a `multipart/form-data` body.
///
/// - Source: RFC 7578; RFC 2046 section 5.1.
package struct Multipart: Sendable {
  package let parts: [Part]

  package struct Part: Sendable {
    package let name: String
    /// The file name as the client sent it, so it is not a trusted path; nil for a plain value.
    package let fileName: String?
    /// The media type; nil if it is missing or malformed.
    package let type: MediaType?
    package let content: ArraySlice<UInt8>
  }

  /// Limits of a multipart body in addition to the body limit.
  package struct Limits: Sendable, Equatable {
    package let parts: Int
    /// The largest content of one part, in bytes.
    package let content: Int

    package init(parts: Int, content: Int) { (self.parts, self.content) = (parts, content) }

    /// The largest header of a part, in bytes: a name, a file name and a media type.
    fileprivate static let header = 4_096
  }

  /// Returns the part with this name.
  ///
  /// Names are unique; see `init`.
  package subscript(_ name: String) -> Part? {
    parts.first { $0.name.utf8.elementsEqual(name.utf8) }
  }

  /// Parses a body.
  ///
  /// Bytes before the first boundary and after the last are ignored.
  /// - Parameters:
  ///   - bytes: the whole body.
  ///   - boundary: the result of `boundary(in:)`.
  ///   - limits: the limits of the body.
  /// - Throws: `MultipartError`, also if a name is duplicated or missing.
  /// - Complexity: O(*n*) for *n* bytes.
  package init(_ bytes: [UInt8], boundary: String, limits: Limits) throws(MultipartError) {
    var scan = DelimiterScan(bytes, boundary)
    guard var start = scan.next()?.end else { throw .noBoundary }
    var parts: [Part] = []
    var names: Set<[UInt8]> = []
    while !scan.isLast {
      guard let next = scan.next() else { throw .unfinished }
      guard parts.count < limits.parts else { throw .tooManyParts(limit: limits.parts) }
      let part = try Self.part(bytes[start..<next.start], limits)
      guard names.insert(Array(part.name.utf8)).inserted else { throw .nameTwice }
      parts.append(part)
      start = next.end
    }
    self.parts = parts
  }

  private static func part(
    _ bytes: ArraySlice<UInt8>, _ limits: Limits
  ) throws(MultipartError) -> Part {
    var rest = bytes
    var (name, fileName, type) = (String?.none, String?.none, MediaType?.none)
    while true {
      guard let line = takeLine(&rest, in: bytes),
        let text = String(validating: line, as: UTF8.self)
      else { throw .malformedHeader }
      if text.isEmpty { break }
      guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { throw .malformedHeader }
      let value = String(text[text.utf8.index(after: colon)...])
      switch text[..<colon].lowercased() {
      case "content-disposition":
        guard let parameters = FieldParameters(value), parameters.value == "form-data" else {
          throw .malformedHeader
        }
        (name, fileName) = (parameters["name"], parameters["filename"])
      case "content-type": type = MediaType(value)
      default: break
      }
    }
    guard let name else { throw .nameless }
    guard rest.count <= limits.content else { throw .partTooLong(limit: limits.content) }
    return Part(name: name, fileName: fileName, type: type, content: rest)
  }

  /// Returns the next header line of a part without its line end.
  ///
  /// Returns nil if the line does not end within the header's limit.
  private static func takeLine(
    _ rest: inout ArraySlice<UInt8>, in part: ArraySlice<UInt8>
  ) -> ArraySlice<UInt8>? {
    let most = min(part.endIndex, part.startIndex + Limits.header)
    guard rest.startIndex < most,
      let end = rest[..<most].firstIndex(of: UInt8(ascii: "\r")), end + 1 < most,
      rest[end + 1] == UInt8(ascii: "\n")
    else { return nil }
    defer { rest = rest[(end + 2)...] }
    return rest[rest.startIndex..<end]
  }

  /// Returns the boundary in a media type; nil if it is missing or invalid.
  package static func boundary(in field: FieldParameters) -> String? {
    guard let boundary = field["boundary"],
      (1...70).contains(boundary.utf8.count), boundary.utf8.last != UInt8(ascii: " "),
      boundary.utf8.allSatisfy(isOfBoundary)
    else { return nil }
    return boundary
  }

  private static func isOfBoundary(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "'()+_,-./:=? ".utf8.contains(byte)
  }
}

/// The error for a malformed multipart body.
package enum MultipartError: Error, Equatable {
  case noBoundary
  /// The body ends before its last boundary.
  case unfinished
  case malformedHeader
  case nameless
  case nameTwice
  case tooManyParts(limit: Int)
  case partTooLong(limit: Int)
}

/// Finds the delimiter lines between parts.
private struct DelimiterScan {
  private let bytes: [UInt8]
  private let delimiter: [UInt8]
  private var place = 0
  private var hasBegun = false
  /// Whether the last delimiter found ends the body.
  private(set) var isLast = false

  init(_ bytes: [UInt8], _ boundary: String) {
    self.bytes = bytes
    delimiter = Array("\r\n--\(boundary)".utf8)
  }

  /// Returns the range of the next delimiter, from the line end before it to the end of its line.
  ///
  /// A boundary contains no line end. So a failed match contains no other start, and no byte is
  /// compared twice.
  mutating func next() -> (start: Int, end: Int)? {
    // The first delimiter may be at the start of the body.
    if !hasBegun {
      hasBegun = true
      if let end = end(of: 0, matching: delimiter[2...]) { return (0, end) }
      place = 0
    }
    while place < bytes.count {
      guard let start = bytes[place...].firstIndex(of: delimiter[0]) else { break }
      if let end = end(of: start, matching: delimiter[...]) { return (start, end) }
    }
    place = bytes.count
    return nil
  }

  private mutating func end(of start: Int, matching text: ArraySlice<UInt8>) -> Int? {
    var index = start
    for byte in text {
      guard index < bytes.count, bytes[index] == byte else {
        place = max(start + 1, index)
        return nil
      }
      index += 1
    }
    place = max(start + 1, index)
    if bytes[index...].starts(with: "--".utf8) {
      isLast = true
      place = bytes.count
      return bytes.count
    }
    while index < bytes.count,
      bytes[index] == UInt8(ascii: " ") || bytes[index] == UInt8(ascii: "\t")
    { index += 1 }
    guard bytes[index...].starts(with: "\r\n".utf8) else {
      place = max(place, index)
      return nil
    }
    place = index + 2
    return place
  }
}
