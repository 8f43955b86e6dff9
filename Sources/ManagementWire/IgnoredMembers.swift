import JSON

extension JSON {
  /// Returns an object of a response, with the members of the request that this server lacks.
  func reporting(_ ignored: [String]) -> JSON {
    guard var object, !ignored.isEmpty else { return self }
    object["ignored_members"] = .array(ignored.map(JSON.string))
    return .object(object)
  }
}
