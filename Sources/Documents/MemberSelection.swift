import Encoding
package import JSON
import Runtime

/// The members of a document that a setting names: all, none, or those at some places.
///
/// A place selects a member with all that is inside. It leads through objects: an array is one value.
package struct MemberSelection: Sendable, Equatable {
  package static let all = MemberSelection(isAll: true)
  package static let none = MemberSelection(isAll: false)

  /// The most places of a setting, and the most keys of a place.
  static let (mostPlaces, mostKeys) = (100, 16)

  package let isAll: Bool
  private var members: [ByteString: MemberSelection] = [:]

  private init(isAll: Bool) { self.isAll = isAll }

  package var isNone: Bool { !isAll && members.isEmpty }

  /// The part inside a member.
  private subscript(_ key: String) -> MemberSelection {
    isAll ? .all : members[ByteString(key)] ?? .none
  }

  private mutating func insert(_ keys: ArraySlice<String>) {
    guard !isAll, let first = keys.first else { return self = .all }
    var part = self[first]
    part.insert(keys.dropFirst())
    members[ByteString(first)] = part
  }

  /// Returns the selection with some members of the document.
  func including(_ keys: [String]) -> MemberSelection {
    var result = self
    for key in keys { result.insert([key]) }
    return result
  }

  /// Returns what both selections name.
  func intersection(_ other: MemberSelection) -> MemberSelection {
    if isAll { return other }
    if other.isAll { return self }
    var result = MemberSelection.none
    for (key, part) in members {
      let common = part.intersection(other[key.text])
      if !common.isNone { result.members[key] = common }
    }
    return result
  }

  // MARK: Documents

  /// Returns the selected members of an object.
  ///
  /// A value that is no object has no places inside. An object with only hidden members is hidden.
  package func visible(in object: JSONObject) -> JSONObject {
    guard !isAll else { return object }
    var result = JSONObject()
    for (key, value) in object {
      let part = self[key]
      if part.isAll {
        result[key] = value
      } else if !part.isNone, let inner = value.object {
        let shown = part.visible(in: inner)
        if shown.count > 0 || inner.count == 0 { result[key] = .object(shown) }
      }
    }
    return result
  }

  /// Returns an object with the members of an earlier one that are not selected.
  ///
  /// - Throws: `.memberNotWritable` if the object would replace one of them.
  func restored(
    _ object: JSONObject, from before: JSONObject, at place: [String] = []
  ) throws(Failure) -> JSONObject {
    var result = object
    for (key, value) in before {
      let part = self[key]
      if part.isAll { continue }
      let written = object[key]
      if !part.isNone, let inner = value.object {
        let own = written?.object ?? JSONObject()
        let restored = try part.restored(own, from: inner, at: place + [key])
        if written != nil || restored.count > 0 { result[key] = .object(restored) }
      } else if written == nil {
        result[key] = value
      } else {
        throw .memberNotWritable(JSONPointer(tokens: place + [key]))
      }
    }
    return result
  }

  /// Throws `.memberNotWritable` if a member changes that is not selected.
  func requireOnlyChanges(
    from before: JSON?, to after: JSON?, at place: [String] = []
  ) throws(Failure) {
    if isAll { return }
    guard !isNone, before == nil || before?.object != nil, after == nil || after?.object != nil
    else {
      guard before == after else { throw .memberNotWritable(JSONPointer(tokens: place)) }
      return
    }
    for (key, value) in before?.object ?? JSONObject() {
      try self[key].requireOnlyChanges(from: value, to: after?[key], at: place + [key])
    }
    for (key, value) in after?.object ?? JSONObject() where before?[key] == nil {
      try self[key].requireOnlyChanges(from: nil, to: value, at: place + [key])
    }
  }
}

// MARK: - Settings

extension MemberSelection {
  /// The rule of a setting: true, false, or a list of places.
  static let rule = SettingRule(.members) { value in
    MemberSelection(setting: value) == nil
      ? (
        "members",
        "This setting must be true, false, or a list of at most \(mostPlaces) JSON Pointers with 1 to "
          + "\(mostKeys) keys, such as /theme or /profile/hobby. No key is empty. An array is one "
          + "value, so no key but the first is a number: name the array."
      ) : nil
  }

  /// Reads the value of a setting; nil if it breaks the rule.
  init?(setting: JSON) {
    if let isAll = setting.bool {
      self.init(isAll: isAll)
      return
    }
    guard let list = setting.array, list.count <= Self.mostPlaces else { return nil }
    self.init(isAll: false)
    for place in list {
      guard let pointer = place.string.flatMap(JSONPointer.init),
        (1...Self.mostKeys).contains(pointer.tokens.count),
        !pointer.tokens.contains(where: \.isEmpty),
        !pointer.tokens.dropFirst().contains(where: { $0.utf8.allSatisfy(\.isDigit) })
      else { return nil }
      insert(pointer.tokens[...])
    }
  }
}

extension SettingsReader {
  /// Reads which members of a document users may read or write; none is the safest.
  mutating func members(_ name: String, _ meaning: String) -> MemberSelection {
    value(
      name, MemberSelection.rule, .all, safe: .none, meaning, { .bool($0.isAll) },
      MemberSelection.init(setting:)
    )
  }
}
