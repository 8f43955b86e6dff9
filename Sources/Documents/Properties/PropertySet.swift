package import Runtime
package import JSON

/// One property of a user.
package struct Property: Sendable, Equatable {
  package let key: String
  /// A string, a boolean or a number, in the client's spelling.
  package let value: JSON
  /// The version, which increases by one with each change, also across a deletion of the key.
  package let version: Int

  package init(key: String, value: JSON, version: Int) {
    self.key = key
    self.value = value
    self.version = version
  }
}

extension [Property] {
  /// The values by key.
  package var values: JSONObject { JSONObject(map { ($0.key, $0.value) }) }
}

/// A change of properties.
package enum PropertyChange: Sendable {
  /// Replaces all properties.
  case replace(JSONObject)
  /// Sets these properties; null deletes one.
  case merge(JSONObject)
  case set(String, to: JSON, PropertyCondition)
  case remove(String, PropertyCondition)
  case removeAll
}

/// A condition on a property's version, and the action if it fails.
package struct PropertyCondition: Sendable {
  package enum Keep: String, CaseIterable, Sendable { case new, old }

  /// The condition on the stored version; version 0 stands for an absent property.
  package var version: VersionCondition
  /// The value to keep if the condition fails; nil refuses the change.
  package var keep: Keep?

  package init(version: VersionCondition, keep: Keep?) {
    self.version = version
    self.keep = keep
  }
}

/// How keys of properties are compared.
package enum KeyEquality: Sendable {
  case bytes
  /// As Swift compares strings: `é` as one scalar and as two is one key.
  ///
  /// A key keeps the spelling in which it is stored.
  case canonical
}

/// The properties of one user, during a change.
package struct PropertySet {
  private(set) var properties: [ByteString: Property]
  /// The greatest version of a deleted key; new keys start above it.
  private(set) var floor: Int
  private(set) var removed: Set<ByteString> = []
  private(set) var written: Set<ByteString> = []

  /// - Source: the limits of design section 1.
  package static let limit = 100
  package static let keyLimit = 128
  /// The most members in one change: enough to delete all properties and set as many.
  static let changeLimit = 2 * limit
  /// The upper bound of the app's setting.
  package static let largestString = 1_024
  /// The bytes of a string, so that all properties fit into a request.
  ///
  /// The database has the same limit.
  package static let stringBytes = 8_192

  package init(_ properties: [Property], floor: Int) {
    self.properties = Dictionary(
      properties.map { (ByteString($0.key), $0) }, uniquingKeysWith: { first, _ in first }
    )
    self.floor = floor
  }

  /// Returns a change with the stored spelling of each key.
  func spelled(_ change: PropertyChange, _ equality: KeyEquality) -> PropertyChange {
    guard equality == .canonical else { return change }
    // Swift's hashes and comparisons of strings are canonical, too.
    var spellings = Dictionary(properties.keys.map { ($0.text, $0) }, uniquingKeysWith: min)
    func spelled(_ key: String) -> String {
      if properties[ByteString(key)] != nil { return key }
      if let stored = spellings[key] { return stored.text }
      spellings[key] = ByteString(key)
      return key
    }
    func spelled(_ object: JSONObject) -> JSONObject {
      JSONObject(object.map { (spelled($0.key), $0.value) })
    }
    return switch change {
    case .replace(let object): .replace(spelled(object))
    case .merge(let object): .merge(spelled(object))
    case .set(let key, let value, let condition): .set(spelled(key), to: value, condition)
    case .remove(let key, let condition): .remove(spelled(key), condition)
    case .removeAll: .removeAll
    }
  }

  /// - Throws: `.versionConflict`, `.notFound` if the property to delete is absent,
  ///   `.tooManyProperties`.
  package mutating func apply(_ change: PropertyChange) throws(Failure) {
    switch change {
    case .replace(let object):
      for key in properties.keys where object[key.text] == nil { remove(key) }
      for (key, value) in object { set(ByteString(key), value) }
    case .merge(let object):
      for (key, value) in object {
        let key = ByteString(key)
        if value == .null { remove(key) } else { set(key, value) }
      }
    case .set(let key, let value, let condition):
      let key = ByteString(key)
      if try holds(condition, for: key) { set(key, value) }
    case .remove(let key, let condition):
      let key = ByteString(key)
      guard properties[key] != nil else { throw .notFound }
      if try holds(condition, for: key) { remove(key) }
    case .removeAll: for key in properties.keys { remove(key) }
    }
    guard properties.count <= Self.limit else { throw .tooManyProperties(limit: Self.limit) }
  }

  /// Returns whether to make the change; false keeps the stored value.
  private func holds(_ condition: PropertyCondition, for key: ByteString) throws(Failure) -> Bool {
    let stored = properties[key]
    guard !condition.version.allows(ifAny: stored?.version) else { return true }
    switch condition.keep {
    case .new: return true
    case .old: return false
    case nil:
      let expected = condition.version.oneOf ?? (condition.version.mustNotExist ? [0] : [])
      throw .versionConflict(key: key.text, stored, expected: expected)
    }
  }

  private mutating func set(_ key: ByteString, _ value: JSON) {
    let stored = properties[key]
    // By spelling: 2.0 and 2 are two values here.
    guard stored?.value.serialized() != value.serialized() else { return }
    let version = (stored?.version ?? floor) + 1
    properties[key] = Property(key: key.text, value: value, version: version)
    written.insert(key)
    removed.remove(key)
  }

  private mutating func remove(_ key: ByteString) {
    guard let stored = properties.removeValue(forKey: key) else { return }
    floor = max(floor, stored.version)
    removed.insert(key)
    written.remove(key)
  }

  /// Returns the faults in a flat object of properties, and stops at the limits.
  package static func faults(in object: JSONObject, stringLimit: Int, allowsNull: Bool = false)
    -> [FieldError]
  {
    var faults: [FieldError] = []
    for (key, value) in object.prefix(changeLimit) where faults.count < FieldError.limit {
      let pointer = "/" + JSONPointer.escaped(key)
      faults += [keyFault(key, pointer), valueFault(value, pointer, stringLimit, allowsNull)]
        .compactMap(\.self)
    }
    return faults
  }

  static func keyFault(_ key: String, _ pointer: String) -> FieldError? {
    guard !(1...keyLimit).contains(key.unicodeScalars.count) else { return nil }
    return FieldError(pointer, "key_length", "A key must have 1 to \(keyLimit) characters.")
  }

  /// Returns whether a text has at most so many characters, as its reader counts them.
  ///
  /// A family of emoji is one character. The bytes are limited first, so that the count takes little
  /// time.
  private static func isShort(_ text: String, _ limit: Int) -> Bool {
    text.utf8.count <= limit || text.utf8.count <= stringBytes && text.count <= limit
  }

  static func valueFault(
    _ value: JSON, _ pointer: String, _ stringLimit: Int, _ allowsNull: Bool = false
  ) -> FieldError? {
    switch value {
    case .bool: nil
    case .number(let number):
      // Clients decode a number that is no integer as a double.
      number.double?.isFinite == true
        ? nil : FieldError(pointer, "range", "This number is too large: it must fit into a double.")
    case .null where allowsNull: nil
    case .string(let text):
      isShort(text, stringLimit)
        ? nil
        : FieldError(pointer, "length", "A string may have at most \(stringLimit) characters.")
    default: FieldError(pointer, "type", "A value must be a string, a boolean or a number.")
    }
  }
}
