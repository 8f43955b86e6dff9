import Accounts
import Documents
import IdentitySubjects
import JSON
import Runtime
import Sessions
import Transfer
import WireKit

/// Shapes of responses and request bodies.
extension Shape {
  // MARK: Everywhere

  package static let problem = Shape.object(
    ["type": .text, "title": .text, "status": .integer(400...599), "code": .text],
    optional: [
      "detail": .text, "instance": .text.saying("the id of the request in the log"),
      "errors": .list(
        of: .object([
          "pointer": .text.saying("RFC 6901; of a query, the parameter"), "code": .text,
          "detail": .text,
        ])
        .named("FieldError", "A place in the input that breaks a rule.")
      ).saying("the places in the input that break a rule"),
    ]
  ).named("Problem", "An error (RFC 9457). Some kinds have more members.")

  /// Entity tags, or `*`.
  ///
  /// It matches an empty field too, which nginx drops.
  package static let tags = Shape.text(pattern: #"^(|\*|(W/)?"[^"]*"( *, *(W/)?"[^"]*")*)$"#).like(
    "\"7\""
  )

  /// Returns the shape of a path parameter.
  package static func parameter(_ name: String) -> Shape {
    switch name {
    case "key": .text(1...PropertySet.keyLimit).like("volume")
    case "app": .slug
    case "issuer": .slug.like("login-page")
    case "connection": .slug.like("google")
    case "version": .count.like(7)
    case "kind": .documentKind
    case "picture": .text(1...100).like(.string(String(Example.picture.dropFirst(13))))
    case "chapter": .text(1...100).like("signing-in")
    case "file": .text(1...100).like("reference-0123456789abcdef.js")
    case "code": .text(1...100).like("email_taken")
    case "session": .id(Example.session)
    case "device": .id(Example.device)
    case "identity": .id(Example.identity)
    case "client": .text(pattern: ClientID.pattern).like(.string(Example.client))
    case "role": .id(Example.role)
    case "administrator": .id(Example.administrator)
    case "resource_server": .id(Example.resourceServer)
    case "index": .id(Example.index)
    case "factor": .id(Example.factor)
    case "job": .id(Example.job)
    case "part": .integer(1...100).like(1)
    case "mail": .id(Example.mail)
    case "webhook": .id(Example.webhook)
    case "log_stream": .id(Example.logStream)
    case "delivery": .id(Example.delivery)
    default: .id(Example.ada)
    }
  }

  // MARK: Logging in

  package static let flow = Shape.object([
    "flow": .text.saying("send it with the code").like(.string(Example.flow)),
    "expires_in": .count.saying("seconds until the code expires").like(600),
  ]).named("Flow", "A sign-in, registration or change of address that waits for its code.")
  /// The shape of both responses of a registration.
  ///
  /// Client generators have one type for a route.
  package static let registration = Shape.either(.grant, .flow)
    .named("Registration", "The tokens of the new user, or the flow that waits for a code.")
  package static let address = Shape.text.like(.string(Example.email))
  package static let password = Shape.text.like(.string(Example.password))
  package static let newPassword = Shape.text.like(.string(Example.newPassword))

  package static let grant = Shape.object(
    [
      "access_token": .text.saying("a JWT"), "token_type": .only("Bearer"),
      "expires_in": .count.saying("lifetime of the access token in seconds"),
      "user_id": .id(Example.ada), "device_id": .id(Example.device),
    ],
    optional: [
      "refresh_token": .text.saying("valid for one refresh; absent if a cookie holds the device"),
      "device_secret": .text.saying("replaces the previous secret at each sign-in"),
      "recovery_codes": .listOfRecoveryCodes,
    ]
  ).named("Tokens", "The tokens of a session.").like(Example.tokens).sentOnce()

  package static let listOfRecoveryCodes = Shape.list(of: .text, atMost: 10)
    .saying("returned only once, after a second factor is confirmed")
    .like(.array(Example.recoveryCodes.map(JSON.string)))

  // MARK: Users

  package static let profile = Shape.object([
    "id": .id(Example.ada), "created_at": .time, "updated_at": .time, "version": .count,
    "anonymous": .flag.saying("whether the user has no credentials"), "blocked": .flag,
    "email": .text.orNull, "email_verified": .flag,
    "name": .text.orNull, "given_name": .text.orNull, "family_name": .text.orNull,
    "nickname": .text.orNull, "phone": .text.orNull, "locale": .text.orNull, "zone": .text.orNull,
    "picture": .text.orNull.saying(
      "the path of the picture on this server, or the URL of one elsewhere"),
  ]).named("Profile", "The profile of a user.").like(Example.profile)

  package static let profilePatch = Shape.object(optional: Array(editable), isClosed: true)
    .named("ProfilePatch", "Members of the profile to change; null removes one.")
    .like(["name": "Ada Lovelace", "zone": "Europe/London", "phone": .null])

  package static let userPatch = Shape.object(
    optional: Array(administered) + Array(editable), isClosed: true
  )
  .named("UserPatch", "Changes of a user, made together; null removes a member of the profile.")
  .like(["blocked": true])

  private static let administered: KeyValuePairs<String, Shape> = [
    "blocked": .flag, "email": .address.saying("an address in place of the present one"),
    "email_verified": .flag.saying("true, or false beside a new address"),
    "metadata": .object.saying("a merge patch"), "app_metadata": .object.saying("a merge patch"),
  ]

  package static let newUser = Shape.object(
    optional: Array(importable) + Array(editable), isClosed: true
  )
  .named("NewUser", "A user to create or import.")
  .like([
    "email": "charles@example.com", "email_verified": true, "name": "Charles Babbage",
    "metadata": Example.metadata,
  ])

  private static let editable: KeyValuePairs<String, Shape> = [
    "name": .member("name"), "given_name": .member("given_name"),
    "family_name": .member("family_name"), "nickname": .member("nickname"),
    "phone": .text(pattern: #"^\+[0-9]{7,15}$"#).orNull.saying("E.164").like("+442079460123"),
    "locale": .member("locale").like("en-GB"), "zone": .member("zone").like("Europe/London"),
  ]

  private static func member(_ name: String) -> Shape {
    .text(1...(Profiles.editable[name] ?? 1)).orNull
  }

  package static let identities = Shape.list(
    of: .object([
      "id": .id(Example.identity), "provider": .text.like("password"), "subject": .address,
      "verified": .flag.like(true),
      "connection": .slug.orNull.saying("that of an account at a service").like(.null),
      "email": .text.orNull.like("ada@example.org"), "name": .text.orNull.like(.null),
      "created_at": .time(Example.registered),
    ]).named("Identity", "An identity: an address, an account at an issuer, or an API key.")
  )

  package static let apiKeys = Shape.list(
    of: .object([
      "id": .id(Example.apiKey), "name": .nameOfKey, "disabled": .flag.like(false),
      "created_at": .time(Example.keyMade), "last_used_at": .time(Example.played).orNull,
    ]).named("APIKey", "An API key of a user, without its secret.")
  )

  package static let nameOfKey = Shape.label.like("laptop")
  package static let keyOfUser = Shape.text.like(.string(Example.keyOfUser))

  package static let newAPIKey = Shape.object([
    "id": .id(Example.apiKey), "name": .nameOfKey, "key": .keyOfUser.saying("returned only once"),
  ]).named("NewAPIKey", "An API key with its secret.")

  /// The shape of all responses of a route.
  ///
  /// Client generators have one type for a route.
  package static let linked = Shape.either(.grant, .newAPIKey, .flow).named(
    "LinkResult", "The tokens of a new session, the new API key, or the flow that waits for a code."
  )

  package static let sessions = Shape.list(
    of: .object([
      "id": .id(Example.session), "device_id": .id(Example.device),
      "provider": .text.like("password"), "current": .flag.like(true), "address": .caller.orNull,
      "agent": .agent.orNull, "created_at": .time(Example.registered),
      "refreshed_at": .time(Example.played), "expires_at": .time(Example.forgotten),
    ]).named("Session", "A live session."),
    atMost: PageLimit.most
  )

  package static let events = Shape.list(
    of: .object(members: event(like: ["provider": "password"])).named(
      "AuditEvent", "An event of the audit log."
    ),
    atMost: PageLimit.most
  )

  package static let eventsOfApps = Shape.list(
    of: .object(
      members: event(like: ["client_id": .string(Example.client)]) + [
        (key: "app", value: .slug.orNull), (key: "user_id", value: .id(Example.ada).orNull),
        (
          key: "actor_name",
          value: .text.orNull.saying(
            "the address of the administrator, the name of the client, or the person on the command "
              + "line; null for other actors"
          ).like(.null)
        ),
        (
          key: "user_name",
          value: .text.orNull.saying("the address or else the name of the user")
            .like("ada@example.org")
        ),
      ]
    ).named("AuditEventOfApp", "An event of the audit log, with its app and user."),
    atMost: PageLimit.most
  )

  private static func event(like detail: JSON) -> [(key: String, value: Shape)] {
    [
      ("id", .id(Example.event)), ("at", .time(Example.registered)),
      ("action", .text.like("login")), ("actor", .text.like("user")),
      ("session_id", .id(Example.session).orNull), ("device_id", .id(Example.device).orNull),
      ("address", .caller.orNull), ("agent", .agent.orNull), ("detail", .any.like(detail)),
      ("request_id", .requestID.orNull),
    ]
  }

  private static let requestID = Shape.text.like("4k0dq2v9m7xa1")
    .saying("the id of the request, as in X-Request-Id and the log")
  private static let caller = Shape.text.like(.string(Example.networkAddress))
  private static let agent = Shape.text.like(.string(Example.agent))

  package static let devicePlaces = Shape.object([
    "device_id": .id(Example.device), "users": .list(of: .deviceUser),
  ]).named("Device", "The users of a device, the active user first.").like(Example.deviceUsers)

  package static let deviceUser = Shape.object([
    "user_id": .id(Example.ada), "activated_at": .time, "state": .placeState, "anonymous": .flag,
    "name": .text.orNull, "nickname": .text.orNull, "email": .text.orNull,
    "picture": .text.orNull,
  ]).named("DeviceUser", "A user of a device.").like(Example.adaOnDevice)

  private static let placeState = Shape.choice(["active", "inactive", "logged_out"])
    .named("State", "The state of a user on a device. At most one user is active.")

  // MARK: Documents and properties

  package static let document = Shape.map(of: .any)
    .named("JSONDocument", "A JSON object of the app.").like(Example.customData)

  package static let metadata = Shape.map(of: .any, named: "^[^.$]{1,\(DocumentKind.keyLimit)}$")
    .named("Metadata", "A JSON object of the app. The rule for keys holds at every depth.")
    .like(Example.metadata)

  package static let documentVersions = Shape.list(
    of: .object([
      "version": .count.like(7), "changed_at": .time(Example.played), "actor": .text.like("user"),
      "session_id": .id(Example.session).orNull.saying("the session of a user who wrote it"),
      "deleted": .flag.like(false),
    ]).named("DocumentVersion", "A stored version of a document, without its body."),
    atMost: PageLimit.most
  )

  package static let jsonPatch = Shape.list(
    of: .either(
      .object([
        "op": .choice(["add", "replace", "test"]), "path": .pointer, "value": .any.like("rope"),
      ])
      .named("ValueOperation", "Adds, replaces or tests a value."),
      .object(["op": .only("remove"), "path": .pointer])
        .named("RemoveOperation", "Removes a value."),
      .object(["op": .choice(["move", "copy"]), "from": .pointer, "path": .pointer])
        .named("CopyOperation", "Moves or copies a value.")
    ).named("PatchOperation", "An operation of a JSON Patch.")
  ).named("JSONPatch", "JSON Patch operations (RFC 6902), applied all or none.").like([
    ["op": "add", "path": "/items/-", "value": "rope"]
  ])

  private static let pointer = Shape.text(pattern: "^(/([^~/]|~[01])*)*$").like("/items/0")

  package static let propertyValue = Shape.either(
    .text(0...PropertySet.stringBytes), .flag, .number
  ).named("PropertyValue", "A string, a boolean or a number. Numbers keep their spelling.").like(8)

  package static let properties = Shape.map(of: .propertyValue, atMost: PropertySet.limit)
    .named("Properties", "Properties by key.").like(Example.properties)

  /// The shape of both responses of a route.
  ///
  /// Client generators have one type for a route.
  package static let propertiesOrVersions = Shape.map(
    of: .either(
      .text(0...PropertySet.stringBytes),
      .flag,
      .number,
      .object(["value": .propertyValue, "version": .count.like(2)])
        .named("VersionedValue", "The value of a property, with its version.")
    ).named("ValueOrVersionedValue", "The value of a property, with its version if requested."),
    atMost: PropertySet.limit
  ).named("PropertiesOrVersions", "Properties by key, with their versions if requested.")
    .like(Example.properties)

  package static let propertiesPatch = Shape.map(of: .propertyValue.orNull)
    .named("PropertiesPatch", "Properties to set by key; null removes one.")
    .like(["volume": 8, "sound": .null])

  package static let property = Shape.object([
    "key": .text.like("volume"), "value": .propertyValue, "version": .count.like(2),
  ]).named("StoredProperty", "A property with its version.")

  package static let updateOutcome = Shape.object([
    "outcome": .choice(UpdateWord.allCases.map(\.rawValue)).like("updated").saying(
      "no_document: the user has no document, and upsert is not true; no_match: the filter does not "
        + "match the document"
    ),
    "matched_count": .integer(0...1).like(1), "modified_count": .integer(0...1).like(1),
    "upserted": .flag.like(false), "version": .count.like(7),
  ]).named("UpdateOutcome", "The result of an update, with MongoDB's counts.")
}

/// Shapes of the routes for roles and permissions.
extension Shape {
  package static let permission = Shape.object(
    members: [
      ("resource_server", .id(Example.resourceServer)), ("identifier", .identifierOfAPI),
      ("name", .nameOfAPI), ("scope", .text.like("read:orders")),
      ("description", .text.like("See your orders")),
    ],
    optional: [
      ("direct", .flag.saying("whether the user has it without a role").like(false)),
      ("roles", .list(of: Shape.label.like("Editor")).saying("the roles of the user that have it")),
    ]
  ).named("Permission", "A scope of an API that a role or a user has.")

  package static let roleMember = Shape.object(["id": .id(Example.ada)])
    .named("RoleMember", "A user of a role.")
}

extension Shape {
  /// Members of a new user that are not in its profile.
  static let importable: KeyValuePairs<String, Shape> = [
    "id": .id(Example.charles), "email": .address, "email_verified": .flag,
    "password": .password,
    "password_hash": .text.orNull.saying(
      "bcrypt, SHA-crypt, scrypt, PBKDF2, Argon2, or a salted digest"
    ),
    "totp_secrets": .list(of: .text.like("JBSWY3DPEHPK3PXP"), atMost: SecondFactors.limit)
      .saying("secrets of authenticator apps, in base32"),
    "passkeys": .list(of: .object, atMost: 100).saying(
      "passkeys for the app's passkey_rp_id, as dossier user export --all writes them"),
    "foreign_id": .text(3...ForeignIDs.longest).saying("the id that clients of Auth0 know")
      .like("auth0|65f1c0de"),
    "blocked": .flag, "created_at": .time(Example.registered),
    "last_login_at": .time(Example.registered), "login_count": .integer(ImportedUser.loginCounts),
    "identities": .list(
      of: .body([
        "provider": .text(1...1_028).like("jwt:https://login.example.com"),
        "subject": .text(1...1_024).like("charles-babbage"),
      ]).named("ImportedIdentity", "An identity of an imported user."),
      atMost: 100
    ),
    "metadata": .metadata, "app_metadata": .metadata, "custom_data": .document,
    "properties": .properties,
  ]
}
