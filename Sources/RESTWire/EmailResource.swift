import Declarations
import Delivery
import Sessions
import Accounts
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/login/code`, `/v1/email` and `/v1/me/email`.
@EventLoop enum EmailResource {
  nonisolated static let codes: [Operation] = [
    LoginResource.open(
      "/v1/login/code/request",
      1_024,
      reads: email,
      gives: .accepted(.flow, "The server emails a code."),
      refuses: [.loginMethodDisabled, .tooManyAttempts, .mailNotConfigured],
      "Email a code to sign in or to sign up"
    ) {
      (call, email) async throws(Failure) in
      try await call.identifyUserIfValid()
      return response(try await EmailCodes.request(for: email, call.context))
    },
    LoginResource.open(
      "/v1/login/code",
      1_024,
      reads: code,
      gives: .ok(.grant),
      refuses: [
        .loginMethodDisabled, .signUpClosed, .invalidCode, .wrongCredentials, .emailTaken,
        .additionalFactorRequired, .deviceFull,
      ],
      "Sign in or complete a registration with an emailed code"
    ) {
      (call, flow, code) async throws(Failure) in
      let session = try await EmailCodes.signIn(code, flow, call.context)
      return try await LoginResource.response(.ok, session, call)
    },
  ]

  nonisolated static let verification: [Operation] = [
    LoginResource.open(
      "/v1/email/verify",
      4_096,
      reads: Fields(
        "Verification", "The token from a verification email.",
        .text("token", .text.like(.string(Example.verification))),
        .optional(.text("password", .text.saying("the user's, unless an access token is sent")))
      ).like(["token": .string(Example.verification), "password": .string(Example.password)]),
      gives: .ok(.grant, "The address is verified, and the user is signed in."),
      Answer(status: .noContent, says: "The address is verified.", shape: nil),
      refuses: [
        .invalidMailToken, .signInToVerify, .loginMethodDisabled, .wrongCredentials,
        .additionalFactorRequired, .tooManyAttempts, .deviceFull, .tokenInvalid, .tokenExpired,
        .sessionEnded, .insufficientScope,
      ],
      "Verify an email address with an emailed token, and a session or the password of its user"
    ) {
      (call, token, password) async throws(Failure) in
      try await call.identifyUserIfAny(scope: Scopes.updateIdentities, proof: .body)
      let session = try await Emails.verify(token, password: password, call.context)
      guard let session else { return Response(.noContent) }
      return try await LoginResource.response(.ok, session, call)
    },
    LoginResource.open(
      "/v1/email/verify/request",
      1_024,
      reads: email,
      gives: .accepted(nil, "The server sends an email if a user has the address."),
      refuses: [.loginMethodDisabled, .tooManyAttempts, .mailNotConfigured],
      "Email a token that verifies an email address"
    ) {
      (call, email) async throws(Failure) in
      try await call.identifyUserIfValid()
      try await Emails.requestVerification(of: email, call.context)
      return Response(.accepted)
    },
  ]

  nonisolated static let change: [Operation] = [
    Operation(
      .post,
      "/v1/me/email",
      access: .user(scope: Scopes.updateIdentities),
      takes: .body(.json(limit: 1_024), email.shown(as: ["email": "ada@example.net"])),
      gives: [.accepted(.flow, "The server emails a code to the address.")],
      refuses: [
        .noEmail, .emailTaken, .emailRestorePending, .tooManyAttempts, .mailNotConfigured,
      ],
      summary: "Email a code to a new or first address of the user"
    ) { (call, email) async throws(Failure) in
      response(try await Emails.requestChange(to: email, of: call.user, call.context))
    },
    Operation(
      .post,
      "/v1/me/email/verify",
      access: .user(scope: Scopes.updateIdentities, proof: .body),
      takes: .body(.json(limit: 1_024), code),
      gives: [.noContent],
      refuses: [.invalidCode, .emailTaken, .emailRestorePending],
      summary: "Change or add the user's address with the code that was emailed to it"
    ) { (call, flow, code) async throws(Failure) in
      try await Emails.change(code, flow, of: call.user, call.context)
      return Response(.noContent)
    },
    LoginResource.open(
      "/v1/email/restore",
      4_096,
      reads: PasswordResource.reset.shown(as: [
        "token": .string(Example.oldAddress), "password": .string(Example.newPassword),
      ]),
      gives: .ok(.grant),
      refuses: [
        .loginMethodDisabled, .invalidMailToken, .wrongCredentials, .emailTaken,
        .additionalFactorRequired, .deviceFull,
      ],
      "Restore the user's previous address with a new password, and sign in"
    ) {
      (call, token, password) async throws(Failure) in
      let session = try await Emails.restore(token, password: password, call.context)
      return try await LoginResource.response(.ok, session, call)
    },
  ]

  nonisolated static let email = Fields("Email", "An email address.", .text("email", .address))

  private nonisolated static let code = Fields("Code", "An emailed code.", .flow, .code)

  /// The response with a flow that waits for its code.
  static func response(_ flow: String) -> Response {
    let body: JSON = [
      "flow": .string(flow),
      "expires_in": .number(JSONNumber(AuthenticationFlow.lifetime.wholeSeconds)),
    ]
    return Response(.accepted, json: body.serialized())
  }
}

extension Field where Value == String {
  static var flow: Field {
    .text("flow", .text.saying("the flow that the code belongs to").like(.string(Example.flow)))
  }

  static var code: Field {
    .text("code", .text.saying("spaces and hyphens are ignored").like(.string("1234 5678")))
  }
}

extension Call {
  /// Identifies the user of an open route if the request has a valid access token.
  ///
  /// - Throws: an error if the token cannot be verified now, so that no guest loses data.
  func identifyUserIfValid() async throws(Failure) {
    do throws(Failure) {
      try await identifyUserIfAny(scope: Scopes.readUser, proof: .body)
    } catch let error where error.isDecision {
      // The route is open to all.
    }
  }
}
