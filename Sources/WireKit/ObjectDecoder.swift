import EventLoop
import HTTP
package import JSON
package import Runtime

extension JSON {
  /// The body as an object.
  ///
  /// - Throws: `.invalid` if it is not an object.
  package var objectOfBody: JSONObject {
    get throws(Failure) {
      guard let object else {
        throw .invalid([FieldError("", "type", "The body must be a JSON object.")])
      }
      return object
    }
  }
}

/// Reads the members of a body and collects all errors.
package struct ObjectDecoder {
  private let object: JSONObject
  private let known: [String]
  private var faults: [FieldError] = []

  /// Reads an object.
  ///
  /// - Throws: `.invalid` if the body is not an object.
  package init(_ json: JSON, known: [String]) throws(Failure) {
    let object = try json.objectOfBody
    self.object = object
    self.known = known
    for (name, _) in object where !known.contains(name) && faults.count < FieldError.limit {
      faults.append(Self.unknown(name))
    }
  }

  /// Returns the error for an unknown member.
  package static func unknown(_ name: String) -> FieldError {
    FieldError("/" + JSONPointer.escaped(name), "unknown_member", "This member is unknown.")
  }

  /// Reads a required string.
  package mutating func string(_ name: String) -> String {
    value(name, "a string", \.string) ?? ""
  }

  package mutating func flag(_ name: String) -> Bool {
    value(name, "true or false", \.bool) ?? false
  }

  package mutating func object(_ name: String) -> JSONObject {
    value(name, "an object", \.object) ?? JSONObject()
  }

  package mutating func list(_ name: String) -> JSONArray {
    value(name, "an array", \.array) ?? []
  }

  package mutating func strings(_ name: String) -> [String] {
    value(name, "an array of strings", \.strings) ?? []
  }

  package mutating func id<Of>(_ name: String) -> ID<Of> {
    let text = value(name, "a string", \.string)
    if let text, let id = ID<Of>(text) { return id }
    if text != nil {
      faults.append(FieldError("/\(name)", "id", "An id must have 24 hexadecimal characters."))
    }
    return ID(trusted: "")
  }

  /// Reads a required member that is a string or null.
  package mutating func stringOrNull(_ name: String) -> String? {
    isNull(name) ? nil : string(name)
  }

  /// Reads a required member of any type.
  package mutating func json(_ name: String) -> JSON { value(name, "a value") { $0 } ?? .null }

  package func has(_ name: String) -> Bool { object[name] != nil }

  package func isNull(_ name: String) -> Bool { object[name] == .null }

  package mutating func refuse(_ fault: FieldError) { faults.append(fault) }

  private mutating func value<Value>(
    _ name: String, _ kind: String, _ reading: (JSON) -> Value?
  ) -> Value? {
    guard let member = object[name] else {
      faults.append(FieldError("/\(name)", "missing", "This member is required."))
      return nil
    }
    guard let value = reading(member) else {
      faults.append(.wrongType("/\(name)", kind))
      return nil
    }
    return value
  }

  /// Throws all collected errors.
  ///
  /// - Parameter rules: the domain's errors for the values, so that one response reports all. Not
  ///   evaluated if the members are valid, since the domain then checks the values later.
  /// - Throws: `.invalid` with all errors.
  package func check(_ rules: @autoclosure () throws(Failure) -> [FieldError] = []) throws(Failure)
  {
    guard !faults.isEmpty else { return }
    let further = try rules().filter { rule in
      !faults.contains { $0.place.utf8.elementsEqual(rule.place.utf8) }
    }
    throw .invalid(faults + further)
  }
}

extension JSON {
  /// The strings of an array of nothing else; nil for any other value.
  var strings: [String]? {
    guard let array else { return nil }
    let strings = array.compactMap(\.string)
    return strings.count == array.count ? strings : nil
  }
}

/// Reads the members of a body in their order, and collects all errors.
///
/// `ObjectDecoder` reads bodies whose members are required.
package struct MemberReader {
  private var faults: [FieldError] = []

  package init() {}

  package mutating func string(_ name: String, _ value: JSON) -> String? {
    require(value.string, name, "a string")
  }

  package mutating func flag(_ name: String, _ value: JSON) -> Bool? {
    require(value.bool, name, "true or false")
  }

  package mutating func object(_ name: String, _ value: JSON) -> JSONObject? {
    require(value.object, name, "an object")
  }

  package mutating func strings(_ name: String, _ value: JSON) -> [String]? {
    require(value.strings, name, "an array of strings")
  }

  /// Returns the value of a member; adds an error if it is nil, since its type is wrong.
  package mutating func require<Value>(_ value: Value?, _ name: String, _ type: String) -> Value? {
    if value == nil { refuse(.wrongType("/" + JSONPointer.escaped(name), type)) }
    return value
  }

  package mutating func refuse(_ name: String, _ code: String, _ detail: String) {
    refuse(FieldError("/" + JSONPointer.escaped(name), code, detail))
  }

  package mutating func refuse(_ fault: FieldError) { faults.append(fault) }

  /// - Throws: `.invalid` with all errors.
  package func check() throws(Failure) {
    guard faults.isEmpty else { throw .invalid(faults) }
  }
}
