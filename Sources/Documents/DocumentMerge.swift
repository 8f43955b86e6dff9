package import JSON

/// Two changes of one document, merged by members.
package struct DocumentMerge: Sendable {
  /// The document with both changes; a member that both have changed has the own value.
  package let merged: JSON
  /// The JSON Pointers to the members that both have changed to different values.
  package private(set) var conflicts: [String] = []
  /// Whether there are further conflicts, beyond `most` or with a pointer beyond `longest`.
  package private(set) var hasMore = false

  package static let most = PointerList.most
  /// Merges two changes.
  ///
  /// Only objects are merged. A list that both have changed is one value.
  /// - Parameters:
  ///   - base: the document before both changes.
  ///   - theirs: the document with the change that was saved first.
  ///   - mine: the document with the own change.
  ///   - isRemovalEmpty: whether an object that they have removed, and that the own change has kept as
  ///     an object, counts as one from which they have removed each member.
  package init(base: JSON, theirs: JSON, mine: JSON, isRemovalEmpty: Bool = false) {
    var places = PointerList()
    merged = Self.merge(base, theirs, mine, isRemovalEmpty, &places) ?? .null
    (conflicts, hasMore) = (places.pointers, places.hasMore)
  }

  private static func merge(
    _ base: JSON?, _ theirs: JSON?, _ mine: JSON?, _ isRemovalEmpty: Bool,
    _ places: inout PointerList
  ) -> JSON? {
    if theirs == mine || base == theirs { return mine }
    if base == mine { return theirs }
    // Both have added an object, or both have changed one.
    let absent = isRemovalEmpty && theirs == nil && base != nil ? JSONObject() : nil
    guard let their = theirs?.object ?? absent, let own = mine?.object,
      base == nil || base?.object != nil
    else {
      places.add()
      return mine
    }
    let old = base?.object ?? JSONObject()
    var members = JSONObject()
    var names = own.keys
    names += their.keys.filter { own[$0] == nil }
    for name in names {
      let value = places.within(name) {
        merge(old[name], their[name], own[name], isRemovalEmpty, &$0)
      }
      if let value { members[name] = value }
    }
    return .object(members)
  }
}

/// The places that a walk through a document has noted, as JSON Pointers of bounded number and length.
struct PointerList: Sendable {
  static let most = 100
  /// The longest pointer, in bytes.
  private static let longest = 1_024

  /// The place of the walk, and the bytes of its keys.
  private var keys: [String] = []
  private var length = 0
  private(set) var pointers: [String] = []
  /// Whether there are further places, beyond `most` or with a pointer beyond `longest`.
  private(set) var hasMore = false

  /// Notes the present place.
  mutating func add() {
    guard pointers.count < Self.most, length <= Self.longest else {
      hasMore = true
      return
    }
    pointers.append(keys.map { "/" + JSONPointer.escaped($0) }.joined())
  }

  /// Walks on inside a member.
  mutating func within<Value>(_ key: String, _ walk: (inout PointerList) -> Value) -> Value {
    keys.append(key)
    length += key.utf8.count + 1
    defer {
      keys.removeLast()
      length -= key.utf8.count + 1
    }
    return walk(&self)
  }

  /// Notes the members that differ; an array is one value.
  mutating func addDifferences(from before: JSON?, to after: JSON?) {
    guard before != after else { return }
    guard let old = before?.object, let new = after?.object else { return add() }
    for (key, value) in old {
      within(key) { $0.addDifferences(from: value, to: new[key]) }
    }
    for (key, value) in new where old[key] == nil {
      within(key) { $0.addDifferences(from: nil, to: value) }
    }
  }
}
