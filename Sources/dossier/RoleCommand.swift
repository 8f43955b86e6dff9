import ArgumentParser
import HTTP
import JSON

struct RoleCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "role", abstract: "Roles of an app, with their permissions: scopes of APIs.",
    subcommands: [
      Create.self, List.self, Show.self, Set.self, Permit.self, Users.self, Delete.self,
    ]
  )

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Creates a role.")
    @OptionGroup var options: AppOptions

    @Option(help: "A description of the role.")
    var description: String?

    @Argument(help: "The name that people see.")
    var name: String

    func run() throws {
      var body = JSONObject([("name", .string(name))])
      body["description"] = description.map(JSON.string)
      options.send(.post, "/v1/roles", .json(.object(body)))
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the roles.")
    @OptionGroup var options: AppOptions

    func run() throws {
      options.send(.get, "/v1/roles", columns: ["id", "name", "description", "created_at"])
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows a role with its permissions.")
    @OptionGroup var role: RoleArgument

    func run() throws {
      let (path, app) = (role.path, role.options.app)
      role.options.common.run { context async throws(CommandFailure) in
        var shown = try await context.send(.get, path, to: app).object ?? JSONObject()
        shown["permissions"] = try await context.send(.get, "\(path)/permissions", to: app)
        return CommandOutput(.object(shown))
      }
    }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Changes a role; omitted options keep their values."
    )
    @OptionGroup var role: RoleArgument

    @Option(help: "The new name.")
    var name: String?

    @Option(help: "A description of the role.")
    var description: String?

    func run() throws {
      var body = JSONObject()
      body["name"] = name.map(JSON.string)
      body["description"] = description.map(JSON.string)
      role.options.send(.patch, role.path, .mergePatch(.object(body)))
    }
  }

  struct Permit: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sets the scopes that a role has at an API; without --scope, it removes them.",
      discussion: "Tokens keep a removed scope until they expire."
    )
    @OptionGroup var role: RoleArgument
    @OptionGroup var scopes: PermissionArguments

    func run() throws {
      role.options.send(.put, "\(role.path)/\(scopes.suffix)", scopes.body)
    }
  }

  struct Users: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the users of a role.")
    @OptionGroup var role: RoleArgument
    @OptionGroup var list: ListOptions

    func run() throws {
      let (path, app) = (role.path, role.options.app)
      role.options.common.run { context async throws(CommandFailure) in
        try await context.list("\(path)/users", [:], of: app, options: list, columns: ["id"])
      }
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a role, and removes it from its users."
    )
    @OptionGroup var role: RoleArgument
    @OptionGroup var consent: Consent

    func run() throws {
      let question = "Delete the role \(role.role), and take it from its users?"
      role.options.send(.delete, role.path, asking: consent, question)
    }
  }
}

struct RoleArgument: ParsableArguments {
  @OptionGroup var options: AppOptions

  @Argument(help: "The role's id.")
  var role: String

  var path: String { "/v1/roles/\(segment(role))" }
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
