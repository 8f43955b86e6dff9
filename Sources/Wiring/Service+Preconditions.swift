package import Dossier
import EventLoop
import HTTP

/// The preconditions of every route: what it changes and what it answers is tested here, or, for a
/// write of something with versions, in the statement that writes.
///
/// - Source: RFC 9110 section 13.
extension Service {
  /// Reads what a request asks of the state stored, and refuses a write of something that has no
  /// versions: no entity tag is met by it, and nobody can tell that it is not there.
  func readPreconditions(of call: Call, _ route: Route) throws(Refusal) {
    guard call.request.has(.ifMatch) || call.request.has(.ifNoneMatch) else { return }
    let preconditions: Preconditions
    do throws(TagSyntaxError) {
      preconditions = try Preconditions(call.request)
    } catch {
      throw .condition
    }
    call.preconditions = preconditions
    guard !route.isVersioned, route.method != .get else { return }
    if case .versions = preconditions.match { throw .conditionUnmet }
    // What a POST makes is not what its path names.
    if preconditions.noneMatch == .any, route.method != .post { throw .conditionUnmet }
  }

  /// What the preconditions make of an answer that would be given without them.
  func conditional(_ response: Response, _ call: Call, _ route: Route) throws(Refusal) -> Response {
    guard route.method == .get else {
      assert(!route.isVersioned || call.conditionIsTaken, "\(route.name) forgets its preconditions")
      return response
    }
    guard response.status == .ok else { return response }
    let version = response[.entityTag].flatMap(EntityTag.init)?.version
    if case .versions(let versions) = call.preconditions.match {
      guard let version else { throw .conditionUnmet }
      guard versions.contains(version) else { throw .failure(.versionMoved(current: version)) }
    }
    // It is there, or it would not have been answered.
    guard call.preconditions.noneMatch == .any || call.preconditions.noneMatch.matches(version)
    else { return response }
    var unchanged = Response(.notModified)
    for name in [FieldName.entityTag, .cacheControl] {
      if let value = response[name] { unchanged.add(name, value) }
    }
    return unchanged
  }
}

extension Call {
  /// What the preconditions of a write ask of the stored version.
  package var condition: VersionCondition {
    get throws(Failure) {
      conditionIsTaken = true
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
}
