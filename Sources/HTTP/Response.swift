import EventLoop

/// The rest of a body, which is read while it is sent.
package struct ResponseStream: Sendable {
  /// The length, in bytes.
  package let length: Int
  /// Returns the next bytes; nil at the end, or if they cannot be read.
  ///
  /// The client notices what is missing by the length.
  package let next: @EventLoop @Sendable () async -> [UInt8]?

  package init(length: Int, _ next: @escaping @EventLoop @Sendable () async -> [UInt8]?) {
    (self.length, self.next) = (length, next)
  }
}

/// A response.
package struct Response: Sendable {
  package let status: Status
  package var body: [UInt8] = []
  /// The bytes after `body`; nil without any.
  package var stream: ResponseStream?
  /// Whether the response has values that only one request may get.
  package private(set) var isSentOnce = false
  /// The status and the fields, as they are sent.
  private var head: [UInt8] = []

  package init(_ status: Status) {
    self.status = status
    // Enough for most responses.
    head.reserveCapacity(192)
    append(status.line)
  }

  /// Creates a response with a JSON body, which caches must not store, since it belongs to one
  /// user.
  package init(_ status: Status, json: [UInt8], tag: EntityTag? = nil) {
    self.init(status)
    body = json
    // Each append costs about 90 instructions, so constant parts are one literal.
    if let tag {
      append("Content-Type: application/json\r\nCache-Control: no-store\r\nETag: \"")
      append(tag.version)
      append("\"\r\n")
    } else {
      append("Content-Type: application/json\r\nCache-Control: no-store\r\n")
    }
  }

  /// Creates a redirect, which caches must not store.
  package init(_ status: Status, redirectingTo url: String) {
    self.init(status)
    add(.location, url)
    add(.cacheControl, literal: "no-store")
  }

  /// Adds a field.
  ///
  /// It removes control characters, which could split a value into two fields.
  package mutating func add(_ name: FieldName, _ value: String) {
    append(name.literal)
    append(": ")
    var value = value
    value.withUTF8 { bytes in
      var start = 0
      for (index, byte) in bytes.enumerated() where byte < 0x20 || byte == 0x7f {
        head.append(contentsOf: bytes[start..<index])
        start = index + 1
      }
      head.append(contentsOf: bytes[start...])
    }
    append("\r\n")
  }

  /// Adds a constant line with a field, which ends with CRLF.
  package mutating func add(line: StaticString) { append(line) }

  /// Adds a field with a constant value.
  package mutating func add(_ name: FieldName, literal value: StaticString) {
    append(name.literal)
    append(": ")
    append(value)
    append("\r\n")
  }

  /// Adds the id of the request, whose characters are all allowed in a field.
  package mutating func add(_ id: RequestID) {
    append("X-Request-Id: ")
    head += id.description.utf8
    append("\r\n")
  }

  /// The length of the head so far, in bytes.
  package var headLength: Int { head.count }

  /// Returns the value of the first field with this name.
  package subscript(_ name: FieldName) -> String? {
    let start = Array("\(name.literal): ".utf8)
    let end = Array("\r\n".utf8)
    return head.split(separator: end).first { $0.starts(with: start) }.map {
      String(decoding: $0.dropFirst(start.count), as: UTF8.self)
    }
  }

  /// Whether the response may be stored and repeated.
  package var isKept: Bool { !isSentOnce && Status.kept.contains(status) }

  /// Returns the response as one that is never stored, nor sent to a repeated request.
  ///
  /// It has tokens of a new session, or secrets that the database keeps only as hashes.
  package func sentOnce() -> Response {
    var response = self
    response.isSentOnce = true
    return response
  }

  /// The stored form of the response, from which `init(kept:)` recreates it.
  package var kept: [UInt8] { head + Array("\r\n".utf8) + body }

  /// Recreates a stored response; nil if its status is not one that may be stored.
  package init?(kept bytes: [UInt8]) {
    let line = Array("Status: ".utf8)
    let end = Array("\r\n\r\n".utf8)
    guard bytes.starts(with: line), let gap = bytes.firstRange(of: end),
      let status = Status.kept.first(where: { status in
        bytes[line.count...].starts(with: "\(status.code) ".utf8)
      })
    else { return nil }
    self.status = status
    head = Array(bytes[..<(gap.lowerBound + 2)])
    body = Array(bytes[gap.upperBound...])
  }

  private mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { head.append(contentsOf: $0) }
  }

  /// Appends a non-negative number.
  private mutating func append(_ number: Int) {
    var unit = 1
    while number / unit >= 10 { unit *= 10 }
    while unit > 0 {
      head.append(UInt8(ascii: "0") + UInt8(number / unit % 10))
      unit /= 10
    }
  }

  /// Completes the head and returns the whole response in the form of a CGI program.
  ///
  /// - Parameter withBody: false for HEAD.
  /// - Returns: head and body.
  /// - Source: RFC 3875 section 6.
  package mutating func message(withBody: Bool) -> (head: [UInt8], body: [UInt8]) {
    if status != .noContent, status != .notModified {
      append("Content-Length: ")
      append(body.count + (stream?.length ?? 0))
      append("\r\n\r\n")
    } else {
      append("\r\n")
    }
    return (head, withBody ? body : [])
  }
}
