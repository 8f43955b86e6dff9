import Records
import Accounts
import Administration
import EventLoop
import Events
import Federation
import HTTP
import IdentitySubjects
import JSON
import Runtime
import Tenancy
import WireKit

/// Logs of users and of the app.
@EventLoop enum LogRoutes {
  private nonisolated static let path = "/api/v2/logs"
  private nonisolated static let access = Access.management("read:logs")

  nonisolated static let routes = [
    Route(
      .get, "\(UserRoutes.path)/{user}/logs", access: .management("read:logs", Scopes.readUserLogs),
      summary: "List the logs of a user"
    ) { call async throws(Failure) in
      let user = try call.managedUser()
      return try await list(of: user, call.query, call.context)
    },
    Route(.get, path, access: access, summary: "List the logs of the app, or those of a user") {
      call async throws(Failure) in
      let query = try call.query
      guard query["from"] == nil, query["take"] == nil else {
        return try await list(after: query, call.context)
      }
      // Version 4 of the SDK for Python sends both names.
      let texts = [query["q"], query["search"]].compactMap { $0 }.filter { !$0.isEmpty }
      guard let text = texts.first else { return try await list(of: nil, query, call.context) }
      guard texts.count == 1, case .user(let id) = try LuceneQuery(text) else {
        throw .queryMalformed("A search of logs must be user_id:ID, without other terms.")
      }
      guard let user = try await ForeignIDs.user(of: id, call.context) else {
        return response([], try PageParameters(query))
      }
      return try await list(of: user, query, call.context)
    },
    Route(.get, "\(path)/{log}", access: access, summary: "Read a log") {
      call async throws(Failure) in
      guard let id = EventID(call.text("log")),
        let entry = try await Audit.find(id, of: call.context.app.id, call.context)
      else { throw .inexistentResource("The log does not exist.") }
      let logs = try await objects([entry], FieldSelection(call.query), call.context)
      return Response(.ok, json: logs[0].serialized())
    },
  ]

  /// Returns the logs after that of `from`, oldest first.
  private static func list(
    after query: FormValues, _ context: RequestContext
  ) async throws(Failure) -> Response {
    let part = try CheckpointParameters<Kinds.Event>(query)
    guard ["q", "search"].allSatisfy({ (query[$0] ?? "").isEmpty }) else {
      throw .queryMalformed("Use page and per_page with a search of logs, not from and take.")
    }
    let entries = try await Audit.page(
      of: context.app.id, after: part.cursor, count: part.count, context
    )
    let logs = try await objects(entries, FieldSelection(query), context)
    return Response(.ok, json: JSON.array(logs).serialized())
  }

  private static func list(
    of user: UserID?, _ query: FormValues, _ context: RequestContext
  ) async throws(Failure) -> Response {
    let (page, selection) = (try PageParameters(query), try FieldSelection(query))
    let isAscending = try ascends(query["sort"] ?? "")
    let most = PageParameters.records
    let needed = page.hasTotals || isAscending ? most : page.start + page.size
    var entries = try await Page<AuditEntry>.items(atLeast: needed) {
      cursor async throws(Failure) in
      if let user {
        try await Audit.page(of: user, before: cursor, context)
      } else {
        try await Audit.page(of: context.app.id, before: cursor, context)
      }
    }.items
    if isAscending {
      guard entries.count < most else {
        throw .queryMalformed("Dossier sorts at most \(most) logs.")
      }
      entries.reverse()
    }
    let total = entries.count
    let shown = Array(entries.dropFirst(page.start).prefix(page.size))
    return response(try await objects(shown, selection, context), page, total: total)
  }

  /// Returns whether a value of `sort` asks for the oldest logs first.
  private static func ascends(_ sort: String) throws(Failure) -> Bool {
    switch sort {
    case "", "date:-1": false
    case "date:1": true
    default: throw .queryMalformed("sort must be date:1 or date:-1.")
    }
  }

  private static func objects(
    _ entries: [AuditEntry], _ selection: FieldSelection, _ context: RequestContext
  ) async throws(Failure) -> [JSON] {
    let names = try await names(of: Set(entries.compactMap(\.user)), context)
    return entries.map { entry in
      let name = entry.user.flatMap { names[$0] }
      // No name is known of a user who was deleted.
      let id = name?.id ?? entry.user.map { ForeignIDs.id(of: $0) }
      return selection.applied(to: LogObject(entry, user: id, named: name?.text, context.app).json)
    }
  }

  /// Returns the ids and the names of users, without those that were deleted.
  private static func names(
    of users: Set<UserID>, _ context: RequestContext
  ) async throws(Failure) -> [UserID: (id: String, text: String?)] {
    var names: [UserID: (id: String, text: String?)] = [:]
    for record in try await UserRecords.read(of: users, withDocuments: false, context) {
      let profile = record.profile
      let id = record.foreignID ?? ForeignIDs.id(of: profile.id)
      names[profile.id] = (id, profile.email ?? profile.name)
    }
    return names
  }

  private static func response(_ logs: [JSON], _ page: PageParameters, total: Int = 0) -> Response {
    Response(.ok, json: page.list(logs, named: "logs", total: total).serialized())
  }
}

/// An audit event as a log of the Management API.
struct LogObject {
  let json: JSONObject

  /// - Parameters:
  ///   - entry: the event.
  ///   - foreignID: the id by which clients know its user; nil for an event of the app.
  ///   - userName: the address or the name of the user; nil if unknown.
  ///   - app: the app of the event.
  init(_ entry: AuditEntry, user foreignID: String?, named userName: String?, _ app: App) {
    var log = JSONObject()
    log["log_id"] = .string(entry.id.text)
    log["date"] = .string(entry.at.milliseconds)
    log["type"] = .string(Self.type(of: entry))
    log["description"] = .string(entry.action)
    log["client_id"] = Self.client(of: entry).map(JSON.string)
    log["connection"] = Self.connection(of: entry, in: app).map(JSON.string)
    log["ip"] = entry.address.map(JSON.string)
    log["user_agent"] = entry.agent.map(JSON.string)
    log["user_id"] = foreignID.map(JSON.string)
    log["user_name"] = userName.map(JSON.string)
    log["details"] = entry.veiled.detail
    json = log
  }

  /// The types of actions that have one of their own; others are calls of the API.
  private static let types = [
    "login": "s", "password_change": "scp", "password_reset": "scp", "password_set": "scp",
    "email_change": "sce", "email_restore": "sce", "email_verify": "sv",
    "password_reset_mail": "scpr", "email_verify_mail": "svr", "user_delete": "sdu",
    "device_logout": "slo", "rate_limited": "limit_wc",
  ]

  private static func type(of entry: AuditEntry) -> String {
    switch entry.action {
    case "login_failure":
      return ["password", "email"].contains(entry.detail["provider"]?.string) ? "fp" : "f"
    case "session_end":
      return switch entry.detail["reason"]?.string {
      case "refresh_reuse": "ferrt"
      case "logout", "ended", "issuer_logout": "slo"
      default: "srrt"
      }
    default: return types[entry.action] ?? "sapi"
    }
  }

  /// Returns the client that acted, or that the user signed in to.
  private static func client(of entry: AuditEntry) -> String? {
    let prefix = "client:"
    return entry.actor.utf8.starts(with: prefix.utf8)
      ? String(entry.actor.utf8.dropFirst(prefix.utf8.count))
      : entry.detail["client_id"]?.string
  }

  private static func connection(of entry: AuditEntry, in app: App) -> String? {
    if let name = entry.detail["connection"]?.string {
      let connections = app.connections
      return connections.named(name).map { connections.auth0Name(of: $0) } ?? name
    }
    return switch entry.detail["provider"]?.string {
    case "password": ClientSettings.Connection.password.auth0Name
    case "email": ClientSettings.Connection.emailCode.auth0Name
    case let provider: provider
    }
  }
}
