/// A request, but for its body, which is read when a route has asked for it.
package struct Request {
  package let method: Method
  /// As sent, without the query.
  package let path: Substring
  /// As sent, without the question mark.
  package let query: Substring
  package let id: RequestID
  /// The client's, as the web server gave it.
  package let address: String?
  private let fields: any FieldSource

  /// - Parameters:
  ///   - method: as sent.
  ///   - target: the request target, path and query.
  ///   - address: of the client.
  ///   - fields: where header fields are looked up.
  package init(method: Method, target: String, address: String?, fields: any FieldSource) {
    self.method = method
    if let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) {
      path = target[..<mark]
      query = target[target.utf8.index(after: mark)...]
    } else {
      path = target[...]
      query = ""
    }
    self.address = address
    self.fields = fields
    id = RequestID(fields.field(.requestID))
  }

  package func field(_ name: FieldName) -> String? { fields.field(name) }
}

/// What a request is called in logs and answers.
package struct RequestID: Sendable, CustomStringConvertible {
  package let description: String

  /// Takes the one that came with the request when it is 1 to 64 letters, digits, dots, hyphens and
  /// underscores; makes a random one otherwise.
  package init(_ sent: String?) {
    if let sent, (1...64).contains(sent.utf8.count), sent.utf8.allSatisfy(Self.isAllowed) {
      description = sent
    } else {
      let number = UInt64.random(in: .min ... .max)
      description = String(number, radix: 36)
    }
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
      UInt8(ascii: "."):
      true
    default: false
    }
  }
}

/// The credentials of a request.
///
/// - Source: RFC 6750 section 2.1.
package enum BearerToken: Equatable {
  case none
  case malformed
  case token(String)

  package init(_ field: String?) {
    guard let field else {
      self = .none
      return
    }
    // On the bytes in place: a token has hundreds, and every request has one.
    var text = field
    let start: Int? = text.withUTF8 { bytes in
      guard bytes.count > Self.scheme.count,
        zip(bytes, Self.scheme).allSatisfy({ $0 | 0x20 == $1 }),
        let start = bytes[Self.scheme.count...].firstIndex(where: { $0 != UInt8(ascii: " ") }),
        bytes[start...].allSatisfy(Self.isToken68)
      else { return nil }
      return start
    }
    guard let start else {
      self = .malformed
      return
    }
    self = .token(String(decoding: field.utf8.dropFirst(start), as: UTF8.self))
  }

  /// In lower case, which the scheme of a request need not be.
  private static let scheme = Array("bearer ".utf8)

  private static func isToken68(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"),
      UInt8(ascii: "="):
      true
    default: false
    }
  }
}
