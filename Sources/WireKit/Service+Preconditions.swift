package import Runtime
import EventLoop
import HTTP

/// The preconditions of all routes.
///
/// They are tested here against the response, or, for a write of a versioned resource, in the
/// statement that writes.
/// - Source: RFC 9110 section 13.
extension Service {
  /// Reads the preconditions of a request, and refuses those that a resource without versions
  /// cannot meet.
  ///
  /// Such a resource matches no entity tag, and its existence cannot be ruled out.
  func readPreconditions(of call: Call, _ route: Route) throws(Failure) {
    guard call.request.has(.ifMatch) || call.request.has(.ifNoneMatch) else { return }
    let preconditions: Preconditions
    do throws(TagSyntaxError) {
      preconditions = try Preconditions(call.request)
    } catch {
      throw .conditionMalformed
    }
    call.preconditions = preconditions
    guard !route.isVersioned, route.method != .get else { return }
    if case .versions = preconditions.match { throw .unversioned }
    // The path of a POST does not name the resource that it creates.
    if preconditions.noneMatch == .any, route.method != .post { throw .unversioned }
  }

  /// Returns the response after the preconditions have been applied to it.
  func conditional(_ response: Response, _ call: Call, _ route: Route) throws(Failure) -> Response {
    guard route.method == .get else {
      assert(!route.isVersioned || call.conditionIsTaken, "\(route.name) forgets its preconditions")
      return response
    }
    guard response.status == .ok else { return response }
    let version = response[.entityTag].flatMap(EntityTag.init)?.version
    if case .versions(let versions) = call.preconditions.match {
      guard let version else { throw .unversioned }
      guard versions.contains(version) else { throw .preconditionFailed(current: version) }
    }
    // The resource exists, since the handler returned it.
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
  /// The version condition of a write.
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
          FieldError("", "condition", "If-None-Match must be * for a write; use If-Match.")
        ])
      }
      return condition
    }
  }
}
