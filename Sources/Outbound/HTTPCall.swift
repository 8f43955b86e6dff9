import Encoding

/// A request to another service.
package struct HTTPCall: Sendable {
  /// `https://…`, in ASCII, without user or password.
  package let url: String
  /// Names and values, encoded as `application/x-www-form-urlencoded`, which the call posts; nil for
  /// a call that gets.
  package let form: String?
  /// The content types that the caller can read.
  package var accept = "application/json"
  /// JSON that the call posts in place of a form; nil for none.
  private(set) var json: String?
  /// Bytes that the call posts in place of a form, with their content type; nil for none.
  private(set) var bytes: (body: [UInt8], type: String)?
  /// Further header fields.
  package var fields: [(name: String, value: String)] = []
  /// Whether the body of the answer matters; if not, an answer may have a body beyond the limit.
  package var readsBody = true

  /// In bytes: an access token can be long.
  private static let longestField = 16_384

  package init(_ url: String, form: String? = nil) { (self.url, self.form) = (url, form) }

  /// Creates a call that posts JSON.
  package init(_ url: String, json: String) {
    self.init(url)
    self.json = json
  }

  /// Creates a call that posts bytes.
  package init(_ url: String, bytes: [UInt8], type: String) {
    self.init(url)
    self.bytes = (bytes, type)
  }

  /// Adds an access token to the call.
  ///
  /// - Source: RFC 6750 section 2.1.
  package mutating func authorize(byBearer token: String) {
    fields.append(("Authorization", "Bearer \(token)"))
  }

  /// The fault of the call; nil if it can be sent.
  ///
  /// Values come from other services: a line break in one would begin another field.
  var fault: FetchError? {
    guard url.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), url.utf8.count <= 2_048 else {
      return .invalidURL("not ASCII without spaces, of at most 2048 bytes")
    }
    guard form?.utf8.allSatisfy(\.isVisible) != false, json?.utf8.contains(0) != true else {
      return .invalidForm
    }
    let wrong = allFields.first { field in
      field.name.isEmpty
        || !field.name.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
        || !(1...Self.longestField).contains(field.value.utf8.count)
        || !field.value.utf8.allSatisfy { $0.isVisible || $0 == UInt8(ascii: " ") }
    }
    return wrong.map { .invalidField($0.name) }
  }

  /// All header fields that the caller decides about.
  var allFields: [(name: String, value: String)] {
    let type = bytes?.type ?? (json == nil ? nil : "application/json")
    return [("Accept", accept)] + (type.map { [("Content-Type", $0)] } ?? []) + fields
  }
}

/// The answer to a call, of any status.
package struct HTTPAnswer: Sendable {
  /// It may be one of an error, or of a redirect, which is not followed.
  package let status: Int
  package let body: [UInt8]
  package let contentType: String?
  /// The freshness lifetime; zero if caching is forbidden, nil if the server does not state it.
  package let lifetime: Duration?
  /// The time of the server's clock, in seconds since 1970; nil if it does not state it.
  package let date: Int?
  /// The pause that the server asks for before another call; nil if it does not state one.
  package let retryAfter: Duration?
  /// The target of a redirect.
  let location: String?
}
