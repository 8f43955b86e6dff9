/// A request method, which is case-sensitive.
///
/// - Source: RFC 9110 section 9.
package struct Method: RawRepresentable, Hashable, Sendable {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  package static let get = Method(rawValue: "GET")
  package static let put = Method(rawValue: "PUT")
  package static let post = Method(rawValue: "POST")
  package static let patch = Method(rawValue: "PATCH")
  package static let delete = Method(rawValue: "DELETE")
  package static let head = Method(rawValue: "HEAD")
  package static let options = Method(rawValue: "OPTIONS")
}

/// The status of a response.
///
/// - Source: RFC 9110 section 15, RFC 6585.
package struct Status: Hashable, Sendable {
  package let code: Int
  let words: StaticString

  private init(_ code: Int, _ words: StaticString) {
    self.code = code
    self.words = words
  }

  package var reason: String { "\(words)" }

  /// The statuses of responses that may be stored and repeated.
  static let kept = [ok, created, accepted, noContent]

  package static func == (first: Status, second: Status) -> Bool { first.code == second.code }

  package func hash(into hasher: inout Hasher) { hasher.combine(code) }

  package static let ok = Status(200, "OK")
  package static let created = Status(201, "Created")
  package static let accepted = Status(202, "Accepted")
  package static let noContent = Status(204, "No Content")
  package static let found = Status(302, "Found")
  package static let seeOther = Status(303, "See Other")
  package static let notModified = Status(304, "Not Modified")
  package static let badRequest = Status(400, "Bad Request")
  package static let unauthorized = Status(401, "Unauthorized")
  package static let forbidden = Status(403, "Forbidden")
  package static let notFound = Status(404, "Not Found")
  package static let methodNotAllowed = Status(405, "Method Not Allowed")
  package static let conflict = Status(409, "Conflict")
  package static let preconditionFailed = Status(412, "Precondition Failed")
  package static let contentTooLarge = Status(413, "Content Too Large")
  package static let uriTooLong = Status(414, "URI Too Long")
  package static let unsupportedMediaType = Status(415, "Unsupported Media Type")
  package static let unprocessable = Status(422, "Unprocessable Content")
  package static let tooManyRequests = Status(429, "Too Many Requests")
  package static let headerTooLarge = Status(431, "Request Header Fields Too Large")
  package static let internalError = Status(500, "Internal Server Error")
  package static let unavailable = Status(503, "Service Unavailable")
}
