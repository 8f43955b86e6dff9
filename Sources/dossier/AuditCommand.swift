import ArgumentParser

struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Lists the events of the audit log, newest first.",
    discussion: """
      Without --app and --user, lists the events of all apps and of the deployment itself (clients of the operator).
      """)
  @OptionGroup var options: AppOptions
  @OptionGroup var list: ListOptions

  @Option(help: "Only events of this user, by id or email address; deleted users by id.")
  var user: String?

  func run() throws {
    options.common.run { context async throws(CommandFailure) in
      let columns = ["id", "at", "app", "user_id", "action", "actor", "address", "detail"]
      guard let user else {
        return try await context.list(
          "/v1/audit", ["app": options.app], options: list, columns: columns
        )
      }
      return try await context.list(
        "/v1/users/\(context.user(user, of: options.app))/audit", of: options.app, options: list,
        columns: columns.filter { $0 != "app" && $0 != "user_id" }
      )
    }
  }
}
