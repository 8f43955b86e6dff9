import ArgumentParser
import HTTP
import JSON
import Tenancy

struct ResourceServerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resource-server", abstract: "APIs that access tokens are for, with their scopes.",
    subcommands: [Create.self, List.self, Show.self, Set.self, Delete.self]
  )

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Creates an API.")
    @OptionGroup var options: AppOptions
    @OptionGroup var details: ResourceServerDetails

    @Argument(help: "The audience of its tokens, such as https://api.example.com.")
    var identifier: String

    @Argument(help: "The name that people see.")
    var name: String

    func run() throws {
      var body = details.body
      (body["identifier"], body["name"]) = (.string(identifier), .string(name))
      let json = body
      options.common.run { context async throws(CommandFailure) in
        var body = json
        body["app"] = .string(options.app ?? context.defaultApp)
        return CommandOutput(
          try await context.send(.post, "/v1/resource-servers", .json(.object(body)))
        )
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the APIs of all apps, or of one."
    )
    @OptionGroup var options: AppOptions

    func run() throws {
      options.common.send(
        .get, "/v1/resource-servers" + (options.app.map { "?app=\(segment($0))" } ?? ""),
        columns: ["id", "app", "identifier", "name", "token_seconds", "created_at"]
      )
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows an API with its scopes.")
    @OptionGroup var server: ResourceServerArgument

    func run() throws { server.common.send(.get, server.path) }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Changes an API; omitted options keep their values.",
      discussion: """
        --scope adds a scope, or changes its description. Its tokens keep a removed scope until \
        they expire.
        """)
    @OptionGroup var server: ResourceServerArgument
    @OptionGroup var details: ResourceServerDetails

    @Option(help: "The new name.")
    var name: String?

    @Option(
      name: .customLong("remove-scope"),
      help: ArgumentHelp("A scope to remove; may be given several times.", valueName: "scope")
    )
    var removed: [String] = []

    @Option(help: "Changes nothing unless the stored version is this one.")
    var ifVersion: Int?

    func run() throws {
      var body = details.body
      if let name { body["name"] = .string(name) }
      if !removed.isEmpty {
        var scopes = body["scopes"]?.object ?? JSONObject()
        for scope in removed { scopes[scope] = .null }
        body["scopes"] = .object(scopes)
      }
      let json = JSON.object(body)
      server.common.run { context async throws(CommandFailure) in
        CommandOutput(
          try await context.send(.patch, server.path, .mergePatch(json), ifVersion: ifVersion)
        )
      }
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes an API with the grants of clients."
    )
    @OptionGroup var server: ResourceServerArgument
    @OptionGroup var consent: Consent

    func run() throws {
      let question = "Delete the API \(server.id) with the grants of clients, permanently?"
      server.common.send(.delete, server.path, asking: consent, question)
    }
  }
}

struct ResourceServerArgument: ParsableArguments {
  @OptionGroup var common: CommonOptions

  @Argument(help: "The API's id.")
  var id: String

  var path: String { "/v1/resource-servers/\(segment(id))" }
}

/// The members of an API that its creation and a change have in common.
struct ResourceServerDetails: ParsableArguments {
  @Option(
    name: .customLong("scope"),
    help: ArgumentHelp(
      "A scope with its description for users; may be given several times.",
      valueName: "scope=description"
    )
  )
  var scopes: [String] = []

  @Option(help: "The lifetime of its access tokens.")
  var tokenSeconds: Int?

  @Option(
    name: .customLong("offline-access"),
    help: ArgumentHelp("Whether clients may get a refresh token for it.", valueName: "true/false")
  )
  var allowsOfflineAccess: Bool?

  @Option(
    name: .customLong("skip-consent"),
    help: ArgumentHelp(
      "Whether first-party clients get its scopes without the consent of the user.",
      valueName: "true/false"
    )
  )
  var skipsConsent: Bool?

  @Option(
    name: .customLong("enforce-policies"),
    help: ArgumentHelp(
      "Whether a user gets only the scopes that its roles and permissions contain.",
      valueName: "true/false"
    )
  )
  var enforcesPolicies: Bool?

  @Option(
    name: .customLong("token-dialect"),
    help: ArgumentHelp(
      "access_token, or access_token_authz for tokens with the claim permissions.",
      valueName: "dialect"
    )
  )
  var tokenDialect: String?

  @Option(
    name: .customLong("claim"),
    help: ArgumentHelp(
      "A claim of its tokens with its source, such as plan=app_metadata./plan; null removes it.",
      valueName: "claim=source"
    )
  )
  var claims: [NamedValue] = []

  func validate() throws {
    guard scopes.allSatisfy({ !$0.hasPrefix("=") && !$0.isEmpty }) else {
      throw ValidationError("--scope must be scope=description.")
    }
  }

  var body: JSONObject {
    var body = JSONObject()
    if !scopes.isEmpty { body["scopes"] = .object(JSONObject(scopes.map(Self.scope))) }
    if let tokenSeconds { body["token_seconds"] = .number(JSONNumber(tokenSeconds)) }
    if let allowsOfflineAccess { body["allows_offline_access"] = .bool(allowsOfflineAccess) }
    if let skipsConsent { body["skips_consent"] = .bool(skipsConsent) }
    if let enforcesPolicies { body["enforce_policies"] = .bool(enforcesPolicies) }
    if let tokenDialect { body["token_dialect"] = .string(tokenDialect) }
    if !claims.isEmpty { body["claims"] = .object(JSONObject(claims.map(Self.claim))) }
    return body
  }

  /// A scope may be typed without a description.
  private static func scope(_ text: String) -> (String, JSON) {
    let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
    return (parts[0], .string(parts.dropFirst().first ?? ""))
  }

  /// A constant is an object, and null removes the claim; any other source is text.
  private static func claim(_ claim: NamedValue) -> (String, JSON) {
    let json = claim.json
    return (claim.name, json == .null || json.object != nil ? json : .string(claim.value))
  }
}
