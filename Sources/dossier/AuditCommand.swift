import ArgumentParser
import Dossier
import JSON
import RESTWire

struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Reads who did what to whom, from where, the newest first.",
    discussion: """
      Without --app and --user, of all apps and of the deployment itself (clients of the operator).
      """
  )
  @OptionGroup var common: CommonOptions

  @Option(help: "Only of this app.")
  var app: String?

  @Option(help: "Only of this user, by id or address of mail; also one that was deleted, by id.")
  var user: String?

  @Option(help: "The id of the fact before which the list goes on.")
  var before: String?

  @Option(help: ArgumentHelp("How many at most, from 1 to 100.", valueName: "number"))
  var count = Audit.pageSize

  func validate() throws {
    guard (1...Audit.pageSize).contains(count) else {
      throw ValidationError("--count takes a number from 1 to \(Audit.pageSize).")
    }
    guard before.map({ EventID($0) != nil }) != false else {
      throw ValidationError("--before takes an id.")
    }
  }

  func run() throws {
    let cursor = before.flatMap { EventID($0) }
    common.run { console async throws(CommandFailure) in
      let page: Page<AuditEntry>
      var columns = ["id", "at", "app", "user_id", "action", "actor", "address", "detail"]
      if let user {
        columns.removeAll { $0 == "app" || $0 == "user_id" }
        let context = try await console.context(of: app)
        let id = try await console.user(user, context)
        page = try await console.doing(context) { context async throws(Failure) in
          try await Audit.page(of: id, before: cursor, count: count, context)
        }
      } else {
        let app: AppID? = if let app { try await console.app(app) } else { nil }
        page = try await console.doing { context async throws(Failure) in
          try await Audit.page(of: app, before: cursor, count: count, context)
        }
      }
      return CommandOutput(
        .array(page.items.map(user == nil ? \.jsonWithSubject : \.json)),
        columns: columns,
        remark: page.next.map { "there may be more: --before \($0)" }
      )
    }
  }
}

extension AuditEntry {
  /// The entry with its app and user, for audit logs of several users.
  fileprivate var jsonWithSubject: JSON {
    var members = json.object ?? JSONObject()
    members["app"] = app.map(JSON.string) ?? .null
    members["user_id"] = user.map { .string($0.text) } ?? .null
    return .object(members)
  }
}
