import Accounts
import EventLoop
import HTTP
import JSON
import Runtime
import Sessions
import WireKit

/// Logs of users and of the app.
@EventLoop enum LogRoutes {
  nonisolated static let routes = [
    Route(
      .get,
      "\(UserRoutes.path)/{user}/logs",
      access: .bearer(.management(["read:logs", Scopes.readUserLogs]), proof: .session),
      summary: "List the logs of a user"
    ) { call async throws(Failure) in
      let query = try call.query
      return try await list(of: call.managedUser(), PageParameters(query), query, call)
    },
    Route(
      .get,
      "/api/v2/logs",
      access: .bearer(.management(["read:logs"]), proof: .session),
      summary: "List the logs of the app, or those of a user"
    ) { call async throws(Failure) in
      let query = try call.query
      let page = try PageParameters(query)
      guard query["from"] == nil, query["take"] == nil else {
        throw .queryMalformed("Logs have pages, and no from and take.")
      }
      guard let text = query["q"], !text.isEmpty else {
        return try await list(of: nil, page, query, call)
      }
      guard case .user(let id) = try LuceneQuery(text) else {
        throw .queryMalformed("Logs are found by user_id only.")
      }
      guard let user = try await ForeignIDs.user(of: id, call.context) else {
        return response([], page)
      }
      return try await list(of: user, page, query, call)
    },
  ]

  private static func list(
    of user: UserID?,
    _ page: PageParameters,
    _ query: FormValues,
    _ call: Call
  ) async throws(Failure) -> Response {
    let isAscending = try ascends(query["sort"] ?? "")
    let most = PageParameters.records
    let needed = page.hasTotals || isAscending ? most : page.start + page.size
    var entries = try await entries(of: user, needed, call.context)
    if isAscending {
      guard entries.count < most else {
        throw .queryMalformed("Dossier sorts at most \(most) logs.")
      }
      entries.reverse()
    }
    let total = entries.count
    let shown = Array(entries.dropFirst(page.start).prefix(page.size))
    return response(try await objects(shown, call.context), page, total: total)
  }

  /// Returns whether a value of `sort` asks for the oldest logs first.
  private static func ascends(_ sort: String) throws(Failure) -> Bool {
    switch sort {
    case "", "date:-1": false
    case "date:1": true
    default: throw .queryMalformed("sort is date:1 or date:-1.")
    }
  }

  /// Returns the newest events of a user, or of the app; at least `count` if there are as many.
  private static func entries(
    of user: UserID?,
    _ count: Int,
    _ context: RequestContext
  ) async throws(Failure) -> [AuditEntry] {
    var entries: [AuditEntry] = []
    var cursor: EventID?
    repeat {
      let page =
        if let user {
          try await Audit.page(of: user, before: cursor, context)
        } else {
          try await Audit.page(of: context.app.id, before: cursor, context)
        }
      entries += page.items
      cursor = page.next
    } while cursor != nil && entries.count < count
    return entries
  }

  private static func objects(
    _ entries: [AuditEntry],
    _ context: RequestContext
  ) async throws(Failure) -> [JSON] {
    var names: [UserID: (id: String, name: String?)] = [:]
    var objects: [JSON] = []
    for entry in entries {
      if let user = entry.user, names[user] == nil {
        let id = try await ForeignIDs.id(of: user, context)
        do throws(Failure) {
          let profile = try await Profiles.read(of: user, context)
          names[user] = (id, profile.email ?? profile.name)
        } catch .notFound {
          // The user was deleted.
          names[user] = (id, nil)
        }
      }
      let known = entry.user.flatMap { names[$0] }
      objects.append(LogObject(entry, user: known?.id, named: known?.name).json)
    }
    return objects
  }

  private static func response(
    _ logs: [JSON],
    _ page: PageParameters,
    total: Int = 0
  ) -> Response {
    Response(.ok, json: page.list(logs, named: "logs", total: total).serialized())
  }
}
