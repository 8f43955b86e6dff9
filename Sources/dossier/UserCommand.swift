import ArgumentParser
import EventLoop
import HTTP
import JSON

struct UserCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user",
    abstract: "Users of an app, by id or email address.",
    subcommands: [
      List.self, Show.self, Create.self, Document.self, Applications.self, Password.self,
      Factors.self,
      VerifyEmail.self, Roles.self, Permissions.self, Permit.self, Block.self, Unblock.self,
      Logout.self, Delete.self, UserImportCommand.self, UserExportCommand.self,
      UserAddressesCommand.self,
    ]
  )

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists users, the oldest first.",
      discussion: """
        A filter combines terms with and, or, not and parentheses, for example \
        'metadata.theme = "dark" and custom_data.level >= 7'. Operators: = != < <= > >= ^= (begins \
        with) in (…) exists. A filter needs a term on an indexed path: see `dossier index list`.
        """)
    @OptionGroup var options: AppOptions
    @OptionGroup var list: ListOptions

    @Option(help: "Only users that match it.")
    var filter: String?

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        try await context.list(
          "/v1/users", ["filter": filter], of: options.app, options: list,
          columns: ["id", "email", "email_verified", "anonymous", "blocked", "created_at"]
        )
      }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a user with its sign-ins, identities and sessions."
    )
    @OptionGroup var user: UserArgument

    func run() throws {
      user.run { context, path async throws(CommandFailure) in
        let app = user.options.app
        var shown = try await context.send(.get, path, to: app).object ?? JSONObject()
        let logins = try await context.send(.get, "\(path)/logins", to: app).object
        for (name, value) in logins ?? JSONObject() { shown[name] = value }
        shown["identities"] = try await context.send(.get, "\(path)/identities", to: app)
        shown["sessions"] = .array(
          try await context.items("\(path)/sessions", of: app, limit: nil).rows
        )
        return CommandOutput(.object(shown))
      }
    }
  }

  struct Block: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Blocks a user: its sessions end, and it cannot sign in."
    )
    @OptionGroup var user: UserArgument
    @OptionGroup var consent: Consent

    func run() throws {
      user.send(
        .patch, "", .mergePatch(["blocked": true]), asking: consent,
        "Block the user, and end all its sessions?"
      )
    }
  }

  struct Unblock: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lets a user sign in again.")
    @OptionGroup var user: UserArgument

    func run() throws { user.send(.patch, "", .mergePatch(["blocked": false])) }
  }

  struct VerifyEmail: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Marks the address of a user as verified.",
      discussion: """
        Use it for a user whose address you have checked. It revokes nothing. An attacker may have \
        created the user, so the next reset or code by mail revokes everything else, as for an \
        address that is not verified.
        """)
    @OptionGroup var user: UserArgument

    func run() throws { user.send(.post, "/email/verify") }
  }

  struct Logout: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Ends all sessions of a user.")
    @OptionGroup var user: UserArgument
    @OptionGroup var consent: Consent

    func run() throws {
      user.send(.delete, "/sessions", asking: consent, "End all sessions of the user?")
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a user with all its data, at once."
    )
    @OptionGroup var user: UserArgument
    @OptionGroup var consent: Consent

    func run() throws {
      user.send(.delete, "", asking: consent, "Delete the user with all its data, permanently?")
    }
  }
}

struct UserArgument: ParsableArguments {
  @OptionGroup var options: AppOptions

  @Argument(help: "The user's id or email address, verified or not.")
  var user: String

  /// Runs `body` with the path of the user, prints its output and ends the process.
  func run(
    _ body:
      @escaping @EventLoop @Sendable (CommandContext, String) async throws(CommandFailure) ->
      CommandOutput
  ) -> Never {
    options.common.run { context async throws(CommandFailure) in
      try await body(context, "/v1/users/\(context.user(user, of: options.app))")
    }
  }

  /// Sends a request about the user, prints the response and ends the process.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - suffix: the part of the path behind the user.
  ///   - body: the body.
  ///   - consent: how the operator confirms it; nil if that is not needed.
  ///   - question: what the operator confirms.
  func send(
    _ method: HTTP.Method, _ suffix: String, _ body: APIRequest.Body = .none,
    asking consent: Consent? = nil, _ question: String = ""
  ) -> Never {
    run { context, path async throws(CommandFailure) in
      try consent?.ask("\(question) (\(path.split(separator: "/").last ?? ""))")
      return CommandOutput(try await context.send(method, path + suffix, body, to: options.app))
    }
  }
}
