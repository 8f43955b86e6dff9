import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/indexes`, for the operator: what the app's users can be searched by.
@EventLoop enum IndexResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get,
      "/v1/indexes",
      access: .operator,
      gives: [.ok(.list(of: .index))],
      summary: "List the paths that users can be searched by"
    ) { (call) async throws(Failure) in
      let app = try call.namedApp.name
      let paths = try await SearchIndexes.list(of: app, call.context)
      return Response(.ok, list: paths, \.json)
    },
    Operation(
      .post,
      "/v1/indexes",
      access: .operator,
      body: .json(limit: 4_096),
      reads: Fields(
        "NewIndex",
        "A path to search by.",
        .text("path", .searchPath),
        .text("kind", .kind)
      ),
      gives: [.accepted(.index.shown(as: Example.newIndex), "It is built in the background.")],
      refuses: [.indexExists, .indexLimit],
      summary: "Declare a path that users can be searched by, when its state is ready",
      add
    ),
    Operation(
      .delete,
      "/v1/indexes/{index}",
      access: .operator,
      gives: [.noContent],
      summary: "End the use of an index"
    ) { (call) async throws(Failure) in
      try await SearchIndexes.remove(call.captured("index"), from: call.namedApp.name, call.context)
      finish(call.context)
      return Response(.noContent)
    },
  ]

  private static func add(
    _ call: Call,
    _ path: String,
    _ kind: String
  ) async throws(Failure) -> Response {
    let index = try await SearchIndexes.add(path, kind: kind, to: call.namedApp.name, call.context)
    finish(call.context)
    return Response(.accepted, json: index.json.serialized())
  }

  /// The work on many users outlasts a request; if it fails, housekeeping goes on with it.
  private static func finish(_ context: RequestContext) {
    let database = context.database
    EventLoop.task { try? await SearchIndexes.finishAll(in: database) }
  }
}
