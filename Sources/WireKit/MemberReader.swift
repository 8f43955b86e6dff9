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

  /// The strings of an array of nothing else; nil for any other value.
  fileprivate var strings: [String]? {
    guard let array else { return nil }
    let strings = array.compactMap(\.string)
    return strings.count == array.count ? strings : nil
  }
}

/// Reads the members of a body, and collects all errors.
///
/// A route reads required members by their names, or goes through the members and reads their
/// values.
package struct MemberReader {
  private var object = JSONObject()
  private var faults: [FieldError] = []

  package init() {}

  /// Reads an object that may have only some members.
  ///
  /// - Throws: `.invalid` if the body is not an object.
  package init(_ json: JSON, known: [String]) throws(Failure) {
    object = try json.objectOfBody
    for (name, _) in object where !known.contains(name) && faults.count < FieldError.limit {
      faults.append(Self.unknown(name))
    }
  }

  /// Returns the error for an unknown member.
  package static func unknown(_ name: String) -> FieldError {
    FieldError("/" + JSONPointer.escaped(name), "unknown_member", "This member is unknown.")
  }

  package mutating func refuse(_ name: String, _ code: String, _ detail: String) {
    refuse(FieldError("/" + JSONPointer.escaped(name), code, detail))
  }

  package mutating func refuse(_ fault: FieldError) { faults.append(fault) }

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

  // MARK: Values

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

  // MARK: Required members

  package func has(_ name: String) -> Bool { object[name] != nil }

  package func isNull(_ name: String) -> Bool { object[name] == .null }

  package mutating func string(_ name: String) -> String {
    required(name).flatMap { string(name, $0) } ?? ""
  }

  package mutating func flag(_ name: String) -> Bool {
    required(name).flatMap { flag(name, $0) } ?? false
  }

  package mutating func object(_ name: String) -> JSONObject {
    required(name).flatMap { object(name, $0) } ?? JSONObject()
  }

  package mutating func list(_ name: String) -> JSONArray {
    required(name).flatMap { require($0.array, name, "an array") } ?? []
  }

  package mutating func strings(_ name: String) -> [String] {
    required(name).flatMap { strings(name, $0) } ?? []
  }

  package mutating func id<Of>(_ name: String) -> ID<Of> {
    guard let text = required(name).flatMap({ string(name, $0) }) else { return ID(trusted: "") }
    if let id = ID<Of>(text) { return id }
    refuse(name, "id", "An id must have 24 hexadecimal characters.")
    return ID(trusted: "")
  }

  /// Reads a member of any type.
  package mutating func json(_ name: String) -> JSON { required(name) ?? .null }

  private mutating func required(_ name: String) -> JSON? {
    if object[name] == nil { refuse(name, "missing", "This member is required.") }
    return object[name]
  }
}
