import Documents
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// The properties of a user; each response has all of them.
@EventLoop enum PropertyRoutes {
  private nonisolated static let limit = 1_048_576
  private nonisolated static let path = "\(ParraWire.userPrefix)/properties"
  /// The SDK does not escape the slashes of a key.
  private nonisolated static let keyPath = "\(path)/{key*}"

  nonisolated static let routes = [
    Route(.get, path, access: .parra(scope: Scopes.readUser), summary: "Read all properties") {
      (call) async throws(Failure) in
      response(try await Properties.read(of: call.ownUser, call.context))
    },
    all(.put, "Replace all properties", PropertyChange.replace),
    all(.patch, "Set some properties", PropertyChange.merge),
    Route(
      .delete, path, access: .parra(scope: Scopes.updateMetadata), summary: "Remove all properties"
    ) { (call) async throws(Failure) in try await apply(.removeAll, call) },
    Route(
      .put, keyPath, access: .parra(scope: Scopes.updateMetadata), body: .json(limit: 32_768),
      summary: "Set a property"
    ) { (call) async throws(Failure) in
      guard let value = call.json["value"] else {
        throw .invalid([FieldError("/value", "required", "The member value is required.")])
      }
      return try await apply(.set(call.text("key"), to: value, .none), call)
    },
    Route(
      .delete, keyPath, access: .parra(scope: Scopes.updateMetadata), summary: "Remove a property"
    ) { (call) async throws(Failure) in
      do throws(Failure) {
        return try await apply(.remove(call.text("key"), .none), call)
      } catch .notFound {
        // Another device may have removed it before. After an error, the SDK would restore it.
        return response(try await Properties.read(of: call.ownUser, call.context))
      }
    },
  ]

  private nonisolated static func all(
    _ method: HTTP.Method, _ summary: String,
    _ change: @escaping @Sendable (JSONObject) -> PropertyChange
  ) -> Route {
    Route(
      method, path, access: .parra(scope: Scopes.updateMetadata), body: .json(limit: limit),
      summary: summary
    ) { (call) async throws(Failure) in
      let object = try call.json.objectOfBody
      try object.checkProperties(at: "", call.context)
      return try await apply(change(object), call)
    }
  }

  private static func apply(
    _ change: PropertyChange, _ call: Call
  ) async throws(Failure) -> Response {
    response(
      try await Properties.apply(change, of: call.ownUser, equating: .canonical, call.context)
    )
  }

  private static func response(_ properties: [Property]) -> Response {
    Response(.ok, json: properties.values.serialized())
  }
}

extension PropertyCondition {
  /// No condition, since the SDK sends no version.
  fileprivate static let none = PropertyCondition(version: VersionCondition(), keep: nil)
}

extension JSONObject {
  /// Checks a map of properties, in which the SDK knows no null.
  ///
  /// - Throws: `.invalid` with the place of each fault below `pointer`.
  @EventLoop func checkProperties(at pointer: String, _ context: RequestContext) throws(Failure) {
    let length = context.app.documentSettings.propertyStringLength
    let faults = PropertySet.faults(in: self, stringLimit: length)
      .map { $0.inside(pointer) }
    guard faults.isEmpty else { throw .invalid(faults) }
  }
}

extension Call {
  /// The user of the request, whom the path must name.
  ///
  /// After a logout, the SDK may still send the id of the earlier user.
  /// - Throws: `.notFound` for another user: the SDK would repeat a forbidden request.
  var ownUser: UserID {
    get throws(Failure) {
      let user = try user
      guard UserUUID.user(text("user")) == user else { throw .notFound }
      return user
    }
  }
}
