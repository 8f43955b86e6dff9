import ArgumentParser
import EventLoop
import HTTP
import JSON
import Runtime
import Tenancy
import Records

struct ClientCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "client",
    abstract: "OAuth clients: programs that sign users in, and back ends.",
    subcommands: [
      Create.self, List.self, Show.self, Set.self, Rotate.self, Disable.self, Enable.self,
      Delete.self, Grant.self, Grants.self, Revoke.self, Import.self,
    ]
  )

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Creates a client, and shows its secret only this once.",
      discussion: """
        Native and single-page clients have no secret. Scopes are for the routes of /v1 that a \
        client of kind web or machine calls with its secret:
        \(Scopes.management.joined(separator: " "))

        A client that moves here keeps its id and its secret, so its program stays as it is:

          dossier client create --id OLD_ID --secret-file FILE --kind web "My app"

        An id is unique in the deployment. Such a secret is valid at /oauth, and not for /v1, which \
        needs one that this server made.
        """)
    @OptionGroup var common: CommonOptions

    @Option(
      help: ArgumentHelp(
        "The app that it belongs to; by default that of the setting app.", valueName: "name"
      )
    )
    var app: String?

    @Option(help: "\(ClientKind.allCases.map(\.rawValue).joined(separator: ", ")).")
    var kind = ClientKind.machine

    @Option(
      name: .customLong("callback"),
      help: ArgumentHelp(
        "A URL that browsers may be sent to; may be given several times.", valueName: "url"
      )
    )
    var callbacks: [String] = []

    @Option(name: .customLong("scope"), help: "A scope of the client; may be given several times.")
    var scopes: [String] = []

    @Option(help: "The id that the client had at another server; by default a new one.")
    var id: String?

    @Option(
      help: ArgumentHelp(
        "A file with the secret that it had there, of 32 to 256 characters; - is standard input.",
        valueName: "file"
      )
    )
    var secretFile: String?

    @Option(
      name: .customLong("secret-sha256-file"),
      help: ArgumentHelp(
        "In place of it, a file with the SHA-256 digest of the secret in hexadecimal.",
        valueName: "file"
      )
    )
    var digestFile: String?

    @Flag(
      name: .customLong("operator"),
      help: "Creates a client of the operator, which has full access to all apps."
    )
    var isOperator = false

    @Argument(help: "The name that people see.")
    var name: String

    @Argument(
      help: ArgumentHelp("Settings, as for `dossier client set`.", valueName: "setting=value")
    )
    var settings: [NamedValue] = []

    func validate() throws {
      guard !isOperator || app == nil else {
        throw ValidationError("A client of the operator belongs to no app: omit --app.")
      }
      guard secretFile == nil || digestFile == nil else {
        throw ValidationError("Give either --secret-file or --secret-sha256-file.")
      }
      guard callbacks.isEmpty || kind != .machine else {
        throw ValidationError(
          "A client of kind machine signs no users in: omit --callback, or add --kind web, native "
            + "or single_page."
        )
      }
    }

    func run() throws {
      var body = JSONObject([
        ("name", .string(name)), ("kind", .string(kind.rawValue)),
        ("scopes", .array(scopes.map(JSON.string))),
      ])
      var settings = RecordShape.client.patch(of: settings)
      if !callbacks.isEmpty { settings["callback_urls"] = .array(callbacks.map(JSON.string)) }
      if settings.count > 0 { body["settings"] = .object(settings) }
      common.run { [body] context async throws(CommandFailure) in
        let app = isOperator ? nil : app ?? context.defaultApp
        // Before the write, since a failure after it would lose the secret.
        let domain = try await context.domain(of: app, kind: kind.rawValue)
        var body = body
        body["id"] = id.map(JSON.string)
        if let secretFile { body["secret"] = .string(try InputFile.password(secretFile)) }
        if let digestFile { body["secret_sha256"] = .string(try InputFile.password(digestFile)) }
        body["app"] = app.map(JSON.string) ?? .null
        let made = try await context.send(.post, "/v1/clients", .json(.object(body)))
        return CommandOutput(
          made.with(domain), remark: made["secret"] == nil ? nil : "the secret is not shown again"
        )
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the clients of all apps, or of one."
    )
    @OptionGroup var options: AppOptions

    func run() throws {
      options.common.send(
        .get, "/v1/clients" + (options.app.map { "?app=\(segment($0))" } ?? ""),
        columns: ["id", "app", "kind", "name", "disabled", "created_at", "scopes"]
      )
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a client with the settings in force."
    )
    @OptionGroup var client: ClientArgument

    func run() throws { client.send(.get) }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Changes settings of a client.",
      discussion: """
        \(RecordShape.notation) Pages may call the server from new origins within about 10 seconds.

          dossier client set ID callback_urls=https://a.example/callback refresh_token_days=90

        Settings:
        \(RecordShape.client.columns.table)
        """)
    @OptionGroup var client: ClientArgument

    @Option(help: "Changes nothing unless the stored version is this one.")
    var ifVersion: Int?

    @Option(help: "The new name.")
    var name: String?

    @Option(
      name: .customLong("scope"),
      help: "A scope of the client, instead of those before; may be given several times."
    )
    var scopes: [String] = []

    @Argument(help: ArgumentHelp("Settings.", valueName: "setting=value"))
    var settings: [NamedValue] = []

    func run() throws {
      var body = JSONObject([("settings", .object(RecordShape.client.patch(of: settings)))])
      if let name { body["name"] = .string(name) }
      if !scopes.isEmpty { body["scopes"] = .array(scopes.map(JSON.string)) }
      let json = JSON.object(body)
      client.common.run { context async throws(CommandFailure) in
        let changed = try await context.send(
          .patch, client.path, .mergePatch(json), ifVersion: ifVersion
        )
        return CommandOutput(
          try await context.withDomain(changed),
          brief: changed.brief(["id", "name", "version"], settings)
        )
      }
    }
  }

  struct Rotate: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replaces the secret of a client; its next call with the old one is refused."
    )
    @OptionGroup var client: ClientArgument
    @OptionGroup var consent: Consent

    func run() throws {
      client.common.run { context async throws(CommandFailure) in
        try consent.ask("Replace the secret of the client \(client.id), and refuse the old one?")
        return CommandOutput(
          try await context.send(.post, "\(client.path)/secret"),
          remark: "the secret is not shown again"
        )
      }
    }
  }

  struct Disable: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Disables a client; its next call is refused."
    )
    @OptionGroup var client: ClientArgument

    func run() throws { client.send(.patch, .mergePatch(["disabled": true])) }
  }

  struct Enable: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Enables a client again.")
    @OptionGroup var client: ClientArgument

    func run() throws { client.send(.patch, .mergePatch(["disabled": false])) }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a client; its next call is refused."
    )
    @OptionGroup var client: ClientArgument
    @OptionGroup var consent: Consent

    func run() throws {
      let question = "Delete the client \(client.id), permanently?"
      client.common.send(.delete, client.path, asking: consent, question)
    }
  }
}

extension CommandContext {
  /// Returns a client that signs users in with its domain, as SDKs ask for it: `host` or `host:port`.
  fileprivate func withDomain(_ client: JSON) async throws(CommandFailure) -> JSON {
    client.with(try await domain(of: client["app"]?.string, kind: client["kind"]?.string))
  }

  /// Returns the domain of the clients of an app; nil for a client that signs no users in.
  fileprivate func domain(of app: String?, kind: String?) async throws(CommandFailure) -> String? {
    guard let app, kind != ClientKind.machine.rawValue else { return nil }
    return try await send(.get, path(of: app))["hosts"]?.array?.first?.string ?? deploymentHost
  }
}

extension JSON {
  /// Returns a client with its domain as the first member.
  fileprivate func with(_ domain: String?) -> JSON {
    guard let object, let domain else { return self }
    return .object(JSONObject([("domain", .string(domain))] + object.map { ($0.key, $0.value) }))
  }
}

extension ClientKind: ExpressibleByArgument {}

struct ClientArgument: ParsableArguments {
  @OptionGroup var common: CommonOptions

  @Argument(help: "The client's id.")
  var id: String

  var path: String { "/v1/clients/\(segment(id))" }

  func send(_ method: HTTP.Method, _ body: APIRequest.Body = .none) -> Never {
    common.run { context async throws(CommandFailure) in
      CommandOutput(try await context.withDomain(context.send(method, path, body)))
    }
  }
}

extension ClientCommand {
  struct Grant: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sets the scopes that a client gets at an API by its secret, without a user."
    )
    @OptionGroup var grant: GrantArguments

    @Option(name: .customLong("scope"), help: "A scope of the API; may be given several times.")
    var scopes: [String] = []

    func validate() throws {
      guard !scopes.isEmpty else {
        throw ValidationError("Name each --scope. `dossier client revoke` removes the grant.")
      }
    }

    func run() throws {
      let body: JSON = ["scopes": .array(scopes.map(JSON.string))]
      grant.client.common.send(.put, grant.path, .json(body))
    }
  }

  struct Grants: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the APIs for which a client gets tokens by its secret."
    )
    @OptionGroup var client: ClientArgument

    func run() throws {
      client.common.send(
        .get, "\(client.path)/grants", columns: ["resource_server", "identifier", "name", "scopes"]
      )
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes the scopes of a client at an API; its tokens stay valid until they expire."
    )
    @OptionGroup var grant: GrantArguments

    func run() throws { grant.client.common.send(.delete, grant.path) }
  }
}

struct GrantArguments: ParsableArguments {
  @OptionGroup var client: ClientArgument

  @Argument(help: ArgumentHelp("The API's id.", valueName: "resource-server"))
  var server: String

  var path: String { "\(client.path)/grants/\(segment(server))" }
}
