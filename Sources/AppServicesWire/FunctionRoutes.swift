import EventLoop
import HTTP
import JSON
import Operators
import Runtime
import WireKit

/// `/functions/call`: the operations of the MongoDB service on the app's one collection.
@EventLoop enum FunctionRoutes {
  nonisolated static let path = "/functions/call"

  nonisolated static let routes = [
    Route(
      .post, "\(AppServicesWire.appPrefix)\(path)", access: .user(scope: Scopes.updateMetadata),
      body: .json(limit: 1_048_576).lenient(assuming: .json).holdingDocuments,
      summary: "Call an operation on the collection of custom data", call
    )
  ]

  /// The media type of results, with a parameter.
  ///
  /// A result may have a member `error`. realm-core would take it for a failed call if the type
  /// were exactly `application/json`.
  private nonisolated static let resultType = "application/json; charset=utf-8"

  private static func call(_ call: Call) async throws(Failure) -> Response {
    switch try await result(of: call) {
    case .success(let result):
      var response = Response(.ok)
      response.body = result
      response.add(.contentType, resultType)
      response.add(.cacheControl, "no-store")
      return response
    case .failure(let error): return error.response(to: call)
    }
  }

  private static func result(of call: Call) async throws(Failure) -> Result<[UInt8], ServiceError> {
    guard let name = call.json["name"]?.string else { return .failure(.invalidCall) }
    let (context, user) = (call.context, try call.user)
    let operation: CollectionOperation
    let arguments: Arguments
    do throws(ServiceError) {
      let namespace = Namespace(context.app.appServicesSettings.collection)
      (operation, arguments) = try request(call.json, name, namespace)
    } catch {
      // If the session has ended, return only that error.
      try await context.requireSession(of: user)
      return .failure(error)
    }
    return try await operation.perform(arguments, on: CustomDataCollection(of: user, context))
  }

  private static func request(
    _ body: JSON, _ name: String, _ namespace: Namespace?
  ) throws(ServiceError) -> (CollectionOperation, Arguments) {
    guard let service = body["service"]?.string else {
      throw ServiceError(.notFound, "function not found: '\(name)'", .noFunction)
    }
    guard let namespace, namespace.service.utf8.elementsEqual(service.utf8) else {
      throw ServiceError(.notFound, "service not found: '\(service)'", .noService)
    }
    guard let operation = CollectionOperation(rawValue: name) else {
      throw ServiceError(.notFound, "\(name) is not offered", .noCommand)
    }
    guard let all = body["arguments"]?.array, all.count == 1, let only = all.first?.object
    else { throw .invalidCall }
    guard let database = only["database"]?.string, let collection = only["collection"]?.string
    else {
      guard let schema = only["schema_name"]?.string else { throw .invalidCall }
      throw ServiceError(
        .badRequest, "no rule exists for schema '\(schema)': name the database and the collection",
        .noRule
      )
    }
    guard namespace.isOf(database, collection) else {
      throw ServiceError(
        .badRequest, "no rule exists for namespace '\(database).\(collection)'", .noRule
      )
    }
    return (operation, Arguments(only))
  }
}

/// The operator's names for the collection of custom data.
struct Namespace: Sendable {
  let service: String
  private let database: String
  private let collection: String

  /// Reads `service/database/collection`; nil for another text, such as an empty one.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 3, parts.allSatisfy({ (1...120).contains($0.count) }) else { return nil }
    service = String(Substring(parts[0]))
    database = String(Substring(parts[1]))
    collection = String(Substring(parts[2]))
  }

  func isOf(_ database: String, _ collection: String) -> Bool {
    self.database.utf8.elementsEqual(database.utf8)
      && self.collection.utf8.elementsEqual(collection.utf8)
  }
}

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
