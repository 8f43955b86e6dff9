import Declarations
import Representations
import Documents
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/indexes`, for the operator.
@EventLoop enum IndexResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/indexes", access: .operator, gives: [.ok(.list(of: .index))],
      summary: "List the search indexes"
    ) { (call) async throws(Failure) in
      let paths = try await SearchIndexes.list(of: call.namedApp.id, call.context)
      return Response(.ok, list: paths, \.json)
    },
    Operation(
      .post,
      "/v1/indexes",
      access: .operator,
      takes: .body(
        .json(limit: 4_096),
        Fields(
          "NewIndex", "A search index to create.", .text("path", .searchPath), .text("kind", .kind)
        )
      ),
      gives: [.accepted(.index.shown(as: Example.newIndex), "The build runs in the background.")],
      refuses: [.indexExists, .tooManyIndexes],
      summary: "Create a search index, which is usable once its state is ready",
      add
    ),
    Operation(
      .delete, "/v1/indexes/{index}", access: .operator, gives: [.noContent],
      summary: "Drop a search index"
    ) { (call) async throws(Failure) in
      try await SearchIndexes.remove(call.captured("index"), from: call.namedApp.id, call.context)
      finish(call.context)
      return Response(.noContent)
    },
  ]

  private static func add(
    _ call: Call, _ path: String, _ kind: String
  ) async throws(Failure) -> Response {
    let index = try await SearchIndexes.add(path, kind: kind, to: call.namedApp.id, call.context)
    finish(call.context)
    return Response(.accepted, json: index.json.serialized())
  }

  /// Builds the index after the response.
  ///
  /// If that fails, the maintenance continues it.
  private static func finish(_ context: RequestContext) {
    let database = context.database
    EventLoop.task { try? await SearchIndexes.finishAll(in: database) }
  }
}
