import ArgumentParser
import Dossier
import EventLoop
import JSON
import RESTWire

/// The support commands for one user.
extension UserCommand {
  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes a user.",
      discussion: """
        Members are those of a line of `dossier user import`, as in

          dossier user create email=ada@example.com email_verified=true name='Ada Lovelace' --mail

        A user with an address and no password chooses one by mail: at once with --mail, otherwise on \
        request.
        """
    )
    @OptionGroup var options: AppOptions

    @Option(
      help: ArgumentHelp("Its first line is the password; - is standard input.", valueName: "file")
    )
    var passwordFile: String?

    @Option(
      help: ArgumentHelp("A JSON object with members; - is standard input.", valueName: "file")
    )
    var from: String?

    @Flag(help: "Mails a code to choose a password by.")
    var mail = false

    @Argument(help: ArgumentHelp("Members.", valueName: "member=value"))
    var members: [String] = []

    /// The members whose values are always text.
    private static let texts: Swift.Set<String> = [
      "id", "email", "password_hash", "name", "given_name", "family_name", "nickname", "phone",
      "locale", "zone", "created_at",
    ]

    func validate() throws {
      for text in members where !text.contains("=") {
        throw ValidationError("\(text) is not member=value.")
      }
      guard passwordFile == nil || passwordFile != from else {
        throw ValidationError("--password-file and --from cannot be the same.")
      }
    }

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        let description = try description()
        let context = try await console.context(of: options.app)
        let made = try await console.doing(context) { context async throws(Failure) in
          let new = try await NewUser(description, context)
          let made = try await Users.create(new, context)
          if mail { try await Users.mailReset(to: made.id, context) }
          return made
        }
        return CommandOutput(made.json)
      }
    }

    private func description() throws(CommandFailure) -> JSON {
      var object = JSONObject()
      if let from {
        guard let given = try InputFile.json(from).object else {
          throw .file("\(from) is not a JSON object", .invalid)
        }
        object = given
      }
      for text in members {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let (name, value) = (String(parts[0]), String(parts[1]))
        let json = Self.texts.contains(name) ? nil : try? JSON.parse(Array(value.utf8))
        object[name] = json ?? .string(value)
      }
      if let passwordFile { object["password"] = .string(try InputFile.password(passwordFile)) }
      return .object(object)
    }
  }

  struct Password: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sets a user's password, or mails a code to choose one by.",
      discussion: """
        A password that is set ends all sessions and API keys of the user, who is told by mail. It is \
        read from a file or from standard input: what is an argument, all users of the machine see.
        """
    )
    @OptionGroup var user: UserArgument

    @Option(
      help: ArgumentHelp("Its first line is the password; - is standard input.", valueName: "file")
    )
    var from: String?

    @Flag(help: "Mails a code, which is good for an hour.")
    var mail = false

    func validate() throws {
      guard mail == (from == nil) else { throw ValidationError("Say --mail or --from.") }
    }

    func run() throws {
      user.runInApp { console, id, context async throws(CommandFailure) in
        let password: String? = if let from { try InputFile.password(from) } else { nil }
        return try await console.doing(context) { context async throws(Failure) in
          if let password {
            try await Users.setPassword(password, of: id, context)
          } else {
            try await Users.mailReset(to: id, context)
          }
          return CommandOutput(["id": .string(id.text)])
        }
      }
    }
  }

  struct Factors: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "second-factors",
      abstract: "Second factors of a user.",
      subcommands: [Remove.self]
    )

    struct Remove: ParsableCommand {
      static let configuration = CommandConfiguration(
        abstract: "Removes the second factors of a user who has lost them.",
        discussion: """
          The recovery codes go with them. The user is told by mail. Make sure who asks: a password \
          alone then opens the account.
          """
      )
      @OptionGroup var user: UserArgument

      func run() throws {
        user.run { id, context async throws(Failure) in
          try await SecondFactors.removeAll(of: id, context)
          return CommandOutput(["id": .string(id.text)])
        }
      }
    }
  }

  struct Data: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints everything that is stored about a user, as one JSON document.",
      discussion: """
        What `GET /v1/me/export` answers, for somebody who asks for their data. That it was read is \
        in the audit trail.
        """
    )
    @OptionGroup var user: UserArgument

    func run() throws {
      user.runInApp { console, id, context async throws(CommandFailure) in
        let export = try await console.doing(context) { context async throws(Failure) in
          try await Export.all(of: id, context)
        }
        return CommandOutput(text: String(decoding: export.text, as: UTF8.self))
      }
    }
  }
}

extension UserArgument {
  /// Runs an operation on one user that needs the settings of the app.
  fileprivate func runInApp(
    _ verb:
      @escaping @EventLoop @Sendable (OperatorConsole, UserID, RequestContext)
      async throws(CommandFailure)
      ->
      CommandOutput
  ) -> Never {
    options.common.run { console async throws(CommandFailure) in
      let context = try await console.context(of: options.app)
      return try await verb(console, try await console.user(user, context), context)
    }
  }
}
