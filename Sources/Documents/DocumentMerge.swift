package import JSON

/// Two changes of one document, merged by members.
package struct DocumentMerge: Sendable {
  /// The document with both changes; a member that both have changed has the own value.
  package let merged: JSON
  /// The JSON Pointers to the members that both have changed to different values.
  package private(set) var conflicts: [String] = []
  /// Whether there are further conflicts, beyond `most` or with a pointer beyond `longest`.
  package private(set) var hasMore = false

  package static let most = 100
  /// The longest pointer, in bytes.
  private static let longest = 1_024

  /// Merges two changes.
  ///
  /// Only objects are merged. A list that both have changed is one value.
  /// - Parameters:
  ///   - base: the document before both changes.
  ///   - theirs: the document with the change that was saved first.
  ///   - mine: the document with the own change.
  package init(base: JSON, theirs: JSON, mine: JSON) {
    var places = Places()
    merged = Self.merge(base, theirs, mine, &places) ?? .null
    (conflicts, hasMore) = (places.conflicts, places.hasMore)
  }

  /// The place of a merge, and the conflicts so far.
  private struct Places {
    var keys: [String] = []
    /// The bytes of the keys.
    var length = 0
    var conflicts: [String] = []
    var hasMore = false

    mutating func addConflict() {
      guard conflicts.count < most, length <= longest else {
        hasMore = true
        return
      }
      conflicts.append("/" + keys.map(JSONPointer.escaped).joined(separator: "/"))
    }
  }

  private static func merge(
    _ base: JSON?, _ theirs: JSON?, _ mine: JSON?, _ places: inout Places
  ) -> JSON? {
    if areSame(theirs, mine) || areSame(base, theirs) { return mine }
    if areSame(base, mine) { return theirs }
    // Both have added an object, or both have changed one.
    guard let their = theirs?.object, let own = mine?.object, base == nil || base?.object != nil
    else {
      places.addConflict()
      return mine
    }
    let old = base?.object ?? JSONObject()
    var members = JSONObject()
    var names = own.keys
    names += their.keys.filter { own[$0] == nil }
    for name in names {
      places.keys.append(name)
      places.length += name.utf8.count + 1
      if let value = merge(old[name], their[name], own[name], &places) { members[name] = value }
      places.keys.removeLast()
      places.length -= name.utf8.count + 1
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
