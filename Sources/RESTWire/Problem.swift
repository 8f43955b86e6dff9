import Dossier
import EventLoop
import HTTP
import JSON

/// An error response.
///
/// - Source: RFC 9457.
struct Problem {
  let type: ProblemType
  private let detail: String?
  /// The places in the input that break a rule.
  private var errors: [Fault] = []
  /// Additional members, such as the current version.
  private var extensions: [(String, JSON)] = []
  private var fields: [(FieldName, String)] = []

  static let mediaType = MediaType(rawValue: "application/problem+json")

  init(_ type: ProblemType, _ detail: String? = nil) {
    self.type = type
    self.detail = detail ?? type.advice
  }

  func at(_ faults: [Fault]) -> Problem {
    var problem = self
    problem.errors = faults
    return problem
  }

  /// Returns the problem with one place in the input, under the code of the problem.
  func at(_ pointer: String, _ detail: String) -> Problem {
    at([Fault(pointer, type.rawValue, detail)])
  }

  func with(_ name: String, _ value: JSON) -> Problem {
    var problem = self
    problem.extensions.append((name, value))
    return problem
  }

  func with(_ name: String, _ value: Int) -> Problem { with(name, .number(JSONNumber(value))) }

  func with(_ field: FieldName, _ value: String) -> Problem {
    var problem = self
    problem.fields.append((field, value))
    return problem
  }

  func retry(after time: Duration) -> Problem {
    with(.retryAfter, String(time.wholeSeconds))
  }

  /// Returns the body, without `instance` if the web server itself responds.
  func json(of id: RequestID?) -> JSON {
    var body = JSONObject()
    body["type"] = .string("/problems/\(type.rawValue)")
    body["title"] = .string(type.title)
    body["status"] = .number(JSONNumber(type.status.code))
    if let detail { body["detail"] = .string(detail) }
    if let id { body["instance"] = .string("urn:dossier:request:\(id)") }
    body["code"] = .string(type.rawValue)
    if !errors.isEmpty { body["errors"] = Fault.json(of: errors) }
    for (name, value) in extensions { body[name] = value }
    return .object(body)
  }

  func response(_ id: RequestID) -> Response {
    var response = Response(type.status)
    response.body = json(of: id).serialized()
    response.add(.contentType, Self.mediaType.rawValue)
    response.add(.cacheControl, "no-store")
    // RFC 9110 section 15.5.2 requires the field in every 401.
    if type.status == .unauthorized, !fields.contains(where: { $0.0 == .authenticate }) {
      response.add(.authenticate, type.challenge)
    }
    for (name, value) in fields { response.add(name, value) }
    return response
  }
}
