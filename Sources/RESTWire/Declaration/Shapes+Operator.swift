import Dossier
import JSON

/// What operators read and write.
extension Shape {
  static let slug = Shape.text(pattern: "^[a-z0-9][a-z0-9-]{0,62}$").like("shop")
  /// What people read; no control characters.
  static let label = Shape.text(1...100)

  static let apps = Shape.list(
    of: .object([
      "id": .id, "name": .text, "hosts": .list(of: .text), "version": .count, "created_at": .time,
    ]).named("ListedApp", "An app without its settings.")
  )

  static let app = Shape.object([
    "id": .id, "name": .text, "hosts": .list(of: .text), "settings": .settings,
    "chosen": .list(of: .text).saying("the settings that are not left to their defaults"),
    "version": .count, "created_at": .time, "updated_at": .time,
  ]).named("App", "An app with the settings in force.")

  /// Made of the settings themselves.
  static let settings = Shape.object(
    members: AppSetting.all.map { ($0.name, shape(of: $0)) }
  ).named("Settings", "What an operator chooses for an app.")

  /// The same for programs, which need no words on each; those of mails are of one kind.
  static let settingsInBrief: JSONObject = {
    let others = AppSetting.all.filter { setting in
      switch setting.rule {
      case .subject, .body: false
      default: true
      }
    }
    var schema = Shape.object(optional: others.map { ($0.name, value(of: $0)) })
      .saying("What an operator chooses for an app; /reference tells what each is.").schema
    schema["patternProperties"] = ["_(subject|text)$": ["type": "string"]]
    return schema
  }()

  static let settingsPatch = Shape.map(of: .any)
    .named("SettingsPatch", "Members of Settings to change; null puts one back to its default.")

  private static func shape(of setting: AppSetting) -> Shape {
    value(of: setting).saying(setting.meaning)
  }

  private static func value(of setting: AppSetting) -> Shape {
    switch setting.rule {
    case .flag: .flag
    case .number(let range): .integer(range)
    case .choice(let choices): .choice(choices)
    case .senderName: .text(1...100)
    case .address, .collection, .page: .text
    case .subject: .text(1...SettingRule.longestSubject)
    case .body: .text(1...SettingRule.longestBody)
    case .translations: .map(of: .map(of: .text))
    case .field: .text(1...100)
    case .choices(let choices): .list(of: .choice(choices), atMost: choices.count)
    case .origins: .list(of: .text, atMost: 100).like(["https://app.example.com"])
    }
  }

  static let clients = Shape.list(
    of: .object([
      "id": .id, "app": .text.orNull, "name": .text, "scopes": .list(of: .text),
      "disabled": .flag, "created_at": .time,
    ]).named("Client", "A program that may call, without its key.")
  )

  static let newClient = Shape.object([
    "id": .id, "app": .text.orNull, "name": .text,
    "key": .text.saying("shown this once").like("dck_…"),
  ]).named("NewClient", "A client with its key.")

  static let signingKeys = Shape.list(
    of: .object([
      "id": .text, "purpose": .text, "algorithm": .text, "current": .flag, "created_at": .time,
      // A JSON Web Key, of the kind that the algorithm wants.
      "retires_at": .time.orNull, "public_key": .object,
    ]).named("SigningKey", "A key that signs or verifies tokens, without its secret.")
  )

  static let publicKey = Shape.object([
    "kty": .only("EC"), "crv": .only("P-256"), "x": .text, "y": .text, "kid": .text,
    "alg": .only("ES256"), "use": .only("sig"),
  ]).named("PublicKey", "A JSON Web Key that verifies access tokens.")

  static let publicKeys = Shape.object(["keys": .list(of: .publicKey)])
    .named("PublicKeys", "A JSON Web Key Set.")

  static let issuers = Shape.list(
    of: .object([
      "name": .text, "issuer": .text, "audience": .text, "keys": .choice(["url", "set", "secret"]),
      "jwks_url": .text.orNull, "claims": .map(of: .text), "allow_missing_iss": .flag,
      "allow_missing_aud": .flag, "created_at": .time,
    ]).named("Issuer", "Whose tokens an app takes.")
  )

  static let index = Shape.object([
    "id": .id.orNull, "path": .text,
    "kind": .choice(["text", "number", "boolean", "time"]),
    "state": .choice(["building", "ready", "removing"]), "created_at": .time.orNull,
  ]).named("Index", "A path that users can be searched by; those without an id are always there.")

  static let documentClass = Shape.choice(["metadata", "app-metadata", "custom-data"])
    .named("DocumentClass", "A document of every user.")

  static let documentSchemas = Shape.list(
    of: .object(["class": .documentClass, "bytes": .count, "updated_at": .time])
      .named("DocumentSchema", "What a schema is of, and its size.")
  )

  static let jsonSchema = Shape.either(.object, .flag)
    .named("JSONSchema", "A JSON Schema of draft 2020-12, or as much of it as is kept to here.")

  static let kind = Shape.choice(["text", "number", "boolean"])
    .named("Kind", "Of the values at a path.")
}
