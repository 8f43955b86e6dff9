import HTTP

/// The CORS header fields of a wire.
///
/// - Source: Fetch Standard, section 3.2 (CORS protocol).
struct CrossOrigin: Sendable {
  private let sent: String
  private let exposed: String

  init(_ fields: CrossOriginFields) {
    sent = fields.sent.map(\.text).joined(separator: ", ")
    exposed = fields.exposed.map(\.text).joined(separator: ", ")
  }

  /// Lets a page of an allowed origin read the response.
  func permit(_ origin: String, in response: inout Response) {
    response.add(.accessAllowOrigin, origin)
    response.add(.accessAllowCredentials, literal: "true")
    if !exposed.isEmpty { response.add(.accessExposeHeaders, exposed) }
  }

  /// Lets a page of an allowed origin send the request; browsers cache this for ten minutes.
  func permit(_ origin: String, methods: String, in response: inout Response) {
    permit(origin, in: &response)
    response.add(.accessAllowMethods, methods)
    if !sent.isEmpty { response.add(.accessAllowHeaders, sent) }
    response.add(.accessMaxAge, literal: "600")
  }
}
