import JSON
import Operators

/// The single argument of an operation of the MongoDB service.
///
/// A null member counts as omitted, since hand-written clients send null.
struct Arguments: Sendable {
  private let members: JSONObject

  init(_ members: JSONObject) { self.members = members }

  subscript(_ name: String) -> JSON? {
    guard let value = members[name], value != .null else { return nil }
    return value
  }

  /// Returns whether a member is omitted, and not null.
  func lacks(_ name: String) -> Bool { members[name] == nil }

  /// Returns a document, or an empty one if the member is omitted.
  func document(_ name: String) throws(ServiceError) -> JSON {
    guard let value = self[name] else { return [:] }
    guard value.object != nil else { throw .database("'\(name)' must be a document") }
    return try wellFormed(value, name)
  }

  func required(_ name: String) throws(ServiceError) -> JSON {
    guard let value = self[name] else { throw .database("'\(name)' is required") }
    return try wellFormed(value, name)
  }

  func array(_ name: String) throws(ServiceError) -> [JSON] {
    guard let value = self[name] else { return [] }
    guard let array = value.array else { throw .database("'\(name)' must be an array") }
    _ = try wellFormed(value, name)
    return Array(array)
  }

  /// Returns the value if it has no malformed wrapper.
  ///
  /// Some clients would crash when they read one back.
  private func wellFormed(_ value: JSON, _ name: String) throws(ServiceError) -> JSON {
    guard let place = BSON.malformedWrapper(in: value) else { return value }
    throw .invalidCall("/\(name)\(place) only looks like Extended JSON")
  }

  func flag(_ name: String) throws(ServiceError) -> Bool {
    guard let value = self[name] else { return false }
    guard let flag = value.bool else { throw .database("'\(name)' must be a boolean") }
    return flag
  }

  /// Returns an integer, or zero if the member is omitted.
  func integer(_ name: String) throws(ServiceError) -> Int {
    guard let value = self[name] else { return 0 }
    guard let number = try mongo({ () throws(OperatorError) in try BSON(value) }).integer else {
      throw .database("'\(name)' must be a whole number")
    }
    return number
  }
}

/// Runs code of `Operators`, and turns its errors into errors of the service.
func mongo<Value>(_ body: () throws(OperatorError) -> Value) throws(ServiceError) -> Value {
  do throws(OperatorError) { return try body() } catch { throw ServiceError(error) }
}
