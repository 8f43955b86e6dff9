import CommandKit
import ArgumentParser
import EventLoop
import HTTP
import JSON
import Permissions
import Tenancy

extension RoleRecord: CommandRecord {
  static var furtherCommands: [any ParsableCommand.Type] {
    [RoleCommand.Permit.self, RoleCommand.Users.self]
  }
  static var lists: [String] { ["permissions"] }
}

/// The commands for the permissions and users of roles.
enum RoleCommand {
  struct Permit: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sets the scopes that a role has at an API; without --scope, it removes them.",
      discussion: "Tokens keep a removed scope until they expire."
    )
    @OptionGroup var role: RecordArgument<RoleRecord>
    @OptionGroup var scopes: PermissionArguments

    func run() throws {
      let app = role.options.app
      role.options.common.run { context async throws(CommandFailure) in
        let path = "\(try await role.path(context))/\(try await scopes.suffix(context, in: app))"
        return CommandOutput(try await context.send(.put, path, scopes.body, to: app))
      }
    }
  }

  struct Users: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the users of a role.")
    @OptionGroup var role: RecordArgument<RoleRecord>
    @OptionGroup var list: ListOptions

    func run() throws {
      let app = role.options.app
      role.options.common.run { context async throws(CommandFailure) in
        let path = "\(try await role.path(context))/users"
        return try await context.list(path, [:], of: app, options: list, columns: ["id"])
      }
    }
  }
}

/// A user and a role.
struct RoleOfUser: ParsableArguments {
  @OptionGroup var user: UserArgument

  @Argument(help: "The role's id or name.")
  var role: String

  /// Sends a request about both, prints the response and ends the process.
  func send(_ method: HTTP.Method) -> Never {
    user.run { context, path async throws(CommandFailure) in
      let app = user.options.app
      let id = try await context.id(of: role, as: RoleRecord.self, in: app)
      return CommandOutput(try await context.send(method, "\(path)/roles/\(segment(id))", to: app))
    }
  }
}

/// An API with scopes of it.
struct PermissionArguments: ParsableArguments {
  @Argument(help: .resourceServer)
  var server: String

  @Option(name: .customLong("scope"), help: "A scope of the API; may be given several times.")
  var scopes: [String] = []

  /// Returns the part of the path behind the role or the user.
  @EventLoop func suffix(
    _ context: CommandContext, in app: String?
  ) async throws(CommandFailure) -> String {
    let id = try await context.id(of: server, as: ResourceServerRecord.self, in: app)
    return "permissions/\(segment(id))"
  }
  var body: APIRequest.Body { .json(["scopes": .array(scopes.map(JSON.string))]) }
}

/// The roles and permissions of one user.
extension UserCommand {
  struct Roles: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Roles of a user.", subcommands: [List.self, Add.self, Remove.self]
    )

    struct List: ParsableCommand {
      static let configuration = CommandConfiguration(abstract: "Lists the roles of a user.")
      @OptionGroup var user: UserArgument

      func run() throws { user.send(.get, "/roles") }
    }

    struct Add: ParsableCommand {
      static let configuration = CommandConfiguration(abstract: "Gives a user a role.")
      @OptionGroup var role: RoleOfUser

      func run() throws { role.send(.put) }
    }

    struct Remove: ParsableCommand {
      static let configuration = CommandConfiguration(
        abstract: "Takes a role from a user; its tokens keep the permissions until they expire."
      )
      @OptionGroup var role: RoleOfUser

      func run() throws { role.send(.delete) }
    }
  }

  struct Permissions: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the permissions of a user, with the roles that give them."
    )
    @OptionGroup var user: UserArgument

    func run() throws { user.send(.get, "/permissions") }
  }

  struct Permit: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sets the scopes that a user has at an API without a role."
    )
    @OptionGroup var user: UserArgument
    @OptionGroup var scopes: PermissionArguments

    func run() throws {
      user.run { context, path async throws(CommandFailure) in
        let app = user.options.app
        let path = "\(path)/\(try await scopes.suffix(context, in: app))"
        return CommandOutput(try await context.send(.put, path, scopes.body, to: app))
      }
    }
  }
}
