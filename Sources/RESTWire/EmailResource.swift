import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/login/code` and `/v1/me/email`: an address as a way in, and another one for a user.
@EventLoop enum EmailResource {
  nonisolated static let codes: [Operation] = [
    LoginResource.open(
      "/v1/login/code/request",
      1_024,
      reads: ConfirmationResource.email,
      gives: .accepted(.codeRequest, "A code is mailed."),
      refuses: [.wayInClosed, .tooManyAttempts, .mailNotConfigured],
      "Mail a code to log in by, or to sign up"
    ) {
      (call, email) async throws(Failure) in
      let request = try await EmailCodes.request(for: email, by: call.anyCaller, call.context)
      let body: JSON = [
        "request": .string(request),
        "expires_in": .number(JSONNumber(EmailCodes.lifetime.wholeSeconds)),
      ]
      return Response(.accepted, json: body.serialized())
    },
    LoginResource.open(
      "/v1/login/code",
      1_024,
      reads: Fields(
        "Code",
        "A code that was mailed.",
        .text(
          "request",
          .text.saying("what was answered when the code was asked for")
            .like(.string(Example.codeRequest))
        ),
        .text("code", .text.saying("spaces and hyphens do not count").like(.string("1234 5678")))
      ),
      gives: .ok(.grant),
      refuses: [.wayInClosed, .codeInvalid, .wrongCredentials, .deviceFull],
      "Log in, or sign up, by a code that was mailed"
    ) {
      (call, request, code) async throws(Failure) in
      let proof = try await EmailCodes.prove(code, by: request, call.context)
      return try await LoginResource.logIn(proof, call)
    },
  ]

  nonisolated static let change: [Operation] = [
    Operation(
      .post,
      "/v1/me/email",
      access: .user(scope: Scopes.updateIdentities),
      body: .json(limit: 1_024),
      reads: ConfirmationResource.email.shown(as: ["email": "ada@example.net"]),
      gives: [.accepted(nil, "A mail is sent to the address.")],
      refuses: [.noEmail, .emailTaken, .tooManyAttempts, .mailNotConfigured],
      summary: "Mail a token to another address that makes it the user's"
    ) { (call, email) async throws(Failure) in
      try await Emails.requestChange(to: email, of: call.caller, call.context)
      return Response(.accepted)
    },
    Operation(
      .post,
      "/v1/me/email/confirm",
      access: .user(scope: Scopes.updateIdentities, proof: .body),
      body: .json(limit: 1_024),
      reads: Fields(
        "MailToken",
        "The token of a mail.",
        .text("token", .text.like(.string(Example.newAddress)))
      ),
      gives: [.noContent],
      refuses: [.mailTokenInvalid, .emailTaken],
      summary: "Make another address the user's by the token that was mailed there"
    ) { (call, token) async throws(Failure) in
      try await Emails.confirmChange(token, of: call.caller, call.context)
      return Response(.noContent)
    },
    LoginResource.open(
      "/v1/email/restore",
      4_096,
      reads: PasswordResource.reset.shown(as: [
        "token": .string(Example.oldAddress), "password": .string(Example.newPassword),
      ]),
      gives: .ok(.grant),
      refuses: [.wayInClosed, .mailTokenInvalid, .emailTaken, .deviceFull],
      "Give an address back by the token mailed there, with a new password, and log in"
    ) {
      (call, token, password) async throws(Failure) in
      let proof = try await Emails.restore(token, password: password, call.context)
      return try await LoginResource.logIn(proof, call)
    },
  ]
}
