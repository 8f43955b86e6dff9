import Dossier
import JSON

/// What the API's answers and bodies look like.
extension Shape {
  // MARK: Everywhere

  static let problem = Shape.object(
    [
      "type": .text, "title": .text, "status": .integer(400...599), "code": .text,
    ],
    optional: [
      "detail": .text, "instance": .text.saying("names the request, for the operator"),
      "errors": .list(
        of: .object(["pointer": .text.saying("RFC 6901"), "code": .text, "detail": .text])
          .named("Fault", "A place of the input that broke a rule.")
      ).saying("the places of the input that broke a rule"),
    ]
  ).named("Problem", "An error, by RFC 9457; some kinds have further members.")

  /// Entity tags, or `*`; nginx leaves an empty field out.
  static let tags = Shape.text(pattern: #"^(|\*|(W/)?"[^"]*"( *, *(W/)?"[^"]*")*)$"#).like("\"7\"")

  /// A part of a path that is no fixed word.
  static func parameter(_ name: String) -> Shape {
    switch name {
    case "key": .text(1...PropertySet.keyLimit).like("theme")
    case "app", "issuer": .slug
    case "version": .count
    case "class": .documentClass
    case "picture", "code": .text(1...100)
    default: .id
    }
  }

  // MARK: Logging in

  static let codeRequest = Shape.object([
    "request": .text.saying("to be sent with the code"),
    "expires_in": .count.saying("seconds the code is good for").like(600),
  ]).named("CodeRequest", "What a code is good with.")
  static let address = Shape.text.like("ada@example.com")
  static let password = Shape.text.like("correct horse battery")

  static let grant = Shape.object(
    [
      "access_token": .text.saying("a JWT"), "token_type": .only("Bearer"),
      "expires_in": .count.saying("seconds the access token is good for"),
      "user_id": .id, "device_id": .id,
    ],
    optional: [
      "refresh_token": .text.saying("exchanged once; absent where a cookie holds the device"),
      "device_secret": .text.saying("at every login, in place of the one before"),
    ]
  ).named("Tokens", "What a login, a refresh or a switch of users answers.")

  // MARK: Users

  static let profile = Shape.object([
    "id": .id, "created_at": .time, "updated_at": .time, "version": .count,
    "anonymous": .flag.saying("whether the user has no way to log in again"), "blocked": .flag,
    "email": .text.orNull, "email_verified": .flag,
    "name": .text.orNull, "given_name": .text.orNull, "family_name": .text.orNull,
    "nickname": .text.orNull, "phone": .text.orNull, "locale": .text.orNull, "zone": .text.orNull,
    "picture": .text.orNull.saying("the path of the picture on this server"),
  ]).named("Profile", "What an app shows of a user.")

  static let profilePatch = Shape.object(optional: Array(editable), isClosed: true)
    .named("ProfilePatch", "What a user may change of its profile; null removes a member.")

  static let newUser = Shape.object(optional: Array(importable) + Array(editable), isClosed: true)
    .named("NewUser", "A user as the back end or an import describes it.")

  private static let editable: KeyValuePairs<String, Shape> = [
    "name": .member("name"), "given_name": .member("given_name"),
    "family_name": .member("family_name"), "nickname": .member("nickname"),
    "phone": .text(pattern: #"^\+[0-9]{7,15}$"#).orNull.saying("E.164").like("+4930123456"),
    "locale": .member("locale").like("de-DE"), "zone": .member("zone").like("Europe/Berlin"),
  ]

  /// Of a new user, beside its profile.
  private static let importable: KeyValuePairs<String, Shape> = [
    "id": .id, "email": .address, "email_verified": .flag,
    "password": .text,
    "password_hash": .text.orNull.saying("bcrypt, SHA-crypt, scrypt, PBKDF2 or Argon2"),
    "blocked": .flag, "created_at": .time,
    "identities": .list(
      of: .body([
        "provider": .text(1...1_028).like("jwt:https://issuer.example.com"),
        "subject": .text(1...1_024),
      ]).named("ImportedIdentity", "By what an imported user is known."),
      atMost: 100
    ),
    "metadata": .metadata, "app_metadata": .metadata, "custom_data": .document,
    "properties": .properties,
  ]

  private static func member(_ name: String) -> Shape {
    .text(1...(Profiles.editable[name] ?? 1)).orNull
  }

  static let identities = Shape.list(
    of: .object([
      "id": .id, "provider": .text, "subject": .text, "confirmed": .flag, "created_at": .time,
    ]).named("Identity", "By what a user is known: an address, an issuer's subject, an API key.")
  )

  static let apiKeys = Shape.list(
    of: .object([
      "id": .id, "name": .text, "disabled": .flag, "created_at": .time,
      "last_used_at": .time.orNull,
    ]).named("APIKey", "An API key of a user, without its secret.")
  )

  static let newAPIKey = Shape.object([
    "id": .id, "name": .text, "key": .text.saying("shown this once"),
  ]).named("NewAPIKey", "An API key with its secret.")

  static let sessions = Shape.list(
    of: .object([
      "id": .id, "device_id": .id, "provider": .text, "current": .flag, "address": .text.orNull,
      "agent": .text.orNull, "created_at": .time, "refreshed_at": .time, "expires_at": .time,
    ]).named("Session", "A live session."),
    atMost: Sessions.pageSize
  )

  static let events = Shape.list(
    of: .object([
      "id": .id, "at": .time, "action": .text, "actor": .text, "session_id": .id.orNull,
      "device_id": .id.orNull, "address": .text.orNull, "agent": .text.orNull, "detail": .any,
    ]).named("Event", "A fact of the audit trail."),
    atMost: Audit.pageSize
  )

  static let devicePlaces = Shape.object([
    "device_id": .id,
    "users": .list(
      of: .object([
        "user_id": .id, "chosen_at": .time, "state": .placeState,
        "anonymous": .flag, "name": .text.orNull, "nickname": .text.orNull, "email": .text.orNull,
        "picture": .text.orNull,
      ]).named("DeviceUser", "A user who is known on a device.")
    ),
  ]).named("Device", "Who is known on a device, the active user first.")

  private static let placeState = Shape.choice(["active", "inactive", "logged_out"])
    .named("State", "Whether a user of a device is logged in there, and is the one in front.")

  // MARK: Documents and properties

  static let document = Shape.map(of: .any).named("Document", "An object of the app's own making.")

  static let metadata = Shape.map(of: .any, named: "^[^.$]{1,\(DocumentClass.keyLimit)}$")
    .named("Metadata", "An object of the app's own making; its keys keep to a rule at every depth.")

  static let documentVersions = Shape.list(
    of: .object([
      "version": .count, "changed_at": .time, "actor": .text, "deleted": .flag,
    ]).named("DocumentVersion", "A version of a document that is kept, without its body."),
    atMost: Users.pageSize
  )

  static let jsonPatch = Shape.list(
    of: .either(
      .object(["op": .choice(["add", "replace", "test"]), "path": .pointer, "value": .any])
        .named("ValueOperation", "Puts a value somewhere, or expects it there."),
      .object(["op": .only("remove"), "path": .pointer])
        .named("RemoveOperation", "Takes a value away."),
      .object(["op": .choice(["move", "copy"]), "from": .pointer, "path": .pointer])
        .named("CopyOperation", "Puts a value of one place somewhere else.")
    )
  ).named("JSONPatch", "Operations by RFC 6902: all or nothing.")

  private static let pointer = Shape.text(pattern: "^(/([^~/]|~[01])*)*$").like("/items/0")

  static let propertyValue = Shape.either(
    .text(0...PropertySet.largestString),
    .flag,
    .number
  ).named("PropertyValue", "A string, a boolean or a number, which keeps its spelling.")

  static let properties = Shape.map(of: .propertyValue, atMost: PropertySet.limit)
    .named("Properties", "Properties by key.")

  static let propertiesOrVersions = Shape.either(
    .properties,
    .map(of: .object(["value": .propertyValue, "version": .count]), atMost: PropertySet.limit)
      .named("VersionedProperties", "Properties by key, each with its version.")
  )

  static let propertiesPatch = Shape.map(of: .propertyValue.orNull)
    .named("PropertiesPatch", "Properties to set by key; null removes one.")

  static let property = Shape.object([
    "key": .text.like("theme"), "value": .propertyValue, "version": .count,
  ]).named("Property", "A property with its version.")

  static let updateOutcome = Shape.object([
    "outcome": .choice(UpdateWord.allCases.map(\.rawValue)).saying(
      "no_document when the user has none and upsert is not true, no_match when it has one that the "
        + "filter does not fit"
    ),
    "matched_count": .integer(0...1), "modified_count": .integer(0...1), "upserted": .flag,
    "version": .count,
  ]).named("UpdateOutcome", "What became of an update, as MongoDB counts.")
}
