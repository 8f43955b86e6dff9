import Sessions
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// An error response.
///
/// - Source: RFC 9457.
struct Problem {
  let failure: Failure
  private var type: ErrorType { failure.type }

  static let mediaType = MediaType(rawValue: "application/problem+json")

  init(_ failure: Failure) { self.failure = failure }

  /// Returns the body, without `instance` if the web server itself responds.
  func json(of id: RequestID?) -> JSON {
    var body = JSONObject()
    body["type"] = .string("/problems/\(type.code)")
    body["title"] = .string(type.title)
    body["status"] = .number(JSONNumber(type.status.code))
    body["detail"] = .string(failure.explanation)
    if let id { body["instance"] = .string("urn:dossier:request:\(id)") }
    body["code"] = .string(type.code)
    if !failure.faults.isEmpty { body["errors"] = FieldError.json(of: failure.faults) }
    for (name, value) in failure.members { body[name] = value }
    return .object(body)
  }

  func response(_ id: RequestID) -> Response {
    var response = Response(type.status)
    response.body = json(of: id).serialized()
    response.add(.contentType, Self.mediaType.rawValue)
    response.add(.cacheControl, "no-store")
    if let challenge { response.add(.authenticate, challenge) }
    // A property that does not exist has no entity tag.
    if let version = failure["current_version"]?.number?.int, failure["value"] != .null {
      response.add(.entityTag, EntityTag(version).description)
    }
    return response
  }

  /// The field `WWW-Authenticate`, which RFC 9110 section 15.5.2 requires in every 401.
  ///
  /// - Source: RFC 6750 section 3.1; RFC 9470 section 3.
  private var challenge: String? {
    let error: String? =
      switch failure {
      case .tokenInvalid, .tokenExpired, .sessionEnded: "invalid_token"
      case .insufficientScope: "insufficient_scope"
      case .reauthenticationRequired: "insufficient_user_authentication"
      default: nil
      }
    guard let error else { return type.kind == .unauthenticated ? "Bearer" : nil }
    let attributes = ["scope", "max_age"].compactMap { name in
      failure[name].map { ", \(name)=\"\($0.string ?? $0.text)\"" }
    }
    return """
      Bearer error="\(error)"\(attributes.joined()), error_description="\(type.title)"
      """
  }
}
