/// The name of a header field, with the case in which it is sent.
package struct FieldName: Hashable, Sendable {
  /// The name as a literal, so that copies, lookups and writes need no allocation.
  package let literal: StaticString

  package init(_ literal: StaticString) { self.literal = literal }

  package var text: String { "\(literal)" }

  package static func == (first: FieldName, second: FieldName) -> Bool {
    first.text == second.text
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(text) }

  // Request fields.
  package static let authorization = FieldName("Authorization")
  package static let contentType = FieldName("Content-Type")
  package static let cookie = FieldName("Cookie")
  package static let host = FieldName("Host")
  package static let idempotencyKey = FieldName("Idempotency-Key")
  package static let ifMatch = FieldName("If-Match")
  package static let ifNoneMatch = FieldName("If-None-Match")
  package static let origin = FieldName("Origin")
  package static let requestID = FieldName("X-Request-Id")
  package static let accept = FieldName("Accept")
  package static let acceptLanguage = FieldName("Accept-Language")
  package static let userAgent = FieldName("User-Agent")
  package static let traceparent = FieldName("Traceparent")

  // Response fields.
  package static let acceptPatch = FieldName("Accept-Patch")
  package static let accessAllowCredentials = FieldName("Access-Control-Allow-Credentials")
  package static let accessAllowHeaders = FieldName("Access-Control-Allow-Headers")
  package static let accessAllowMethods = FieldName("Access-Control-Allow-Methods")
  package static let accessAllowOrigin = FieldName("Access-Control-Allow-Origin")
  package static let accessExposeHeaders = FieldName("Access-Control-Expose-Headers")
  package static let accessMaxAge = FieldName("Access-Control-Max-Age")
  package static let allow = FieldName("Allow")
  package static let authenticate = FieldName("WWW-Authenticate")
  package static let cacheControl = FieldName("Cache-Control")
  package static let contentDisposition = FieldName("Content-Disposition")
  package static let contentLanguage = FieldName("Content-Language")
  package static let contentSecurityPolicy = FieldName("Content-Security-Policy")
  package static let entityTag = FieldName("ETag")
  package static let idempotentReplayed = FieldName("Idempotent-Replayed")
  package static let link = FieldName("Link")
  package static let location = FieldName("Location")
  package static let rateLimit = FieldName("RateLimit")
  package static let rateLimitPolicy = FieldName("RateLimit-Policy")
  package static let rateLimitQuota = FieldName("X-RateLimit-Limit")
  package static let rateLimitRemaining = FieldName("X-RateLimit-Remaining")
  package static let rateLimitReset = FieldName("X-RateLimit-Reset")
  package static let referrerPolicy = FieldName("Referrer-Policy")
  package static let retryAfter = FieldName("Retry-After")
  package static let setCookie = FieldName("Set-Cookie")
  package static let totalCount = FieldName("Total-Count")
}

/// A source of a request's header fields, which are looked up individually on demand.
package protocol FieldSource: AnyObject {
  /// Returns the value of a field; nil if the client did not send it.
  @_lifetime(borrow self)
  func bytes(of name: FieldName) -> Span<UInt8>?

  /// The client's address as the web server reports it; nil without one.
  var clientAddress: String? { get }
}

extension FieldSource {
  /// Returns the value of a field; nil if the client did not send it.
  ///
  /// Repairs invalid UTF-8.
  package func field(_ name: FieldName) -> String? {
    bytes(of: name)?.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }
}

/// Fields in memory, for requests without a web server.
package final class FieldDictionary: FieldSource {
  private let names: [FieldName]
  private let values: [[UInt8]]
  package let clientAddress: String?

  package init(_ fields: [FieldName: String] = [:], clientAddress: String? = nil) {
    self.clientAddress = clientAddress
    names = Array(fields.keys)
    values = fields.values.map { Array($0.utf8) }
  }

  @_lifetime(borrow self)
  package func bytes(of name: FieldName) -> Span<UInt8>? {
    guard let index = names.firstIndex(of: name) else { return nil }
    let value = values[index]
    // The array is immutable for the lifetime of this object.
    return unsafe _overrideLifetime(value.span, borrowing: self)
  }
}
