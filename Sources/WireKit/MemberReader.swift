package import Runtime
package import JSON

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
