import Encoding
package import JSON

/// A member of the input that breaks a rule.
package struct FieldError: Sendable, Equatable {
  /// The place of the value, as a JSON Pointer (RFC 6901) that starts with the field's name in the
  /// domain; empty for the whole.
  package let place: String
  /// A stable code for programs.
  package let code: String
  /// The rule, for people.
  package let detail: String

  /// The most faults in one response: enough to correct, and it bounds the length of responses.
  package static let limit = 20

  package init(_ place: String, _ code: String, _ detail: String) {
    self.place = JSONPointer.shortened(place)
    self.code = code
    self.detail = detail.excerpt(512)
  }

  /// Creates the error of a parameter of a query, whose place is its name.
  package init(ofParameter name: String, _ code: String, _ detail: String) {
    self.init("/" + JSONPointer.escaped(name), code, detail)
  }

  /// Maps the error of a text that is not valid JSON.
  package init(_ error: JSONError) {
    self.init(error.pointer, error.reason.rawValue, error.detail)
  }

  /// Returns the error of a member with another type than the expected one.
  package static func wrongType(_ place: String, _ expected: String) -> FieldError {
    FieldError(place, "type", "This member must be \(expected).")
  }

  /// Returns the same error of a value whose place is inside another.
  package func inside(_ outer: String) -> FieldError { FieldError(outer + place, code, detail) }

  private var json: JSON {
    ["pointer": .string(place), "code": .string(code), "detail": .string(detail)]
  }

  /// Returns the member `errors` of a response, and of a line of results.
  package static func json(of faults: [FieldError]) -> JSON {
    .array(faults.prefix(limit).map(\.json))
  }
}
