import Dossier
import HTTP

/// What browsers are told about pages of other origins, by the fields of a wire.
///
/// - Source: Fetch Standard, section 3.2 (CORS protocol).
struct CrossOrigin: Sendable {
  private let sent: String
  private let exposed: String

  init(_ fields: CrossOriginFields) {
    sent = fields.sent.map(\.text).joined(separator: ", ")
    exposed = fields.exposed.map(\.text).joined(separator: ", ")
  }

  /// Lets a page of an allowed origin read an answer.
  func permit(_ origin: String, in response: inout Response) {
    response.add(.accessAllowOrigin, origin)
    response.add(.accessAllowCredentials, literal: "true")
    if !exposed.isEmpty { response.add(.accessExposeHeaders, exposed) }
  }

  /// Lets a page of an allowed origin send a request, and remember that for ten minutes.
  func permit(_ origin: String, methods: String, in response: inout Response) {
    permit(origin, in: &response)
    response.add(.accessAllowMethods, methods)
    if !sent.isEmpty { response.add(.accessAllowHeaders, sent) }
    response.add(.accessMaxAge, literal: "600")
  }
}
