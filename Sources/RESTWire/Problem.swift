import HTTP
import JSON

/// An error as programs and people can read it.
///
/// - Source: RFC 9457.
struct Problem {
  let status: Status
  /// Stable, and never used again for anything else; `type` is its page.
  let code: String
  let title: String
  var detail: String?
  /// The places of the input that broke a rule.
  var errors: [(pointer: String, code: String, detail: String)] = []
  /// Members of this problem only, such as the current version.
  var extensions: [(String, JSON)] = []
  var fields: [(FieldName, String)] = []

  init(_ status: Status, _ code: String, _ title: String, detail: String? = nil) {
    self.status = status
    self.code = code
    self.title = title
    self.detail = detail
  }

  func response(_ id: RequestID) -> Response {
    var body = JSONObject()
    body["type"] = .string("/problems/\(code)")
    body["title"] = .string(title)
    body["status"] = .number(JSONNumber(status.code))
    if let detail { body["detail"] = .string(detail) }
    body["instance"] = .string("urn:dossier:request:\(id)")
    body["code"] = .string(code)
    if !errors.isEmpty {
      body["errors"] = .array(
        errors.map {
          [
            "pointer": .string($0.pointer), "code": .string($0.code),
            "detail": .string($0.detail),
          ]
        }
      )
    }
    for (name, value) in extensions { body[name] = value }
    var response = Response(status)
    response.body = JSON.object(body).serialized()
    response.add(.contentType, "application/problem+json")
    response.add(.cacheControl, "no-store")
    for (name, value) in fields { response.add(name, value) }
    return response
  }
}
