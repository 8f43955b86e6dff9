/// An answer.
package struct Response: Sendable {
  package let status: Status
  package var body: [UInt8] = []
  /// Status and fields as they are sent.
  private var head: [UInt8] = []

  package init(_ status: Status) {
    self.status = status
    // Enough for what most answers have.
    head.reserveCapacity(320)
    append("Status: ")
    append(status.code)
    append(" ")
    append(status.reason)
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
    append(name.wire)
    append(": ")
    if value.utf8.allSatisfy(Self.isVisible) {
      append(value)
    } else {
      head.append(contentsOf: value.utf8.lazy.filter(Self.isVisible))
    }
    append("\r\n")
  }

  private static func isVisible(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7f }

  private mutating func append(_ text: String) { head.append(contentsOf: text.utf8) }

  private mutating func append(_ number: Int) {
    guard number >= 10 || number < 0 else {
      return head.append(UInt8(ascii: "0") + UInt8(number))
    }
    append(String(number))
  }

  /// The whole answer as a FastCGI application gives it to the web server.
  ///
  /// - Parameter withBody: false for HEAD.
  /// - Returns: head and body.
  /// - Source: RFC 3875 section 6.
  package consuming func message(withBody: Bool) -> (head: [UInt8], body: [UInt8]) {
    if status != .noContent, status != .notModified {
      append("Content-Length: ")
      append(body.count)
      append("\r\n")
    }
    append("\r\n")
    return (head, withBody ? body : [])
  }
}
