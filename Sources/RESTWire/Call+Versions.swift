import Dossier
import HTTP
import Wiring

extension Call {
  /// What the preconditions of a write ask of the stored version.
  var condition: VersionCondition {
    get throws(Failure) {
      var condition = VersionCondition()
      switch preconditions.match {
      case .absent: break
      case .any: condition.mustExist = true
      case .versions(let versions): condition.oneOf = versions
      }
      switch preconditions.noneMatch {
      case .absent: break
      case .any: condition.mustNotExist = true
      case .versions:
        throw .invalid([
          Fault("", "condition", "If-None-Match takes only * for a write; use If-Match.")
        ])
      }
      return condition
    }
  }

  /// The answer to a read, with what its preconditions make of it.
  func response(with stored: StoredDocument) throws(Failure) -> Response {
    if preconditions.match != .absent, !preconditions.match.matches(stored.version) {
      throw .versionMoved(current: stored.version)
    }
    if preconditions.noneMatch.matches(stored.version) {
      var response = Response(.notModified)
      response.add(.entityTag, EntityTag(stored.version).description)
      return response
    }
    return Response(.ok, json: stored.body, tag: EntityTag(stored.version))
  }
}
