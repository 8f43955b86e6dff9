import Encoding
import Synchronization

/// A request without its body, which is read only when a route needs it.
package struct Request {
  package let method: Method
  package let id: RequestID
  /// Path and query as sent, without a doubled leading slash.
  private let target: String
  private let pathEnd: String.Index
  private let fields: any FieldSource

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - method: the method, as sent.
  ///   - target: the request target: path and query.
  ///   - fields: the source of the header fields.
  package init(method: Method, target: String, fields: any FieldSource) {
    self.method = method
    // Some clients join a base URL that ends in a slash with a path that begins with one.
    let target = Self.isDoubled(target.utf8.span) ? String(target.dropFirst()) : target
    self.target = target
    pathEnd = Self.pathEnd(in: target)
    self.fields = fields
    id = RequestID(fields.field(.requestID))
  }

  private static func isDoubled(_ target: Span<UInt8>) -> Bool {
    target.count > 1 && target[0] == UInt8(ascii: "/") && target[1] == UInt8(ascii: "/")
  }

  private static func pathEnd(in target: String) -> String.Index {
    let bytes = target.utf8.span
    for index in bytes.indices where bytes[index] == UInt8(ascii: "?") {
      return target.utf8.index(target.startIndex, offsetBy: index)
    }
    return target.endIndex
  }

  /// The path as sent, without the query.
  package var path: Substring { target[..<pathEnd] }

  /// The query as sent, without the question mark.
  package var query: Substring { target[pathEnd...].dropFirst() }

  /// The client's address as the web server reports it.
  package var address: String? { fields.clientAddress }

  package func field(_ name: FieldName) -> String? { fields.field(name) }

  package func has(_ name: FieldName) -> Bool { fields.bytes(of: name) != nil }

  /// Returns the bytes of a field, borrowed until the request is answered.
  @_lifetime(borrow self)
  package func bytes(of name: FieldName) -> Span<UInt8>? {
    // The request holds the source, so the source lives at least as long.
    unsafe _overrideLifetime(fields.bytes(of: name), borrowing: self)
  }
}

/// The identifier of a request in logs and responses.
package struct RequestID: Sendable, CustomStringConvertible {
  package let description: String
  /// A counter with a random start; see `made`.
  private static let counter = Atomic(UInt64.random(in: .min ... .max))

  /// Uses the id of the request if it has 1 to 64 letters, digits, dots, hyphens and underscores.
  ///
  /// Otherwise it creates one.
  package init(_ sent: String?) {
    if let sent, Self.isValid(sent) {
      description = sent
    } else {
      description = Self.made(Self.counter.wrappingAdd(1, ordering: .relaxed).newValue)
    }
  }

  /// Returns whether a text has the form of an id.
  package static func isValid(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(isAllowed)
  }

  /// Returns a mixed number in thirteen base-32 digits.
  ///
  /// It is unique in a process, and almost certainly among processes. It is not secret: a random
  /// number from the kernel would cost a system call for each id.
  /// - Source: SplitMix64 (Steele, Lea, Flood 2014), whose mixing is a bijection.
  private static func made(_ number: UInt64) -> String {
    var mixed = number &* 0x9e37_79b9_7f4a_7c15
    mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    mixed ^= mixed >> 31
    return String(unsafeUninitializedCapacity: 13) { digits in
      for index in digits.indices {
        let digit = UInt8(truncatingIfNeeded: mixed & 31)
        digits[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        mixed >>= 5
      }
      return digits.count
    }
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
    default: byte.isLetterOrDigit
    }
  }
}

/// The bearer token of a request.
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
    let bytes = field.utf8.span
    guard let start = Self.start(in: bytes), Self.isToken(bytes.extracting(start...)) else {
      self = .malformed
      return
    }
    self = .token(String(decoding: field.utf8.dropFirst(start), as: UTF8.self))
  }

  /// Returns the offset of the token in a field, without a check of its bytes.
  ///
  /// Returns nil if the field has another scheme, or nothing after the scheme.
  package static func start(in field: Span<UInt8>) -> Int? {
    guard field.count > scheme.utf8CodeUnitCount else { return nil }
    for index in 0..<scheme.utf8CodeUnitCount
    where field[index] | 0x20 != scheme.utf8Start[index] { return nil }
    var start = scheme.utf8CodeUnitCount
    while start < field.count, field[start] == UInt8(ascii: " ") { start += 1 }
    return start < field.count ? start : nil
  }

  /// The scheme in lower case.
  ///
  /// A request may use any case.
  private static let scheme: StaticString = "bearer "

  private static func isToken(_ bytes: Span<UInt8>) -> Bool {
    for index in bytes.indices where !isToken68(bytes[index]) { return false }
    return true
  }

  private static func isToken68(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"),
      UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
      true
    default: byte.isLetterOrDigit
    }
  }
}
