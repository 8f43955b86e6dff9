/// The kind of an error, from which each wire and the command line derive their own status.
///
/// Every `switch` over it is exhaustive. A new kind does not compile until each wire maps it.
package enum ErrorKind: CaseIterable, Sendable {
  /// The request cannot be parsed.
  case malformed
  /// A value breaks a rule.
  case invalid
  /// The credentials are missing or not valid.
  case unauthenticated
  case forbidden
  case notFound
  /// The state of the resource does not allow the change.
  case conflict
  /// The stored version does not satisfy the client's condition.
  case precondition
  case tooLarge
  case unsupportedMedia
  case tooMany
  /// A later attempt may succeed.
  case unavailable
  case `internal`
}
