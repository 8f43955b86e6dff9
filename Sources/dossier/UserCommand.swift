import CommandKit
import Administration
import ArgumentParser
import Documents
import EventLoop
import HTTP
import JSON
import OpenID
import Runtime
import Tenancy

struct UserCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user",
    abstract: "Users of an app, by id or email address.",
    subcommands: [
      List.self, Show.self, Explain.self, Create.self, Document.self, Documents.self,
      Applications.self,
      Password.self, Factors.self,
      VerifyEmail.self, Roles.self, Permissions.self, Permit.self, Block.self, Unblock.self,
      Logout.self, Delete.self, Merge.self, UndoMerge.self, UserImportCommand.self,
      UserExportCommand.self,
      UserAddressesCommand.self,
    ]
  )

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists users, the newest first.",
      discussion: """
        A filter combines terms with and, or, not and parentheses, for example \
        'metadata.theme = "dark" and custom_data.level >= 7'. Operators: = != < <= > >= ^= (begins \
        with) in (…) exists. A filter needs a term on an indexed path: see `dossier index list`.
        """)
    @OptionGroup var options: AppOptions
    @OptionGroup var list: ListOptions

    @Option(help: "Only users that match it.")
    var filter: String?

    @Option(
      parsing: .unconditional,
      help: "The order; - means descending. An order by email or name has only users with one.")
    var sort = UserSort.newest

    @Flag(help: "Also prints how many users there are, exactly up to 10,000.")
    var total = false

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        var output = try await context.list(
          "/v1/users", ["filter": filter, "sort": sort.rawValue], of: options.app, options: list,
          columns: ["id", "email", "name", "email_verified", "anonymous", "blocked", "created_at"]
        )
        guard total else { return output }
        var request = APIRequest(.get, "/v1/users")
        request.app = options.app
        request.query = [("limit", "1"), ("total", "estimate")]
        if let filter { request.query.append(("filter", filter)) }
        let number = try await context.send(request).total?.split(separator: ";") ?? []
        let words = ["estimate": "about ", "at-least": "at least "]
        let remark =
          "\(number.dropFirst().compactMap { words[String($0)] }.joined())\(number.first ?? "") users "
          + "in total"
        output.remark = [remark, output.remark].compactMap(\.self).joined(separator: "; ")
        return output
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
    @OptionGroup var confirmation: Confirmation

    func run() throws {
      user.send(
        .patch, "", .mergePatch(["blocked": true]), asking: confirmation,
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
      abstract: "Marks the address of a user as verified, or mails a link that verifies it.",
      discussion: """
        Use it for a user whose address you have checked. It revokes nothing. An attacker may have \
        created the user, so the next reset or code by mail revokes everything else, as for an \
        address that is not verified.
        """)
    @OptionGroup var user: UserArgument

    @Flag(help: "Only mails the link, which expires after a day.")
    var mail = false

    func run() throws { user.send(.post, mail ? "/email/verify/request" : "/email/verify") }
  }

  struct Logout: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Ends all sessions of a user.")
    @OptionGroup var user: UserArgument
    @OptionGroup var confirmation: Confirmation

    func run() throws {
      user.send(.delete, "/sessions", asking: confirmation, "End all sessions of the user?")
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a user with all its data, at once.",
      discussion: """
        What stays, and for how long, is printed: events of the audit log without addresses, or only \
        the deletion (deleted_user_events), and the backups. dossier erase keeps the user deleted \
        after a restore.
        """)
    @OptionGroup var user: UserArgument
    @OptionGroup var confirmation: Confirmation

    func run() throws {
      user.run { context, path async throws(CommandFailure) in
        let id = path.split(separator: "/").last ?? ""
        try confirmation.ask("Delete the user with all its data, permanently? (\(id))")
        let body = try await context.send(.delete, path, to: user.options.app)
        let app = try await context.send(
          .get, "/v1/apps/\(segment(user.options.app ?? context.defaultApp))")
        let days = app["settings"]?["audit_retention_days"]?.number?.int ?? 365
        let events =
          app["settings"]?["deleted_user_events"]?.string == "none"
          ? "the event of the deletion" : "events of the audit log without addresses"
        return CommandOutput(
          body,
          remark: "what stays: \(events), for \(days) days (audit_retention_days); the data in "
            + "backups, until they are deleted (record the deletion: dossier erase --record)")
      }
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
  ///   - confirmation: how the operator confirms it; nil if that is not needed.
  ///   - question: what the operator confirms.
  func send(
    _ method: HTTP.Method, _ suffix: String, _ body: APIRequest.Body = .none,
    asking confirmation: Confirmation? = nil, _ question: String = ""
  ) -> Never {
    run { context, path async throws(CommandFailure) in
      try confirmation?.ask("\(question) (\(path.split(separator: "/").last ?? ""))")
      return CommandOutput(try await context.send(method, path + suffix, body, to: options.app))
    }
  }
}

struct UserAddressesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "canonicalize",
    abstract: "Rewrites stored addresses whose domain has another spelling, in all apps.",
    discussion: """
      An international domain has two spellings, as münchen.de and xn--mnchen-3ya.de. Both are one \
      address, which is stored in the second form. The command rewrites the addresses that an older \
      version has stored otherwise: until then, their users cannot sign in by address. It lists \
      conflicts: users who have the same address in two spellings. Delete or readdress one of them, \
      then run the command again. It changes nothing else, and can be repeated.
      """)
  @OptionGroup var common: CommonOptions

  @Flag(help: "Only counts what it would rewrite, and lists the conflicts.")
  var dryRun = false

  func run() throws {
    common.run { context async throws(CommandFailure) in
      let apps = try await context.run { context async throws(Failure) in
        try await Apps.list(context)
      }
      var (count, conflicts) = (0, [JSON]())
      for name in apps.map(\.app.name) {
        let result = try await context.run(in: name) { context async throws(Failure) in
          try await StoredAddresses.canonicalize(context, trial: dryRun)
        }
        count += result.rewritten
        conflicts += result.conflicts.map { conflict in
          [
            "app": .string(name), "user_id": .string(conflict.user.text),
            "email": .string(conflict.address), "canonical": .string(conflict.canonical),
            "other_user_id": .string(conflict.other.text),
          ]
        }
      }
      let remark = dryRun ? "\(count) addresses would be rewritten" : "\(count) addresses rewritten"
      return CommandOutput(
        .array(conflicts), columns: ["app", "user_id", "email", "canonical", "other_user_id"],
        remark: "\(remark), \(conflicts.count) in conflict",
        status: conflicts.isEmpty ? .success : .conflict
      )
    }
  }
}

extension UserCommand {
  struct Applications: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the applications that a user has allowed to use APIs.",
      discussion: """
        --remove revokes all that the user has allowed an application, and ends its sessions. The user \
        is asked again at the next sign-in.
        """)
    @OptionGroup var user: UserArgument

    @Option(help: ArgumentHelp("The application to remove.", valueName: "client"))
    var remove: String?

    func run() throws {
      user.options.common.run { context async throws(CommandFailure) in
        let app = user.options.app
        guard let id = UserID(try await context.user(user.user, of: app)) else {
          throw CommandFailure(.notFound)
        }
        if let remove {
          try await context.run(in: app) { context async throws(Failure) in
            guard let client = ClientID(remove) else { throw .notFound }
            try await Consents.revoke(client, by: id, context)
          }
        }
        let consents = try await context.run(in: app) { context async throws(Failure) in
          try await Consents.list(of: id, context)
        }
        let rows = consents.map { confirmation -> JSON in
          [
            "client": .string(confirmation.client.text),
            "name": confirmation.name.map(JSON.string) ?? .null,
            "audience": .string(confirmation.audience),
            "scopes": .array(confirmation.scopes.map(JSON.string)),
            "updated_at": .string(confirmation.updatedAt.text),
          ]
        }
        return CommandOutput(.array(rows))
      }
    }
  }
}

extension UserCommand {
  struct Document: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a document of a user, or changes it.",
      discussion: """
        Members are changed one by one; null removes one. A value that is JSON is taken \
        as JSON, any other as text. --from replaces the whole document.

          dossier user document ada@example.com metadata
          dossier user document ada@example.com app-metadata plan=pro display_announcement=true
          echo '{"theme": "dark"}' | dossier user document ada@example.com metadata --from -
        """)
    @OptionGroup var user: UserArgument
    @Argument(help: .document) var document: DocumentKind

    @Option(
      help: ArgumentHelp("The new document, in JSON; - is standard input.", valueName: "file")
    )
    var from: String?

    @Option(help: "Changes nothing unless the stored version is this one.")
    var ifVersion: Int?

    @Argument(help: ArgumentHelp("Members to change.", valueName: "member=value"))
    var members: [NamedValue] = []

    func validate() throws {
      guard from == nil || members.isEmpty else {
        throw ValidationError("Give either --from or members.")
      }
    }

    func run() throws {
      user.run { context, path async throws(CommandFailure) in
        var request = APIRequest(.get, "\(path)/\(document.pathName)")
        (request.app, request.ifVersion) = (user.options.app, ifVersion)
        if let from {
          // The text is sent as it is, which keeps its numbers.
          (request.method, request.body) = (.put, .text(try InputFile.read(from)))
        } else if !members.isEmpty {
          let patch = JSONObject(members.map { ($0.name, $0.json) })
          (request.method, request.body) = (.patch, .mergePatch(.object(patch)))
        }
        return CommandOutput(try await context.send(request).json)
      }
    }
  }
}

extension UserCommand {
  struct Documents: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replaces several documents of a user, all or none.",
      discussion: """
        The file has each document with the version that it replaces, which is 0 for a new one:

          {"metadata": {"document": {"theme": "dark"}, "version": 3},
           "app_metadata": {"document": {"plan": "pro"}, "version": 1}}

        It prints the new versions.
        """)
    @OptionGroup var user: UserArgument

    @Argument(help: ArgumentHelp("The documents, in JSON; - is standard input.", valueName: "file"))
    var file: String

    func run() throws {
      user.run { context, path async throws(CommandFailure) in
        let body = APIRequest.Body.text(try InputFile.read(file))
        return CommandOutput(
          try await context.send(.put, "\(path)/documents", body, to: user.options.app))
      }
    }
  }
}

extension UserSort: ExpressibleByArgument {}
