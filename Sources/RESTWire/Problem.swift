import Dossier
import HTTP
import JSON

/// An error as programs and people can read it.
///
/// - Source: RFC 9457.
struct Problem {
  let type: ProblemType
  var detail: String?
  /// The places of the input that broke a rule.
  var errors: [Fault] = []
  /// Members of this problem only, such as the current version.
  var extensions: [(String, JSON)] = []
  var fields: [(FieldName, String)] = []

  init(type: ProblemType, detail: String? = nil) {
    self.type = type
    self.detail = detail
  }

  func response(_ id: RequestID) -> Response {
    var body = JSONObject()
    body["type"] = .string("/problems/\(type.rawValue)")
    body["title"] = .string(type.title)
    body["status"] = .number(JSONNumber(type.status.code))
    if let detail { body["detail"] = .string(detail) }
    body["instance"] = .string("urn:dossier:request:\(id)")
    body["code"] = .string(type.rawValue)
    if !errors.isEmpty {
      body["errors"] = Fault.told(errors)
    }
    for (name, value) in extensions { body[name] = value }
    var response = Response(type.status)
    response.body = JSON.object(body).serialized()
    response.add(.contentType, "application/problem+json")
    response.add(.cacheControl, "no-store")
    for (name, value) in fields { response.add(name, value) }
    return response
  }
}
