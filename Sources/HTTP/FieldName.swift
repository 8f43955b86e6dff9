/// The name of a header field, and the parameter under which FastCGI carries it.
package struct FieldName: Hashable, Sendable {
  /// As it is sent; a literal, as its parameter is, so that a name is copied and written at no cost.
  let literal: StaticString
  package let parameter: StaticString

  private init(_ literal: StaticString, _ parameter: StaticString) {
    self.literal = literal
    self.parameter = parameter
  }

  package var wire: String { "\(literal)" }

  package static func == (first: FieldName, second: FieldName) -> Bool {
    first.wire == second.wire
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(wire) }

  // Fields that are read.
  package static let app = FieldName("Dossier-App", "HTTP_DOSSIER_APP")
  package static let authorization = FieldName("Authorization", "HTTP_AUTHORIZATION")
  /// The client's address: no field, but told in the same way.
  package static let clientAddress = FieldName("", "REMOTE_ADDR")
  package static let contentType = FieldName("Content-Type", "CONTENT_TYPE")
  package static let cookie = FieldName("Cookie", "HTTP_COOKIE")
  package static let device = FieldName("Dossier-Device", "HTTP_DOSSIER_DEVICE")
  package static let host = FieldName("Host", "HTTP_HOST")
  package static let ifMatch = FieldName("If-Match", "HTTP_IF_MATCH")
  package static let ifNoneMatch = FieldName("If-None-Match", "HTTP_IF_NONE_MATCH")
  package static let origin = FieldName("Origin", "HTTP_ORIGIN")
  package static let userAgent = FieldName("User-Agent", "HTTP_USER_AGENT")
  package static let requestID = FieldName("X-Request-Id", "HTTP_X_REQUEST_ID")

  // Fields that are only written.
  package static let accessAllowCredentials = FieldName("Access-Control-Allow-Credentials", "")
  package static let accessAllowHeaders = FieldName("Access-Control-Allow-Headers", "")
  package static let accessAllowMethods = FieldName("Access-Control-Allow-Methods", "")
  package static let accessAllowOrigin = FieldName("Access-Control-Allow-Origin", "")
  package static let accessExposeHeaders = FieldName("Access-Control-Expose-Headers", "")
  package static let accessMaxAge = FieldName("Access-Control-Max-Age", "")
  package static let acceptPatch = FieldName("Accept-Patch", "")
  package static let allow = FieldName("Allow", "")
  package static let cacheControl = FieldName("Cache-Control", "")
  package static let contentDisposition = FieldName("Content-Disposition", "")
  package static let contentSecurityPolicy = FieldName("Content-Security-Policy", "")
  package static let entityTag = FieldName("ETag", "")
  package static let link = FieldName("Link", "")
  package static let location = FieldName("Location", "")
  package static let rateLimit = FieldName("RateLimit", "")
  package static let rateLimitPolicy = FieldName("RateLimit-Policy", "")
  package static let referrerPolicy = FieldName("Referrer-Policy", "")
  package static let retryAfter = FieldName("Retry-After", "")
  package static let setCookie = FieldName("Set-Cookie", "")
  package static let vary = FieldName("Vary", "")
  package static let authenticate = FieldName("WWW-Authenticate", "")
}

/// Where a request's header fields are looked up, one by one, on demand.
package protocol FieldSource: AnyObject {
  /// Nil when the client did not send it.
  @_lifetime(borrow self)
  func bytes(of name: FieldName) -> Span<UInt8>?
}

extension FieldSource {
  /// Nil when the client did not send it; invalid UTF-8 is repaired.
  package func field(_ name: FieldName) -> String? {
    bytes(of: name)?.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }
}

/// Fields in memory, for requests that no web server carried.
package final class FieldDictionary: FieldSource {
  private let names: [FieldName]
  private let values: [[UInt8]]

  package init(_ fields: [FieldName: String] = [:]) {
    names = Array(fields.keys)
    values = fields.values.map { Array($0.utf8) }
  }

  @_lifetime(borrow self)
  package func bytes(of name: FieldName) -> Span<UInt8>? {
    guard let index = names.firstIndex(of: name) else { return nil }
    let value = values[index]
    // The array stays as it is for as long as this is there.
    return unsafe _overrideLifetime(value.span, borrowing: self)
  }
}
