import Encoding
package import EventLoop
package import JSON
package import Runtime
import Records

/// The members that users read and write in documents of one kind, in an app that limits them.
///
/// Users write only what they also read. So a patch, an operator or a filter of a user works on the
/// visible members, and finds out nothing about the others, which stay as they are.
package struct MemberAccess: Sendable {
  private let readable: MemberSelection
  private let writable: MemberSelection

  /// Returns the limits of the principal; nil for back ends, and without limits.
  ///
  /// - Parameters:
  ///   - document: the kind of the document.
  ///   - own: members that the protocol adds, such as an id. Each user may read and write them.
  ///   - context: the context of the request.
  @EventLoop package init?(
    to document: DocumentKind, adding own: [String] = [], _ context: RequestContext
  ) {
    guard context.principal.user != nil else { return nil }
    self.init(to: document, adding: own, in: context.app)
  }

  /// Returns the limits of users; nil if the app has none.
  package init?(to document: DocumentKind, adding own: [String] = [], in app: App) {
    let settings = app.documentSettings
    let readable = settings.readable(document)
    let writable = settings.writable(document)
    guard !readable.isAll || !writable.isAll else { return nil }
    self.readable = readable.including(own)
    self.writable = writable.intersection(readable).including(own)
  }

  /// Returns the members of a document that the user may read.
  package func visible(in document: JSON) -> JSON {
    .object(readable.visible(in: document.object ?? JSONObject()))
  }

  /// Returns a stored document with the members that the user may read.
  func visible(in document: StoredDocument) throws(Failure) -> StoredDocument {
    guard !readable.isAll else { return document }
    let visible = visible(in: try Documents.parsed(document.body))
    return StoredDocument(body: visible.serialized(), version: document.version)
  }

  /// Returns the document that a user's version of the visible members leads to.
  ///
  /// - Parameters:
  ///   - after: the visible members after the change.
  ///   - before: the stored document; nil for none.
  /// - Returns: the whole document.
  /// - Throws: `.memberNotWritable`.
  package func result(of after: JSON, on before: JSON?) throws(Failure) -> JSON {
    let stored = before?.object ?? JSONObject()
    let visible = JSON.object(readable.visible(in: stored))
    try writable.requireOnlyChanges(from: visible, to: after)
    return .object(try readable.restored(after.object ?? JSONObject(), from: stored))
  }

  /// Returns a document that is a member of a user.
  ///
  /// - Throws: as `result(of:on:)`, with pointers into the user, such as `/metadata/plan`.
  package func result(
    ofMember after: JSON, on before: JSON?, of document: DocumentKind
  ) throws(Failure) -> JSON {
    do throws(Failure) { return try result(of: after, on: before) } catch {
      throw error.placed { "/\(document.rawValue)\($0)" }
    }
  }

  /// Returns a change of the visible members without the parts that the user may not write.
  ///
  /// - Parameters:
  ///   - after: the visible members after the change; nil for none.
  ///   - before: the visible members before it.
  ///   - refused: receives the places that stay.
  /// - Returns: the visible members, of which the user may write all that has changed.
  func allowed(_ after: JSON?, insteadOf before: JSON?, _ refused: inout PointerList) -> JSON? {
    writable.allowed(after, insteadOf: before, &refused)
  }

  /// Returns whether the user may write a member with all that is inside.
  func mayWrite(_ place: JSONPointer) -> Bool { writable.contains(place) }

  /// Returns an edit of the visible members as one of the whole document.
  ///
  /// - Throws: `.memberNotWritable`.
  func result(of edit: DocumentEdit, on before: JSON?) throws(Failure) -> DocumentEdit {
    switch edit {
    case .keep: return .keep
    case .put(let after): return .put(try result(of: after, on: before))
    case .remove:
      let rest = try result(of: [:], on: before)
      return rest.object?.count == 0 ? .remove : .put(rest)
    }
  }
}

extension Optional<MemberAccess> {
  /// Returns a stored document as the user may read it.
  ///
  /// - Throws: `.overloaded`.
  @EventLoop package func visible(
    in document: StoredDocument, _ context: RequestContext
  ) async throws(Failure) -> StoredDocument {
    guard let self else { return document }
    return try await context.calculate(on: document.body.count) { () throws(Failure) in
      try self.visible(in: document)
    }
  }
}

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

  /// Returns whether the selection has a member with all that is inside.
  func contains(_ place: JSONPointer) -> Bool {
    var part = self
    for key in place.tokens { part = part[key] }
    return part.isAll
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

  /// Returns a value after a change, with the former members that are not selected.
  func allowed(
    _ after: JSON?, insteadOf before: JSON?, _ refused: inout PointerList
  ) -> JSON? {
    if isAll || before == after { return after }
    let (old, new) = (before?.object, after?.object)
    guard !isNone, before == nil || old != nil, after == nil || new != nil else {
      refused.add()
      return before
    }
    var result = JSONObject()
    var keys = (old ?? JSONObject()).keys
    keys += (new ?? JSONObject()).keys.filter { old?[$0] == nil }
    for key in keys {
      let value = refused.within(key) {
        self[key].allowed(new?[key], insteadOf: old?[key], &$0)
      }
      if let value { result[key] = value }
    }
    return after == nil && result.count == 0 ? nil : .object(result)
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
  static let rule = ColumnRule(.members) { value in
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

extension RecordReader {
  /// Reads which members of a document users may read or write; none is the safest.
  mutating func members(_ name: String, _ meaning: String) -> MemberSelection {
    value(
      name, MemberSelection.rule, .all, safe: .none, meaning, { .bool($0.isAll) },
      MemberSelection.init(setting:)
    )
  }
}
