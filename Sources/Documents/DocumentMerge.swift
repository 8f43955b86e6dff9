package import JSON

/// Two changes of one document, merged by members.
package struct DocumentMerge: Sendable {
  /// The document with both changes; a member that both have changed has the own value.
  package let merged: JSON
  /// The JSON Pointers to the members that both have changed to different values.
  package let conflicts: [String]

  /// Merges two changes.
  ///
  /// Only objects are merged. A list that both have changed is one value.
  /// - Parameters:
  ///   - base: the document before both changes.
  ///   - theirs: the document with the change that was saved first.
  ///   - mine: the document with the own change.
  package init(base: JSON, theirs: JSON, mine: JSON) {
    var conflicts: [String] = []
    merged = Self.merge(base, theirs, mine, at: "", &conflicts) ?? .null
    self.conflicts = conflicts
  }

  private static func merge(
    _ base: JSON?, _ theirs: JSON?, _ mine: JSON?, at place: String, _ conflicts: inout [String]
  ) -> JSON? {
    if areSame(theirs, mine) || areSame(base, theirs) { return mine }
    if areSame(base, mine) { return theirs }
    // Both have added an object, or both have changed one.
    guard let their = theirs?.object, let own = mine?.object, base == nil || base?.object != nil
    else {
      conflicts.append(place.isEmpty ? "/" : place)
      return mine
    }
    let old = base?.object ?? JSONObject()
    var members = JSONObject()
    var names = own.keys
    names += their.keys.filter { own[$0] == nil }
    for name in names {
      let place = "\(place)/\(JSONPointer.escaped(name))"
      if let value = merge(old[name], their[name], own[name], at: place, &conflicts) {
        members[name] = value
      }
    }
    return .object(members)
  }

  private static func areSame(_ value: JSON?, _ other: JSON?) -> Bool {
    switch (value, other) {
    case (nil, nil): true
    case (let value?, let other?): value == other
    default: false
    }
  }
}
