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
  /// The first line of a response, as a CGI program writes it: one append to each response.
  let line: StaticString

  private init(_ line: StaticString) {
    self.line = line
    code = line.withUTF8Buffer { $0[8..<11].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } }
  }

  /// The words after the code.
  package var reason: String { String("\(line)".dropFirst("Status: 200 ".count).dropLast()) }

  /// The statuses of responses that may be stored and repeated.
  static let kept = [ok, created, accepted, noContent]

  package static func == (first: Status, second: Status) -> Bool { first.code == second.code }

  package func hash(into hasher: inout Hasher) { hasher.combine(code) }

  package static let ok = Status("Status: 200 OK\r\n")
  package static let created = Status("Status: 201 Created\r\n")
  package static let accepted = Status("Status: 202 Accepted\r\n")
  package static let noContent = Status("Status: 204 No Content\r\n")
  package static let found = Status("Status: 302 Found\r\n")
  package static let seeOther = Status("Status: 303 See Other\r\n")
  package static let notModified = Status("Status: 304 Not Modified\r\n")
  package static let badRequest = Status("Status: 400 Bad Request\r\n")
  package static let unauthorized = Status("Status: 401 Unauthorized\r\n")
  package static let forbidden = Status("Status: 403 Forbidden\r\n")
  package static let notFound = Status("Status: 404 Not Found\r\n")
  package static let methodNotAllowed = Status("Status: 405 Method Not Allowed\r\n")
  package static let conflict = Status("Status: 409 Conflict\r\n")
  package static let gone = Status("Status: 410 Gone\r\n")
  package static let preconditionFailed = Status("Status: 412 Precondition Failed\r\n")
  package static let contentTooLarge = Status("Status: 413 Content Too Large\r\n")
  package static let uriTooLong = Status("Status: 414 URI Too Long\r\n")
  package static let unsupportedMediaType = Status("Status: 415 Unsupported Media Type\r\n")
  package static let unprocessable = Status("Status: 422 Unprocessable Content\r\n")
  package static let tooManyRequests = Status("Status: 429 Too Many Requests\r\n")
  package static let headerTooLarge = Status("Status: 431 Request Header Fields Too Large\r\n")
  package static let internalError = Status("Status: 500 Internal Server Error\r\n")
  package static let unavailable = Status("Status: 503 Service Unavailable\r\n")
}
