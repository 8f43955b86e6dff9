import JSON
import Operators

/// The one argument of an operation of the MongoDB service.
///
/// What is null counts as left out: clients that are written by hand send it so.
struct Arguments: Sendable {
  private let members: JSONObject

  init(_ members: JSONObject) { self.members = members }

  subscript(_ name: String) -> JSON? {
    guard let value = members[name], value != .null else { return nil }
    return value
  }

  /// Whether it was left out, rather than null.
  func lacks(_ name: String) -> Bool { members[name] == nil }

  /// A document; an empty one where none is given.
  func document(_ name: String) throws(CallFault) -> JSON {
    guard let value = self[name] else { return [:] }
    guard value.object != nil else { throw .service(.database("'\(name)' must be a document")) }
    return try wellFormed(value, name)
  }

  func required(_ name: String) throws(CallFault) -> JSON {
    guard let value = self[name] else { throw .service(.database("'\(name)' is required")) }
    return try wellFormed(value, name)
  }

  func array(_ name: String) throws(CallFault) -> [JSON] {
    guard let value = self[name] else { return [] }
    guard let array = value.array else { throw .service(.database("'\(name)' must be an array")) }
    _ = try wellFormed(value, name)
    return Array(array)
  }

  /// What only looks like Extended JSON is refused: some clients would end over it when it came back.
  private func wellFormed(_ value: JSON, _ name: String) throws(CallFault) -> JSON {
    guard let place = BSON.malformedWrapper(in: value) else { return value }
    throw .service(.invalidCall("/\(name)\(place) only looks like Extended JSON"))
  }

  func flag(_ name: String) throws(CallFault) -> Bool {
    guard let value = self[name] else { return false }
    guard let flag = value.bool else { throw .service(.database("'\(name)' must be a boolean")) }
    return flag
  }

  /// A whole number; zero where none is given.
  func integer(_ name: String) throws(CallFault) -> Int {
    guard let value = self[name] else { return 0 }
    guard let number = try mongo({ () throws(OperatorError) in try BSON(value) }).integer else {
      throw .service(.database("'\(name)' must be a whole number"))
    }
    return number
  }
}

/// What MongoDB's language says, in the words of the service where it refuses.
func mongo<Value>(_ body: () throws(OperatorError) -> Value) throws(CallFault) -> Value {
  do throws(OperatorError) { return try body() } catch { throw .service(ServiceError(error)) }
}
