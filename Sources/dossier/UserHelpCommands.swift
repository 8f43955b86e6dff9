import CommandKit
import ArgumentParser
import Delivery
import EventLoop
import HTTP
import JSON
import Runtime

/// The support commands for one user.
extension UserCommand {
  struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows why a user cannot sign in, and the command that removes each reason.",
      discussion: """
        Also of an address without a user: it shows users with almost the same address, of those with \
        the same part before the @ and those with the same first three characters. It reads the \
        failures of the last day, and the rate limits in the networks and on the devices of the user.
        """)
    @OptionGroup var options: AppOptions

    @Option(help: "The client that the user signs in to, by its id.")
    var client: String?

    @Option(
      help: ArgumentHelp(
        "The network in which the user is, whose rate limits count too.", valueName: "IP address"))
    var network: String?

    @Argument(help: "The user's id, or an email address with or without a user.")
    var user: String

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        var body = JSONObject()
        body[UserID(user) == nil ? "email" : "user_id"] = .string(user)
        if let client { body["client_id"] = .string(client) }
        if let network { body["network"] = .string(network) }
        let path = "/v1/sign-in-checks"
        let found = try await context.send(.post, path, .json(.object(body)), to: options.app)
        return CommandOutput(found, brief: Self.brief(found), remark: Self.remark(found))
      }
    }

    /// Returns the rows for people: each reason with its command.
    private static func brief(_ found: JSON) -> JSON {
      let reasons = found["reasons"]?.array ?? []
      return .array(
        JSONArray(
          reasons.map { reason in
            let action = reason["action"]
            let request = [action?["method"]?.string, action?["path"]?.string].compactMap(\.self)
            return [
              "code": reason["code"] ?? .null, "reason": reason["reason"] ?? .null,
              "action": .string(
                action?["command"]?.string ?? "by the user: \(request.joined(separator: " "))"),
            ]
          }))
    }

    private static func remark(_ found: JSON) -> String {
      let mails = (found["mails"]?.array ?? []).compactMap { $0["text"]?.string }
      return ([summary(found)] + mails).joined(separator: "\n")
    }

    private static func summary(_ found: JSON) -> String {
      let reasons = found["reasons"]?.array ?? []
      let methods = (found["methods"]?.array ?? []).compactMap(\.string).joined(separator: ", ")
      guard !methods.isEmpty else {
        return reasons.isEmpty ? "the user has no way to sign in" : "no way to sign in is left"
      }
      let start = reasons.isEmpty ? "nothing prevents a sign-in" : "the user can sign in"
      return "\(start); methods that work: \(methods)"
    }
  }

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
      @OptionGroup var confirmation: Confirmation

      func run() throws {
        let question = "Remove the second factors of the user?"
        user.send(.delete, "/second-factors", asking: confirmation, question)
      }
    }
  }
}
