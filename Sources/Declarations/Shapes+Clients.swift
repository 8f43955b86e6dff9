import JSON
import Runtime
import Tenancy

/// Shapes of the routes for clients and the APIs that their tokens are for.
extension Shape {
  // MARK: Clients

  package static let nameOfClient = Shape.label.like("nightly-report")
  package static let kindOfClient = Shape.choice(ClientKind.allCases.map(\.rawValue)).like(
    "machine"
  )
  .named("ClientKind", "The kind of a client. Native and single-page clients have no secret.")
  package static let idOfClient = Shape.text(pattern: ClientID.pattern)
    .like(.string(Example.client))
  package static let digest = Shape.text(pattern: "^[0-9A-Fa-f]{64}$")
    .like(.string(String(repeating: "0", count: 64)))
  package static let scopes = Shape.list(of: .choice(Scopes.management))
    .like([.string(Scopes.readUsers)])

  private static let listedClient: [(key: String, value: Shape)] = [
    ("id", .idOfClient), ("app", .slug.orNull), ("kind", .kindOfClient),
    ("name", .nameOfClient), ("scopes", .scopes), ("disabled", .flag.like(false)),
    ("version", .count.like(1)), ("created_at", .time(Example.appMade)),
  ]

  private static let shownClient =
    listedClient + [
      ("settings", .clientSettings),
      ("chosen", .list(of: .text).saying("the settings that differ from their defaults").like([])),
    ]

  package static let clients = Shape.list(
    of: .object(members: listedClient).named("ListedClient", "A client without its settings.")
  )

  package static let client = Shape.object(members: shownClient)
    .named("Client", "An OAuth client with the settings in force, without its secret.")

  package static let clientWithSecret = Shape.object(
    members: shownClient,
    optional: [
      (
        "secret",
        .text.saying(
          "returned only once; absent for a client without a secret, or with a given one"
        )
        .like(.string(Example.secretOfClient))
      )
    ]
  ).named("ClientWithSecret", "An OAuth client with its new secret.")

  package static let clientSettings = Shape.object(
    members: SettingsCatalog.client.settings.map { setting in
      let isMap = setting.name == "claims"
      return (setting.name, isMap ? .claimMap : value(of: setting).saying(setting.meaning))
    }
  ).named("ClientSettings", "The settings of a client.").like(
    .object(SettingsCatalog.client.listed(AppSettings(stored: [0x7b, 0x7d], .client)).values)
  )

  package static let clientSettingsPatch = Shape.map(of: .any)
    .named("ClientSettingsPatch", "Settings to change; null resets one to its default.")
    .like(["callback_urls": ["https://app.example.com/callback"]])

  package static let claimMap = Shape.map(of: .any).named(
    "ClaimMap",
    "Claims to add to tokens, each with its source: a string, or an object with a constant."
  ).like(["plan": "app_metadata./plan"])

  // MARK: APIs

  package static let identifierOfAPI = Shape.text(pattern: "^[!-~]{1,600}$")
    .like("https://api.example.com")
  package static let nameOfAPI = Shape.label.like("Orders")
  package static let scopesOfAPI = Shape.map(of: .text)
    .named("ScopeDescriptions", "The scopes of an API, each with a description for users.")
    .like(["read:orders": "See your orders"])
  package static let tokenSeconds = Shape.integer(ResourceServerRules.tokenSeconds)
    .like(.number(JSONNumber(ResourceServerRules.defaultTokenSeconds)))

  package static let tokenDialect = Shape.choice(TokenDialect.allCases.map(\.rawValue))
    .like("access_token")
    .named("TokenDialect", "The form of access tokens; access_token_authz adds permissions.")

  package static let resourceServer = Shape.object([
    "id": .id(Example.resourceServer), "app": .slug, "identifier": .identifierOfAPI,
    "name": .nameOfAPI, "scopes": .scopesOfAPI, "token_seconds": .tokenSeconds,
    "allows_offline_access": .flag.like(false), "skips_consent": .flag.like(true),
    "enforce_policies": .flag.like(false), "token_dialect": .tokenDialect,
    "claims": .claimMap, "version": .count.like(1), "created_at": .time(Example.appMade),
  ]).named("ResourceServer", "An API that access tokens are for.")

  package static let resourceServers = Shape.list(of: .resourceServer)

  // MARK: Grants

  package static let clientGrant = Shape.object([
    "resource_server": .id(Example.resourceServer), "identifier": .identifierOfAPI,
    "name": .nameOfAPI, "scopes": .scopesOfGrant,
  ]).named("ClientGrant", "The scopes that a client gets at an API by its own secret.")

  package static let scopesOfGrant = Shape.list(of: .text).like(["read:orders"])
}
