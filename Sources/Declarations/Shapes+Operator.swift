import Documents
import JSON
import Runtime
import Tenancy
package import Records

/// Shapes of the routes for operators.
extension Shape {
  package static let slug = Shape.text(pattern: "^[a-z0-9][a-z0-9-]{0,62}$").like("adventure")
  /// A name for people, without control characters.
  package static let label = Shape.text(1...100)

  package static let apps = Shape.list(
    of: .object([
      "id": .id(Example.app), "name": .slug, "hosts": .hosts, "version": .count.like(4),
      "created_at": .time(Example.appMade),
    ]).named("ListedApp", "An app without its settings.")
  )

  package static let app = Shape.object([
    "id": .id(Example.app), "name": .slug, "hosts": .hosts, "settings": .settings,
    "chosen": .list(of: .text).saying("the settings that differ from their defaults")
      .like(["session_days"]),
    "version": .count.like(4), "created_at": .time(Example.appMade),
    "updated_at": .time(Example.played),
  ]).named("App", "An app with the settings in force.")

  private static let hosts = Shape.list(of: .text).like(["users.example.com"])

  /// The settings of an app; the reference of a program lists those that it knows.
  package static let settings = named(.map(of: .any))

  /// Returns the shape of the settings that a program knows, derived from their declarations.
  package static func settings(_ catalog: RecordShape) -> Shape {
    named(
      .object(members: catalog.columns.map { ($0.name, value(of: $0).saying($0.meaning)) })
    ).like(.object(catalog.listed(JSONObject([("session_days", 30)])).values))
  }

  private static func named(_ settings: Shape) -> Shape {
    settings.named("Settings", "The settings of an app.")
  }

  package static let settingsPatch = Shape.map(of: .any)
    .named("SettingsPatch", "Settings to change; null resets one to its default.")
    .like(["session_days": 30])

  package static func value(of setting: Column) -> Shape { value(of: setting.rule) }

  package static let signingKeys = Shape.list(
    of: .object([
      "id": .text.like(.string(Example.signingKey)), "purpose": .text.like("access"),
      "algorithm": .text.like("ES256"), "current": .flag.like(true),
      "created_at": .time(Example.appMade),
      "retires_at": .time.orNull.like(.null), "public_key": .jsonWebKey,
    ]).named("SigningKey", "A key that signs or verifies tokens, without its secret.")
  )

  package static let publicKey = Shape.object([
    "kty": .only("EC"), "crv": .only("P-256"), "x": .text, "y": .text, "kid": .text,
    "alg": .only("ES256"), "use": .only("sig"),
  ]).named("PublicKey", "A JSON Web Key that verifies access tokens.").like(Example.jwk)

  /// A JSON Web Key of any algorithm.
  private static let jsonWebKey = Shape.map(of: .any).like(Example.jwk)

  package static let publicKeys = Shape.object(["keys": .list(of: .publicKey)])
    .named("PublicKeys", "A JSON Web Key Set.")

  package static let searchPath = Shape.text.like("metadata.theme")

  package static let index = Shape.object([
    "id": .id(Example.index).orNull, "path": .searchPath,
    "kind": .choice(["text", "number", "boolean", "time"]),
    "state": .choice(["building", "ready", "removing"]).like("ready"),
    "created_at": .time(Example.appMade).orNull,
  ]).named("SearchIndex", "A searchable path. Built-in indexes have no id.")

  package static let documentKind = Shape.choice(["metadata", "app-metadata", "custom-data"])
    .named("DocumentKind", "A kind of document that each user has.")

  package static let documentSchemas = Shape.list(
    of: .object([
      "kind": .documentKind, "bytes": .count.like(50), "updated_at": .time(Example.appMade),
    ])
    .named("DocumentSchema", "A stored schema, without its text.")
  )

  /// An object or a boolean.
  ///
  /// Client generators have no narrower type for the two.
  package static let jsonSchema = Shape.any.named(
    "JSONSchema", "A JSON Schema (draft 2020-12): an object, true or false."
  ).like(Example.schema)

  package static let kind = Shape.choice(["text", "number", "boolean"])
    .named("Kind", "The type of the values at a path.")
}

/// Shapes of the routes for clients and the APIs that their tokens are for.
extension Shape {
  // MARK: APIs

  package static let identifierOfAPI = Shape.text(pattern: "^[!-~]{1,600}$")
    .like("https://api.example.com")
  package static let nameOfAPI = Shape.label.like("Orders")

  // MARK: Grants

  package static let clientGrant = Shape.object([
    "resource_server": .id(Example.resourceServer), "identifier": .identifierOfAPI,
    "name": .nameOfAPI, "scopes": .scopesOfGrant,
  ]).named("ClientGrant", "The scopes that a client gets at an API by its own secret.")

  package static let scopesOfGrant = Shape.list(of: .text).like(["read:orders"])
}
