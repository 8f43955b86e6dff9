package import Runtime
import JSON

extension ErrorType {
  package static let versionConflict = ErrorType("version_conflict", .conflict)
    .titled("The stored property does not have the expected version.")
    .remedied(
      "Ask the user which value to keep. Then repeat the request with keep=new or keep=old, or "
        + "with current_version in If-Match."
    )
  package static let tooManyProperties = ErrorType("property_limit", .conflict)
    .titled("The user would have too many properties.")
    .remedied("Remove properties first. Store larger data in custom data.")

  package static let propertyErrors = [versionConflict, tooManyProperties]
}

extension Failure {
  /// Returns the error for a property that is absent, or whose version the client did not name.
  package static func versionConflict(key: String, _ stored: Property?, expected: [Int]) -> Failure
  {
    Failure(
      .versionConflict,
      members: [
        ("key", .string(key)), ("value", stored?.value ?? .null),
        ("current_version", .number(JSONNumber(stored?.version ?? 0))),
        ("expected_versions", .array(expected.map { .number(JSONNumber($0)) })),
      ]
    )
  }

  package static func tooManyProperties(limit: Int) -> Failure {
    Failure(.tooManyProperties, limit: limit)
  }
}
