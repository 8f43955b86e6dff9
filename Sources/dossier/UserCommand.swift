import ArgumentParser
import Dossier
import EventLoop
import JSON
import RESTWire

struct UserCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user",
    abstract: "Users of an app, by id or by address of mail.",
    subcommands: [
      List.self, Show.self, Create.self, Data.self, Password.self, Factors.self, Verify.self,
      Block.self, Unblock.self, Logout.self, Delete.self, UserImportCommand.self,
      UserExportCommand.self,
    ]
  )

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists users, the oldest first.",
      discussion: """
        A filter puts terms together by and, or, not and parentheses, as in \
        'metadata.theme = "dark" and custom_data.level >= 7'. Operators: = != < <= > >= ^= (begins \
        with) in (…) exists. `dossier index list` shows the paths of which one must be there.
        """
    )
    @OptionGroup var options: AppOptions

    @Option(help: "Only those whom it fits.")
    var filter: String?

    @Option(help: "The id of the user after whom the list goes on.")
    var after: String?

    @Option(help: ArgumentHelp("How many at most, from 1 to 100.", valueName: "number"))
    var count = Users.pageSize

    func validate() throws {
      guard (1...Users.pageSize).contains(count) else {
        throw ValidationError("--count takes a number from 1 to \(Users.pageSize).")
      }
      guard after.map({ UserID($0) != nil }) != false else {
        throw ValidationError("--after takes an id.")
      }
    }

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        let context = try await console.context(of: options.app)
        let cursor = after.flatMap { UserID($0) }
        let page = try await console.doing(context) { context async throws(Failure) in
          guard let filter else {
            return try await Users.page(after: cursor, count: count, context)
          }
          return try await Users.search(try Filter(filter), after: cursor, count: count, context)
        }
        return CommandOutput(
          .array(page.items.map(\.json)),
          columns: ["id", "email", "email_verified", "anonymous", "blocked", "created_at"],
          remark: page.next.map { "there may be more: --after \($0)" }
        )
      }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a user with its identities and sessions."
    )
    @OptionGroup var user: UserArgument

    func run() throws {
      user.run { id, context async throws(Failure) in
        CommandOutput(try await Users.details(of: id, context).json)
      }
    }
  }

  struct Block: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Blocks a user: its sessions end, and it cannot log in."
    )
    @OptionGroup var user: UserArgument

    func run() throws {
      user.run { id, context async throws(Failure) in
        CommandOutput(try await Users.setBlocked(true, id, context).json)
      }
    }
  }

  struct Unblock: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lets a user log in again.")
    @OptionGroup var user: UserArgument

    func run() throws {
      user.run { id, context async throws(Failure) in
        CommandOutput(try await Users.setBlocked(false, id, context).json)
      }
    }
  }

  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes the address of a user verified.",
      discussion: """
        Use it for a user whose address you have checked. It revokes nothing. An attacker may have \
        made the user, so the next reset or code by mail revokes everything else, as for an address \
        that is not verified.
        """
    )
    @OptionGroup var user: UserArgument

    func run() throws {
      user.run { id, context async throws(Failure) in
        try await Users.verifyEmail(of: id, context)
        return CommandOutput(try await Profiles.read(of: id, context).json)
      }
    }
  }

  struct Logout: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Ends all sessions of a user.")
    @OptionGroup var user: UserArgument

    func run() throws {
      user.run { id, context async throws(Failure) in
        try await Users.logout(id, context)
        return CommandOutput(["id": .string(id.text)])
      }
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a user with all its data, at once."
    )
    @OptionGroup var user: UserArgument
    @OptionGroup var consent: Consent

    func run() throws {
      user.run(asking: consent, "Delete the user with all its data, for good?") {
        id,
        context async throws(Failure) in
        try await Users.delete(id, context)
        return CommandOutput(["id": .string(id.text)])
      }
    }
  }
}

struct UserArgument: ParsableArguments {
  @OptionGroup var options: AppOptions

  @Argument(help: "The user's id or address of mail, verified or not.")
  var user: String

  /// An operation on one user of an app.
  typealias Verb =
    @EventLoop @Sendable (UserID, RequestContext) async throws(Failure) ->
    CommandOutput

  func run(
    asking consent: Consent? = nil,
    _ question: String = "",
    _ verb: @escaping Verb
  ) -> Never {
    options.common.run { console async throws(CommandFailure) in
      let context = try await console.context(of: options.app)
      let id = try await console.user(user, context)
      try consent?.ask("\(question) (\(id))")
      return try await console.doing(context) { context async throws(Failure) in
        try await verb(id, context)
      }
    }
  }
}

extension UserDetails {
  fileprivate var json: JSON {
    var members = profile.json.object ?? JSONObject()
    members["last_login_at"] = lastLoginAt.map { .string($0.text) } ?? .null
    members["login_count"] = .number(JSONNumber(loginCount))
    members["identities"] = .array(identities.map(\.json))
    members["sessions"] = .array(sessions.map(\.json))
    return .object(members)
  }
}
