import Declarations
import Representations
import Runtime
import Tenancy
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/audit`, for the operator: the events of all apps.
@EventLoop enum AuditResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/audit", access: .operator, takes: .query(.app, .limit, .cursor),
      gives: [.ok(.eventsOfApps)],
      summary: "Read what was done in all apps and in the deployment, or in one app, newest first"
    ) { (call) async throws(Failure) in
      let query = try ListQuery(call.request.query, known: ["app"])
      let app = try await record(query["app"], call)
      let page = try await Audit.page(
        of: app?.id, before: query.cursor(), count: query.limit, call.context
      )
      return query.response(page, call, \.jsonWithUser)
    }
  ]

  /// Returns the app that the query of a list names; nil if it names none.
  ///
  /// - Throws: `.unknownApp`, `.invalid`, `.databaseUnavailable`.
  static func app(in call: Call) async throws(Failure) -> AppRecord? {
    let query = try ListQuery.parameters(of: call.request.query)
    if let other = query.names.first(where: { !$0.hasSameBytes(as: "app") }) {
      throw .invalid([FieldError(ofParameter: other, "query", "The query may have only app.")])
    }
    return try await record(query["app"], call)
  }

  private static func record(_ name: String?, _ call: Call) async throws(Failure) -> AppRecord? {
    let named = if let name { name } else { try call.onlyApp?.name }
    guard let named else { return nil }
    let app = try await Apps.record(of: named, call.context)
    try call.requireAccess(to: app.id)
    return app
  }
}

extension AuditEntry {
  /// The event with its app and its user.
  fileprivate var jsonWithUser: JSON {
    var members = json.object ?? JSONObject()
    members["app"] = JSON(app)
    members["user_id"] = JSON(user?.text)
    return .object(members)
  }
}
