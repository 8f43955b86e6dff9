import CommandKit
import Administration
import ArgumentParser
import EventLoop
import HTTP
import JSON
import Records
import Runtime
import Tenancy

extension AdministratorRecord: CommandRecord {}

/// The administrators of the console.
struct AdministratorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "administrator", abstract: "Administrators of the console.",
    discussion: """
      Each administrator has a role. viewer reads, but no documents; support also reads documents, and \
      helps users to sign in; admin changes users and apps; owner also keys and secrets. An owner of all \
      apps also creates apps and administrators.
      """,
    subcommands: [
      Create.self, List.self, Show.self, Set.self, Link.self, Disable.self, Enable.self,
      Delete.self,
    ])

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Creates an administrator, and prints a link for the first sign-in.",
      discussion: """
        The link is valid for 15 minutes and works once. It leads to a page that asks for a password and \
        an authenticator app.
        """)
    @OptionGroup var common: CommonOptions
    @OptionGroup var reach: AdministratorReach

    @Option(help: "viewer, support, admin or owner.")
    var role: String

    @Argument(help: "The address by which the administrator signs in.")
    var email: String

    func run() throws {
      common.run { context async throws(CommandFailure) in
        var body = try await reach.members(context)
        (body["email"], body["role"]) = (.string(email), .string(role))
        let made = try await context.send(
          .post, AdministratorRecord.words.path, .json(.object(body)))
        let id = made["id"]?.string ?? ""
        return try await context.link(of: id, after: made.object ?? JSONObject())
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the administrators.")
    @OptionGroup var common: CommonOptions

    func run() throws {
      common.send(
        .get, AdministratorRecord.words.path,
        columns: ["id", "email", "role", "app_ids", "disabled", "created_at"])
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows an administrator.")
    @OptionGroup var administrator: AdministratorArgument

    func run() throws { administrator.send(.get) }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Changes the role, the apps, the networks and the system user of an administrator.")
    @OptionGroup var administrator: AdministratorArgument
    @OptionGroup var reach: AdministratorReach

    @Option(help: "viewer, support, admin or owner.")
    var role: String?

    @Flag(help: "The role holds in all apps.")
    var allApps = false

    @Flag(help: "The administrator may use the console from any network.")
    var anyNetwork = false

    func run() throws {
      administrator.common.run { context async throws(CommandFailure) in
        var patch = try await reach.members(context)
        if allApps { patch["app_ids"] = .null }
        if anyNetwork { patch["networks"] = .null }
        patch["role"] = role.map(JSON.string)
        let path = try await administrator.path(context)
        return CommandOutput(try await context.send(.patch, path, .mergePatch(.object(patch))))
      }
    }
  }

  struct Link: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints a new link, after a lost password or authenticator.",
      discussion: """
        It ends the sessions of the administrator. The link is valid for 15 minutes and works once. Until it \
        is used, the former password and authenticator stay valid: disable an administrator whose \
        credentials were stolen.
        """)
    @OptionGroup var administrator: AdministratorArgument

    func run() throws {
      administrator.common.run { context async throws(CommandFailure) in
        try await context.link(of: administrator.id(context), after: JSONObject())
      }
    }
  }

  struct Disable: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Refuses an administrator from the next request on, and ends the sessions.")
    @OptionGroup var administrator: AdministratorArgument

    func run() throws { administrator.send(.patch, .mergePatch(["disabled": true])) }
  }

  struct Enable: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lets a disabled administrator sign in again.")
    @OptionGroup var administrator: AdministratorArgument

    func run() throws { administrator.send(.patch, .mergePatch(["disabled": false])) }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes an administrator.", discussion: AdministratorRecord.words.consequence)
    @OptionGroup var administrator: AdministratorArgument
    @OptionGroup var confirmation: Confirmation

    func run() throws {
      administrator.common.run { context async throws(CommandFailure) in
        let path = try await administrator.path(context)
        try confirmation.ask("Delete the administrator \(administrator.key)?")
        return CommandOutput(try await context.send(.delete, path))
      }
    }
  }
}

/// The argument that names an administrator.
struct AdministratorArgument: ParsableArguments {
  @OptionGroup var common: CommonOptions

  @Argument(help: ArgumentHelp("The address or the id.", valueName: "administrator"))
  var key: String

  @EventLoop func id(_ context: CommandContext) async throws(CommandFailure) -> String {
    try await context.id(of: key, as: AdministratorRecord.self, in: nil)
  }

  @EventLoop func path(_ context: CommandContext) async throws(CommandFailure) -> String {
    "\(AdministratorRecord.words.path)/\(segment(try await id(context)))"
  }

  /// Sends a request about the administrator, prints the response and ends the process.
  func send(_ method: HTTP.Method, _ body: APIRequest.Body = .none) -> Never {
    common.run { context async throws(CommandFailure) in
      CommandOutput(try await context.send(method, path(context), body))
    }
  }
}

/// The apps and networks of an administrator.
struct AdministratorReach: ParsableArguments {
  @Option(
    name: .customLong("app"),
    help: ArgumentHelp(
      "An app in which the role holds; repeat it for several.", valueName: "name"))
  var apps: [String] = []

  @Option(
    name: .customLong("network"),
    help: ArgumentHelp(
      "A network from which the administrator may use the console; repeat it for several.",
      valueName: "CIDR"))
  var networks: [String] = []

  @Option(
    help: ArgumentHelp(
      "The system user whose commands the audit log shows as those of the administrator; \"\" for none.",
      valueName: "name"))
  var systemUser: String?

  /// Returns the members of a request; those without a value are omitted.
  @EventLoop func members(_ context: CommandContext) async throws(CommandFailure) -> JSONObject {
    var members = JSONObject()
    var ids: [JSON] = []
    for app in apps { ids.append(.string(try await context.record(of: app).id.text)) }
    if !ids.isEmpty { members["app_ids"] = .array(JSONArray(ids)) }
    if !networks.isEmpty { members["networks"] = .array(JSONArray(networks.map(JSON.string))) }
    members["system_user"] = systemUser.map(JSON.string)
    return members
  }
}

extension CommandContext {
  /// Returns the output of a new link of an administrator.
  fileprivate func link(
    of id: String, after members: JSONObject
  ) async throws(CommandFailure) -> CommandOutput {
    let link = try await send(.post, "\(AdministratorRecord.words.path)/\(segment(id))/link")
    var shown = members
    shown["link"] = link["link"]
    shown["link_expires_at"] = link["expires_at"]
    return CommandOutput(
      .object(shown), remark: hasConsole ? nil : "the console is off: set console to use the link")
  }
}
