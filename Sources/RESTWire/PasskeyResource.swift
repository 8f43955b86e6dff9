import Accounts
import Declarations
import Delivery
import EventLoop
import HTTP
import JSON
import Passkeys
import Representations
import Runtime
import Sessions
import WireKit

/// Passkeys: sign-in, registration, and those of a user.
@EventLoop enum PasskeyResource {
  /// The greatest length of a body with a credential, in bytes.
  nonisolated static let limit = 16_384

  /// The routes for sign-in and registration.
  nonisolated static let signIn: [Operation] = [
    LoginResource.open(
      "/v1/login/passkey/options",
      1_024,
      reads: Fields("Nothing", "An object without members."),
      gives: .ok(.requestOptions),
      refuses: [.passkeysOff],
      "Get the options of navigator.credentials.get for a sign-in"
    ) { (call) async throws(Failure) in
      try response(Passkeys.beginSignIn(call.context))
    },
    LoginResource.open(
      "/v1/login/passkey",
      limit,
      reads: Fields(
        "PasskeySignIn", "The signature by a passkey.", .passkeyFlow, .credential
      ).like(Example.shownPasskey),
      gives: .ok(.grant),
      refuses: shownRefusals + [.deviceFull],
      "Sign in with a passkey"
    ) { (call, flow, credential) async throws(Failure) in
      try await LoginResource.response(
        .ok, Passkeys.signIn(credential, flow, call.context), call)
    },
    LoginResource.open(
      "/v1/login/second-factor/passkey/options",
      1_024,
      reads: Fields(
        "PasskeyEnrollmentFlow", "A sign-in whose methods have enroll_passkey.", .flow),
      gives: .ok(.creationOptions),
      refuses: [.passkeysOff, .invalidCode],
      "Get the options of navigator.credentials.create for a sign-in in an app that requires a "
        + "passkey"
    ) { (call, flow) async throws(Failure) in
      guard let begun = try await Passkeys.beginEnrolling(in: flow, call.context) else {
        throw .invalidCode
      }
      return try response(begun)
    },
    LoginResource.open(
      "/v1/register/passkey/options",
      4_096,
      reads: Fields(
        "PasskeyRegistration",
        "The address and the name of a new user; with verify_first, email is required.",
        .optional(.text("email", .address)),
        .optional(.text("name", .text(1...300).like(.string("Ada Lovelace"))))),
      gives: .ok(.creationOptions),
      refuses: [.passkeysOff, .signUpClosed, .mailNotConfigured, .tooManyAttempts],
      "Get the options of navigator.credentials.create for a new user; with verify_first, a code is "
        + "emailed"
    ) { (call, email, name) async throws(Failure) in
      let registration = PasskeyRegistration(email: email, name: name)
      return try response(await Passkeys.beginRegistration(registration, call.context))
    },
    LoginResource.open(
      "/v1/register/passkey",
      limit,
      reads: Fields(
        "NewPasskeyUser", "A passkey of a new user; with verify_first, code is required.",
        .passkeyFlow, .credential,
        .optional(
          .text("passkey_name", .nameOfPasskey.saying("by default its manager or the browser"))),
        .optional(.code)
      ).like(Example.madePasskey),
      gives: .created(.grant, "The user is signed in."),
      refuses: madeRefusals + [
        .signUpClosed, .emailTaken, .invalidCode, .tooManyAttempts, .deviceFull,
      ],
      "Register a user with a passkey"
    ) { (call, flow, credential, name, code) async throws(Failure) in
      try await LoginResource.response(
        .created,
        Passkeys.register(credential, flow, named: name, code: code, call.context), call)
    },
  ]

  nonisolated static let shownRefusals: [Failure] = [
    .passkeysOff, .passkeyInvalid, .passkeyUnknown, .passkeyFlowExpired, .userVerificationMissing,
    .wrongCredentials,
  ]

  private nonisolated static let madeRefusals: [Failure] = [
    .passkeysOff, .passkeyInvalid, .passkeyFlowExpired, .userVerificationMissing, .passkeyExists,
  ]

  /// The routes for the passkeys of a user.
  nonisolated static let operations: [Operation] =
    [BasePath.meIdentities, .users].flatMap(operations) + [
      Operation(
        .post, "/v1/me/passkeys/options", access: .user(scope: Scopes.updateIdentities),
        gives: [.ok(.creationOptions)], refuses: [.passkeysOff],
        summary: "Get the options of navigator.credentials.create for a further passkey"
      ) { (call) async throws(Failure) in
        try response(await Passkeys.beginAdding(to: call.user, call.context))
      },
      Operation(
        .post,
        "/v1/me/passkeys",
        access: .user(scope: Scopes.updateIdentities),
        takes: .body(
          .json(limit: limit),
          Fields(
            "NewPasskey", "A passkey for the user.", .passkeyFlow, .credential,
            .optional(.text("name", .nameOfPasskey))
          ).like(Example.namedPasskey)),
        gives: [.ok(.grant, "The tokens of a new session.")],
        refuses: madeRefusals + [
          .tooManyPasskeys, .emailRestorePending, .additionalFactorRequired,
        ],
        summary: "Add a passkey, and continue in a new session; a guest keeps id and data"
      ) { (call, flow, credential, name) async throws(Failure) in
        let added = try await Passkeys.add(
          credential, flow, named: name, to: call.user, call.context)
        return try await LoginResource.response(.ok, added.session, call)
      },
      Operation(
        .patch, "/v1/me/passkeys/{identity}", access: .user(scope: Scopes.updateIdentities),
        takes: .body(
          .mergePatch(limit: 1_024),
          Fields("PasskeyName", "The name of a passkey.", .text("name", .nameOfPasskey))),
        gives: [.noContent], summary: "Rename a passkey"
      ) { (call, name) async throws(Failure) in
        try await Passkeys.rename(
          call.captured("identity"), to: name, of: call.user, call.context)
        return Response(.noContent)
      },
    ]

  private nonisolated static func operations(_ base: BasePath) -> [Operation] {
    let pattern = "\(base.prefix)/passkeys"
    return [
      Operation(
        .get, pattern, access: base.read, gives: [.ok(.passkeys)],
        summary: "List the passkeys, the newest first"
      ) { (call) async throws(Failure) in
        Response(.ok, list: try await Passkeys.list(of: call.user, call.context), \.json)
      }.viewing(.identities),
      Operation(
        .delete, "\(pattern)/{identity}", access: base.write, gives: [.noContent],
        refuses: [.lastIdentity],
        summary: "Remove a passkey, and end the other sessions that it signed in"
      ) { (call) async throws(Failure) in
        try await Passkeys.remove(call.captured("identity"), of: call.user, call.context)
        return Response(.noContent)
      }.needing(stepUp: true),
    ]
  }

  private static func response(_ begun: Passkeys.Begun) throws(Failure) -> Response {
    let body: JSON = [
      "flow": .string(begun.flow), "public_key": begun.options,
      "expires_in": .number(JSONNumber(PasskeyCeremony.lifetime.wholeSeconds)),
    ]
    return Response(.ok, json: body.serialized())
  }
}

extension Field<String> {
  static let passkeyFlow = Field.text(
    "flow", .text(1...4_096).saying("that of the options").like(.string(Example.passkeyFlow)))
}

extension Field<JSON> {
  /// The credential that a browser has returned, by `toJSON()`.
  static let credential = Field.json(
    "credential", .object.saying("the PublicKeyCredential, as its toJSON() returns it"))
}

extension Shape {
  fileprivate static let nameOfPasskey = Shape.text(Passkeys.nameLengths).like("Ada's phone")

  fileprivate static let requestOptions = options(
    "PasskeyRequest", "The options of a signature by a passkey.", Example.requestOptions)
  fileprivate static let creationOptions = options(
    "PasskeyCreation", "The options of a new passkey.", Example.creationOptions)

  private static func options(_ name: String, _ description: String, _ example: JSON) -> Shape {
    Shape.object([
      "flow": .text.saying("send it with the credential").like(.string(Example.passkeyFlow)),
      "public_key": .object.saying(
        "for PublicKeyCredential.parseRequestOptionsFromJSON, or parseCreationOptionsFromJSON"
      ),
      "expires_in": .count.saying("seconds until the flow expires"),
    ]).named(name, description).like([
      "flow": .string(Example.passkeyFlow), "public_key": example, "expires_in": 600,
    ])
  }

  fileprivate static let passkeys = Shape.list(
    of: .object([
      "id": .id(Example.identity), "name": .nameOfPasskey, "created_at": .time(Example.keyMade),
      "last_used_at": .time(Example.played).orNull,
      "backed_up": .flag.saying("whether it was on several devices at its last use").like(true),
      "transports": .list(of: .text).saying("how clients reach its authenticator").like([
        "hybrid", "internal",
      ]),
      "aaguid": .text.saying("the model of the authenticator; zeros if unknown").like(
        "00000000-0000-0000-0000-000000000000"),
      "domain": .text.saying("the domain for which it was made").like("id.example.com"),
    ]).named("Passkey", "A passkey of a user."),
    atMost: 100
  )
}

extension PasskeyInfo {
  fileprivate var json: JSON {
    [
      "id": .string(id.text), "name": .string(name), "created_at": .string(createdAt.text),
      "last_used_at": JSON(lastUsedAt), "backed_up": .bool(isBackedUp),
      "transports": .array(transports.map(JSON.string)),
      "aaguid": .string(model), "domain": .string(relyingPartyID),
    ]
  }
}

extension Example {
  fileprivate static let passkeyFlow = "MYz6cPq0…"
  fileprivate static let requestOptions: JSON = [
    "challenge": "sX3uwOUIfzY3GtEm…", "rpId": "id.example.com", "timeout": 300_000,
    "userVerification": "required",
  ]
  fileprivate static let creationOptions: JSON = [
    "rp": ["id": "id.example.com", "name": "Example"],
    "user": ["id": "NWVlZDAwMDAw…", "name": "ada@example.org", "displayName": "Ada Lovelace"],
    "challenge": "sX3uwOUIfzY3GtEm…",
    "pubKeyCredParams": [["type": "public-key", "alg": -7]],
    "authenticatorSelection": ["residentKey": "required", "userVerification": "required"],
  ]
  fileprivate static let shownPasskey: JSON = [
    "flow": .string(passkeyFlow),
    "credential": [
      "id": "AX3uwOUI…", "rawId": "AX3uwOUI…", "type": "public-key",
      "response": [
        "clientDataJSON": "eyJ0eXBlIjoi…", "authenticatorData": "SZYN5YgO…",
        "signature": "MEUCIQDx…", "userHandle": "NWVlZDAwMDAw…",
      ],
    ],
  ]
  fileprivate static let namedPasskey: JSON = {
    var members = madePasskey.object ?? JSONObject()
    members["name"] = "Ada's phone"
    return .object(members)
  }()
  fileprivate static let madePasskey: JSON = [
    "flow": .string(passkeyFlow),
    "credential": [
      "id": "AX3uwOUI…", "rawId": "AX3uwOUI…", "type": "public-key",
      "response": [
        "clientDataJSON": "eyJ0eXBlIjoi…", "attestationObject": "o2NmbXRk…",
        "transports": ["internal"],
      ],
    ],
  ]
}
