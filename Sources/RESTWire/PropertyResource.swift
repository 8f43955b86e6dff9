import Declarations
import Documents
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/me/properties`.
@EventLoop enum PropertyResource {
  private nonisolated static let limit = 1_048_576

  nonisolated static let operations = [BasePath.me, .users].flatMap(operations)

  private nonisolated static func operations(_ base: BasePath) -> [Operation] {
    let pattern = "\(base.prefix)/properties"
    return [
      Operation(
        .get, pattern, access: base.read, takes: .query(.versions), versions: .read,
        gives: [.ok(.propertiesOrVersions)],
        summary: "Read all properties, with their versions if versions=true"
      ) { (call) async throws(Failure) in
        let withVersions = try call.wantsVersions
        let all = try await Properties.read(of: call.user, call.context)
        let object = withVersions ? versioned(all) : all.values
        let tag = EntityTag(Properties.state(of: all))
        return Response(.ok, json: object.serialized(), tag: tag)
      }.needing(.support).viewing(.documents),
      bulk(.put, base, "Replace all properties", PropertyChange.replace),
      bulk(.patch, base, "Set some properties; null removes one", PropertyChange.merge),
      Operation(
        .get, "\(pattern)/{key}", access: base.read, versions: .tagged, gives: [.ok(.property)],
        summary: "Read a property and its version"
      ) { (call) async throws(Failure) in
        try one(call, await Properties.read(of: call.user, call.context))
      }.needing(.support).viewing(.documents),
      Operation(
        .put,
        "\(pattern)/{key}",
        access: base.write,
        takes: .body(
          .json(limit: 16_384),
          Fields("NewValue", "The new value of a property.", .json("value", .propertyValue))
        ).query(.keep),
        versions: .conflict,
        gives: [.ok(.property)],
        refuses: [.tooManyProperties],
        summary: "Set a property; If-Match and keep decide conflicts"
      ) { (call, value) async throws(Failure) in
        let change = PropertyChange.set(call.text("key"), to: value, try call.propertyCondition)
        return try one(call, await apply(change, call))
      },
      Operation(
        .delete, "\(pattern)/{key}", access: base.write, takes: .query(.keep), versions: .conflict,
        gives: [.ok(.properties.shown(as: ["sound": true]))], summary: "Remove a property"
      ) { (call) async throws(Failure) in
        let change = PropertyChange.remove(call.text("key"), try call.propertyCondition)
        return response(try await apply(change, call))
      },
      Operation(
        .delete, pattern, access: base.write, gives: [.ok(.properties.shown(as: [:]))],
        summary: "Remove all properties"
      ) { (call) async throws(Failure) in
        response(try await apply(.removeAll, call))
      },
    ]
  }

  private nonisolated static func bulk(
    _ method: Method, _ base: BasePath, _ summary: String,
    _ change: @escaping @Sendable (JSONObject) -> PropertyChange
  ) -> Operation {
    Operation(
      method,
      "\(base.prefix)/properties",
      access: base.write,
      takes: .body(
        method == .put ? .json(limit: limit) : .mergePatch(limit: limit),
        method == .put ? .properties : .propertiesPatch
      ),
      gives: [.ok(method == .put ? .properties : .properties.shown(as: ["volume": 8]))],
      refuses: [.tooManyProperties],
      summary: summary
    ) { (call) async throws(Failure) in
      response(try await apply(change(call.json.objectOfBody), call))
    }
  }

  private static func apply(
    _ change: PropertyChange, _ call: Call
  ) async throws(Failure) -> [Property] {
    try await Properties.apply(change, of: call.user, call.context)
  }

  private static func response(_ properties: [Property]) -> Response {
    Response(.ok, json: properties.values.serialized())
  }

  /// Returns the values and versions by key.
  private static func versioned(_ properties: [Property]) -> JSONObject {
    var object = JSONObject()
    for property in properties {
      object[property.key] = [
        "value": property.value, "version": .number(JSONNumber(property.version)),
      ]
    }
    return object
  }

  /// Returns a response with the property in the path.
  private static func one(_ call: Call, _ all: [Property]) throws(Failure) -> Response {
    let key = call.text("key")
    guard let property = all.first(where: { $0.key.hasSameBytes(as: key) }) else { throw .notFound }
    let body: JSON = [
      "key": .string(property.key), "value": property.value,
      "version": .number(JSONNumber(property.version)),
    ]
    return Response(.ok, json: body.serialized(), tag: EntityTag(property.version))
  }
}

extension Call {
  /// Returns whether the query requests versions.
  fileprivate var wantsVersions: Bool {
    get throws(Failure) {
      switch request.query {
      case "", "versions=false": return false
      case "versions=true": return true
      default:
        let rule = "The query must be versions=true or false."
        throw .invalid([FieldError(ofParameter: "versions", "query", rule)])
      }
    }
  }

  /// Returns the preconditions and the query's `keep`.
  fileprivate var propertyCondition: PropertyCondition {
    get throws(Failure) {
      let keep: PropertyCondition.Keep? = try choice("keep")
      return PropertyCondition(version: try condition, keep: keep)
    }
  }
}
