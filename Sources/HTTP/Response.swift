/// An answer.
package struct Response: Sendable {
  package var status: Status
  package private(set) var fields: [(FieldName, String)] = []
  package var body: [UInt8] = []

  package init(_ status: Status) { self.status = status }

  /// An answer with a JSON body, which nobody may keep: it is one user's.
  package init(_ status: Status, json: [UInt8], tag: EntityTag? = nil) {
    self.status = status
    body = json
    add(.contentType, "application/json")
    add(.cacheControl, "no-store")
    if let tag { add(.entityTag, tag.description) }
  }

  /// Adds a field.
  ///
  /// Control characters, with which a value could become two fields, are left out.
  package mutating func add(_ name: FieldName, _ value: String) {
    let isClean = value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    fields.append((name, isClean ? value : String(value.filter(Self.isVisible))))
  }

  private static func isVisible(_ character: Character) -> Bool {
    character.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
  }

  /// The value of the first field of that name.
  package subscript(_ name: FieldName) -> String? { fields.first { $0.0 == name }?.1 }

  /// The whole answer as a FastCGI application gives it to the web server.
  ///
  /// - Parameter withBody: false for HEAD.
  /// - Returns: head and body.
  /// - Source: RFC 3875 section 6.
  package func serialized(withBody: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256 + body.count)
    func append(_ name: String, _ value: String) {
      bytes.append(contentsOf: name.utf8)
      bytes.append(contentsOf: ": ".utf8)
      bytes.append(contentsOf: value.utf8)
      bytes.append(contentsOf: "\r\n".utf8)
    }
    append("Status", "\(status.code) \(status.reason)")
    for (name, value) in fields { append(name.wire, value) }
    if status != .noContent, status != .notModified {
      append("Content-Length", String(body.count))
    }
    bytes.append(contentsOf: "\r\n".utf8)
    if withBody { bytes.append(contentsOf: body) }
    return bytes
  }
}
