import Declarations
import Representations
import Accounts
import Administration
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON
import Passkeys
import WireKit

/// `/v1/me/second-factors`, and the second step of a sign-in.
@EventLoop enum SecondFactorResource {
  /// The routes for the second step of a sign-in.
  nonisolated static let signIn: [Operation] = [
    LoginResource.open(
      "/v1/login/second-factor",
      PasskeyResource.limit,
      reads: Fields(
        "SecondStep",
        "The proof that completes a sign-in: a code, or a passkey with the flow of its options.",
        .flow,
        .optional(.text("code", .code)),
        .optional(
          .text("passkey_flow", .text(1...4_096).saying("that of the options of the passkey"))),
        .optional(.credential)
      ).like(["flow": .string(Example.flow), "code": "123 456"]),
      gives: .ok(.grant),
      refuses: [
        .invalidCode, .wrongCredentials, .mfaDisabled, .tooManyAttempts, .deviceFull, .passkeysOff,
        .passkeyInvalid, .passkeyUnknown, .passkeyFlowExpired, .userVerificationMissing,
        .passkeyExists, .tooManyPasskeys, .emailRestorePending, .additionalFactorRequired,
      ],
      "Complete a sign-in with a code of an authenticator app, a recovery code or a passkey"
    ) { (call, flow, code, passkeyFlow, credential) async throws(Failure) in
      if let passkeyFlow, let credential, code == nil {
        let passkey = try await Passkeys.secondStep(credential, passkeyFlow, call.context)
        return try await LoginResource.response(
          .ok, SecondFactorFlow.complete(flow, by: passkey, call.context), call)
      }
      guard let code, passkeyFlow == nil, credential == nil else {
        throw .invalid([
          FieldError("", "choice", "Send either code, or passkey_flow and credential.")
        ])
      }
      let done = try await SecondFactorFlow.complete(flow, by: code, call.context)
      return try await LoginResource.response(
        .ok, done.session, recoveryCodes: done.recoveryCodes, call
      )
    },
    LoginResource.open(
      "/v1/login/second-factor/enroll",
      1_024,
      reads: Fields("EnrollmentFlow", "A sign-in in an app that requires a second factor.", .flow),
      gives: .created(.enrollment, "The factor is pending until its first code."),
      refuses: [.invalidCode, .mfaDisabled],
      "Enroll an authenticator app during a sign-in, if the app requires one"
    ) { (call, flow) async throws(Failure) in
      Response(.created, try await SecondFactorFlow.enroll(flow, call.context))
    },
  ]

  /// The routes for a user's own factors.
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/me/second-factors", access: .user(scope: Scopes.readUser),
      gives: [.ok(.secondFactors)],
      summary: "List the second factors, and count the unused recovery codes"
    ) { (call) async throws(Failure) in
      let found = try await SecondFactors.list(of: call.user, call.context)
      let body: JSON = [
        "second_factors": .array(found.factors.map(\.json)),
        "recovery_codes_left": .number(JSONNumber(found.recoveryCodesLeft)),
      ]
      return Response(.ok, json: body.serialized())
    },
    Operation(
      .post,
      "/v1/me/second-factors",
      access: .user(scope: Scopes.updateIdentities),
      gives: [.created(.enrollment, "The factor is pending until its first code.")],
      refuses: [.mfaDisabled, .tooManyFactors],
      summary: "Begin to enroll an authenticator app, which replaces a pending one"
    ) { (call) async throws(Failure) in
      Response(.created, try await SecondFactors.enroll(call.user, call.context)).sentOnce()
    },
    Operation(
      .post,
      "/v1/me/second-factors/{factor}/confirm",
      access: .user(scope: Scopes.updateIdentities),
      takes: .body(
        .json(limit: 1_024),
        Fields("FirstCode", "A code of the authenticator app.", .text("code", .code))
      ),
      gives: [.ok(.grant, "The tokens of a new session, and recovery codes.")],
      refuses: [.invalidCode, .mfaDisabled],
      summary: "Confirm a second factor with its code, end all sessions, and continue in a new one"
    ) { (call, code) async throws(Failure) in
      let done = try await SecondFactors.confirm(
        code, of: call.captured("factor"), by: call.user, call.context
      )
      return try await LoginResource.response(
        .ok, done.session, recoveryCodes: done.recoveryCodes, call
      )
    },
    Operation(
      .post, "/v1/me/recovery-codes", access: .user(scope: Scopes.updateIdentities),
      gives: [.ok(.recoveryCodes)], refuses: [.mfaDisabled, .notFound],
      summary: "Create recovery codes, which replace all earlier ones"
    ) { (call) async throws(Failure) in
      Response(
        recoveryCodes: try await SecondFactors.makeRecoveryCodes(of: call.user, call.context)
      ).sentOnce()
    },
    Operation(
      .delete, "/v1/me/second-factors/{factor}", access: .user(scope: Scopes.updateIdentities),
      gives: [.noContent],
      summary: "Remove a second factor; the last one removes the recovery codes too"
    ) { (call) async throws(Failure) in
      try await SecondFactors.remove(call.captured("factor"), of: call.user, call.context)
      return Response(.noContent)
    },
    Operation(
      .delete, "/v1/users/{user}/second-factors", access: .client(scope: Scopes.updateUsers),
      gives: [.noContent], summary: "Remove all second factors of a user, and report it by email"
    ) { (call) async throws(Failure) in
      try await SecondFactors.removeAll(of: call.captured("user"), call.context)
      return Response(.noContent)
    }.needing(stepUp: true),
  ]
}

extension Shape {
  fileprivate static let code = Shape.text
    .saying("six digits, or a recovery code; spaces and hyphens are ignored")
    .like("123 456")

  fileprivate static let enrollment = Shape.object([
    "id": .id(Example.factor),
    "secret": .text.saying("base 32, for typing; returned only once")
      .like(.string(Example.totpSecret)),
    "uri": .text.saying("for a QR code").like(.string(Example.totpURI)),
  ]).named("Enrollment", "A second factor that is pending until its first code.").sentOnce()

  fileprivate static let secondFactors = Shape.object([
    "second_factors": .list(
      of: .object([
        "id": .id(Example.factor), "created_at": .time(Example.keyMade),
        "last_used_at": .time(Example.played).orNull,
      ]).named("SecondFactor", "An authenticator app of a user."),
      atMost: SecondFactors.limit
    ),
    "recovery_codes_left": .count.like(9),
  ]).named("SecondFactors", "The confirmed second factors of a user, the oldest first.")

  fileprivate static let recoveryCodes = Shape.object(["recovery_codes": .listOfRecoveryCodes])
    .named("RecoveryCodes", "Recovery codes. Each works once, and all earlier ones are void.")
    .sentOnce()
}

extension SecondFactor {
  fileprivate var json: JSON {
    [
      "id": .string(id.text), "created_at": .string(createdAt.text),
      "last_used_at": JSON(lastUsedAt),
    ]
  }
}

extension Response {
  fileprivate init(_ status: Status, _ enrollment: SecondFactors.Enrollment) {
    let body: JSON = [
      "id": .string(enrollment.id.text), "secret": .string(enrollment.secret),
      "uri": .string(enrollment.uri),
    ]
    self.init(status, json: body.serialized())
  }

  fileprivate init(recoveryCodes codes: [String]) {
    let body: JSON = ["recovery_codes": .array(codes.map(JSON.string))]
    self.init(.ok, json: body.serialized())
  }
}
