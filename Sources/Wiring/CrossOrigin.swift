import Dossier
import HTTP

/// What browsers are told about pages of other origins.
///
/// - Source: Fetch Standard, section 3.2 (CORS protocol).
enum CrossOrigin {
  /// Fields that a page may read beside those that it always may.
  private static let exposed =
    "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id"
  /// Fields that a page may send.
  private static let sent =
    "Authorization, Content-Type, Dossier-App, Dossier-Device, If-Match, If-None-Match, X-Request-Id"

  /// Lets a page of an allowed origin read an answer.
  static func permit(_ origin: String, in response: inout Response) {
    response.add(.accessAllowOrigin, origin)
    response.add(.accessAllowCredentials, "true")
    response.add(.accessExposeHeaders, exposed)
  }

  /// Lets a page of an allowed origin send a request, and remember that for ten minutes.
  static func permit(_ origin: String, methods: String, in response: inout Response) {
    permit(origin, in: &response)
    response.add(.accessAllowMethods, methods)
    response.add(.accessAllowHeaders, sent)
    response.add(.accessMaxAge, "600")
  }
}
