import ArgumentParser
import HTTP
import JSON
import Permissions

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
      role.options.send(.put, "\(role.path)/\(scopes.suffix)", scopes.body)
    }
  }

  struct Users: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the users of a role.")
    @OptionGroup var role: RecordArgument<RoleRecord>
    @OptionGroup var list: ListOptions

    func run() throws {
      let (path, app) = (role.path, role.options.app)
      role.options.common.run { context async throws(CommandFailure) in
        try await context.list("\(path)/users", [:], of: app, options: list, columns: ["id"])
      }
    }
  }
}

/// An API with scopes of it.
struct PermissionArguments: ParsableArguments {
  @Argument(help: ArgumentHelp("The API's id.", valueName: "resource-server"))
  var server: String

  @Option(name: .customLong("scope"), help: "A scope of the API; may be given several times.")
  var scopes: [String] = []

  /// The part of the path behind the role or the user.
  var suffix: String { "permissions/\(segment(server))" }
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
      @OptionGroup var user: UserArgument

      @Argument(help: "The role's id.")
      var role: String

      func run() throws { user.send(.put, "/roles/\(segment(role))") }
    }

    struct Remove: ParsableCommand {
      static let configuration = CommandConfiguration(
        abstract: "Takes a role from a user; its tokens keep the permissions until they expire."
      )
      @OptionGroup var user: UserArgument

      @Argument(help: "The role's id.")
      var role: String

      func run() throws { user.send(.delete, "/roles/\(segment(role))") }
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

    func run() throws { user.send(.put, "/\(scopes.suffix)", scopes.body) }
  }
}
