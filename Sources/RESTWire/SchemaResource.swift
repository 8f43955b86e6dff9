import Declarations
import Representations
import Documents
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/schemas`, for the operator: the JSON Schemas of the users' documents.
@EventLoop enum SchemaResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/schemas", access: .operator, gives: [.ok(.documentSchemas)],
      summary: "List the app's schemas for documents"
    ) { (call) async throws(Failure) in
      let app = try call.namedApp.id
      return Response(.ok, list: try await Schemas.list(of: app, call.context), \.json)
    },
    Operation(
      .put,
      "/v1/schemas/{kind}",
      access: .operator,
      takes: .body(.json(limit: Schemas.sizeLimit), .jsonSchema),
      versions: .write,
      gives: [.ok(.jsonSchema), .created(.jsonSchema, "The app had no such schema before.")],
      summary: "Set the JSON Schema of metadata, app-metadata or custom-data",
      set
    ),
    Operation(
      .get, "/v1/schemas/{kind}", access: .operator, versions: .read, gives: [.ok(.jsonSchema)],
      summary: "Read a schema with its original bytes"
    ) { (call) async throws(Failure) in
      let app = try call.namedApp.id
      let (text, version) = try await Schemas.text(for: call.document, of: app, call.context)
      return Response(.ok, json: text, tag: EntityTag(version))
    },
    Operation(
      .delete, "/v1/schemas/{kind}", access: .operator, versions: .write, gives: [.noContent],
      summary: "Remove a schema, and keep the documents"
    ) { (call) async throws(Failure) in
      let app = try call.namedApp.id
      try await Schemas.remove(for: call.document, of: app, if: call.condition, call.context)
      return Response(.noContent)
    },
  ]

  private static func set(_ call: Call) async throws(Failure) -> Response {
    guard case .json(_, let text) = call.body else {
      throw .internalError(reason: "a schema without a body")
    }
    let (version, isNew) = try await Schemas.set(
      text, for: call.document, of: call.namedApp.id, if: call.condition, call.context
    )
    return Response(isNew ? .created : .ok, json: text, tag: EntityTag(version))
  }
}

extension Call {
  /// Returns the class of documents in the path.
  fileprivate var document: DocumentKind {
    get throws(Failure) {
      guard let document = captures["kind"].flatMap(DocumentKind.init(pathName:)) else {
        throw .notFound
      }
      return document
    }
  }
}
