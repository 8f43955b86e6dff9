/// The name of a header field, and the parameter under which FastCGI carries it.
package struct FieldName: Hashable, Sendable {
  package let wire: String
  /// A literal, so that looking a field up allocates nothing.
  package let parameter: StaticString

  private init(_ wire: String, _ parameter: StaticString) {
    self.wire = wire
    self.parameter = parameter
  }

  package static func == (first: FieldName, second: FieldName) -> Bool {
    first.wire == second.wire
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(wire) }

  // Fields that are read.
  package static let app = FieldName("Dossier-App", "HTTP_DOSSIER_APP")
  package static let authorization = FieldName("Authorization", "HTTP_AUTHORIZATION")
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
package protocol FieldSource {
  /// Nil when the client did not send it.
  func field(_ name: FieldName) -> String?
}

/// Fields in memory, for requests that no web server carried.
package struct FieldDictionary: FieldSource {
  private let fields: [FieldName: String]
  package init(_ fields: [FieldName: String] = [:]) { self.fields = fields }
  package func field(_ name: FieldName) -> String? { fields[name] }
}
