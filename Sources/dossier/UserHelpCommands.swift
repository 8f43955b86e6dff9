import ArgumentParser
import Delivery
import EventLoop
import HTTP
import JSON
import Runtime

/// The support commands for one user.
extension UserCommand {
  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Creates a user.",
      discussion: """
        Members are those of a line of `dossier user import`, as in

          dossier user create email=ada@example.com email_verified=true name='Ada Lovelace' --mail

        A user with an address and no password chooses one by mail: at once with --mail, otherwise on \
        request.
        """)
    @OptionGroup var options: AppOptions

    @Option(
      help: ArgumentHelp("Its first line is the password; - is standard input.", valueName: "file")
    )
    var passwordFile: String?

    @Option(
      help: ArgumentHelp("A JSON object with members; - is standard input.", valueName: "file")
    )
    var from: String?

    @Flag(help: "Mails a link by which the user chooses a password.")
    var mail = false

    @Argument(help: ArgumentHelp("Members.", valueName: "member=value"))
    var members: [NamedValue] = []

    /// The members whose values are always text.
    private static let texts: Swift.Set<String> = [
      "id", "email", "password_hash", "name", "given_name", "family_name", "nickname", "phone",
      "locale", "zone", "created_at",
    ]

    func validate() throws {
      guard passwordFile == nil || passwordFile != from else {
        throw ValidationError("--password-file and --from cannot be the same.")
      }
    }

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        let body = try description()
        if mail { try requireMail(of: body, context) }
        let user = try await context.send(.post, "/v1/users", .json(body), to: options.app)
        if mail, let id = user["id"]?.string { try await requestPassword(of: id, context) }
        return CommandOutput(user)
      }
    }

    /// Throws an error, before anything is stored, if the mail could not be sent.
    @EventLoop private func requireMail(
      of user: JSON, _ context: CommandContext
    ) throws(CommandFailure) {
      guard context.sendsMail else { throw CommandFailure(.mailNotConfigured) }
      guard user["email"]?.string != nil else {
        throw CommandFailure("--mail needs the member email: nothing was changed", .invalid)
      }
    }

    /// Mails the link; names the user in the error if that fails, since the user exists by then.
    @EventLoop private func requestPassword(
      of id: String, _ context: CommandContext
    ) async throws(CommandFailure) {
      do throws(CommandFailure) {
        let path = "/v1/users/\(id)/password/reset-request"
        _ = try await context.send(.post, path, to: options.app)
      } catch {
        let app = options.app.map { " --app \($0)" } ?? ""
        throw CommandFailure(
          error.reason
            + "\nThe user \(id) exists. Mail the link later: dossier user password \(id) --mail\(app)",
          error.status
        )
      }
    }

    private func description() throws(CommandFailure) -> JSON {
      var object = JSONObject()
      if let from {
        guard let given = try InputFile.json(from).object else {
          throw CommandFailure("\(from) is not a JSON object", .invalid)
        }
        object = given
      }
      for member in members {
        object[member.name] =
          Self.texts.contains(member.name) ? .string(member.value) : member.json
      }
      if let passwordFile { object["password"] = .string(try InputFile.password(passwordFile)) }
      return .object(object)
    }
  }

  struct Password: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sets a user's password, or mails a link by which the user chooses one.",
      discussion: """
        A password that is set ends all sessions and API keys of the user, and a mail reports it. It is \
        read from a file or standard input, since other users of the machine can see arguments.
        """)
    @OptionGroup var user: UserArgument

    @Option(
      help: ArgumentHelp("Its first line is the password; - is standard input.", valueName: "file")
    )
    var from: String?

    @Flag(help: "Mails the link, which expires after an hour.")
    var mail = false

    func validate() throws {
      guard mail == (from == nil) else { throw ValidationError("Pass --mail or --from.") }
    }

    func run() throws {
      guard let from else { user.send(.post, "/password/reset-request") }
      user.run { context, path async throws(CommandFailure) in
        let password = try InputFile.password(from)
        return CommandOutput(
          try await context.send(
            .put, "\(path)/password", .json(["password": .string(password)]), to: user.options.app
          )
        )
      }
    }
  }

  struct Factors: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "second-factors", abstract: "Second factors of a user.",
      subcommands: [Remove.self]
    )

    struct Remove: ParsableCommand {
      static let configuration = CommandConfiguration(
        abstract: "Removes the second factors of a user who has lost them.",
        discussion: """
          It also removes the recovery codes, and notifies the user by mail. Verify who asks: after \
          that, the password alone is enough to sign in.
          """)
      @OptionGroup var user: UserArgument
      @OptionGroup var consent: Consent

      func run() throws {
        let question = "Remove the second factors of the user?"
        user.send(.delete, "/second-factors", asking: consent, question)
      }
    }
  }
}
