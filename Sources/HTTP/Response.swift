/// An answer.
package struct Response: Sendable {
  package let status: Status
  package var body: [UInt8] = []
  /// Status and fields as they are sent.
  private var head: [UInt8] = []

  package init(_ status: Status) {
    self.status = status
    // Enough for what most answers have.
    head.reserveCapacity(192)
    append("Status: ")
    for unit in [100, 10, 1] { head.append(UInt8(ascii: "0") + UInt8(status.code / unit % 10)) }
    append(" ")
    append(status.words)
    append("\r\n")
  }

  /// An answer with a JSON body, which nobody may keep: it is one user's.
  package init(_ status: Status, json: [UInt8], tag: EntityTag? = nil) {
    self.init(status)
    body = json
    append("Content-Type: application/json\r\nCache-Control: no-store\r\n")
    if let tag {
      append("ETag: \"")
      append(tag.version)
      append("\"\r\n")
    }
  }

  /// Adds a field.
  ///
  /// Control characters, with which a value could become two fields, are left out.
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

  /// Adds a field whose value is known beforehand.
  package mutating func add(_ name: FieldName, literal value: StaticString) {
    append(name.literal)
    append(": ")
    append(value)
    append("\r\n")
  }

  /// The value of the first field of that name.
  package subscript(_ name: FieldName) -> String? {
    let start = Array("\(name.literal): ".utf8)
    let end = Array("\r\n".utf8)
    return head.split(separator: end).first { $0.starts(with: start) }.map {
      String(decoding: $0.dropFirst(start.count), as: UTF8.self)
    }
  }

  /// What it takes to give the same answer again.
  package var kept: [UInt8] { head + Array("\r\n".utf8) + body }

  /// The same answer again; nil when it is of a kind that is not kept.
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

  /// Appends a number that is not negative.
  private mutating func append(_ number: Int) {
    var unit = 1
    while number / unit >= 10 { unit *= 10 }
    while unit > 0 {
      head.append(UInt8(ascii: "0") + UInt8(number / unit % 10))
      unit /= 10
    }
  }

  /// Ends the head: the whole answer as a CGI program gives it to the web server.
  ///
  /// - Parameter withBody: false for HEAD.
  /// - Returns: head and body.
  /// - Source: RFC 3875 section 6.
  package mutating func message(withBody: Bool) -> (head: [UInt8], body: [UInt8]) {
    if status != .noContent, status != .notModified {
      append("Content-Length: ")
      append(body.count)
      append("\r\n")
    }
    append("\r\n")
    return (head, withBody ? body : [])
  }
}
