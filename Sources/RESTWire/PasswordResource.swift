import Declarations
import Delivery
import Sessions
import Accounts
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/password`.
@EventLoop enum PasswordResource {
  nonisolated static let operations: [Operation] = [
    LoginResource.open(
      "/v1/password/reset-request",
      1_024,
      reads: EmailResource.email,
      gives: .accepted(nil, "The server sends an email if a user has the address."),
      refuses: [.loginMethodDisabled, .tooManyAttempts, .mailNotConfigured],
      "Email a token that resets a password"
    ) {
      (call, email) async throws(Failure) in
      try await call.identifyUserIfValid()
      try await Emails.requestReset(of: email, call.context)
      return Response(.accepted)
    },
    LoginResource.open(
      "/v1/password/reset",
      4_096,
      reads: reset,
      gives: .ok(.grant),
      refuses: [
        .loginMethodDisabled, .invalidMailToken, .wrongCredentials, .additionalFactorRequired,
        .deviceFull,
      ],
      "Set a new password with an emailed token, and sign in"
    ) {
      (call, token, password) async throws(Failure) in
      let session = try await Emails.reset(token, password: password, call.context)
      return try await LoginResource.response(.ok, session, call)
    },
    Operation(
      .post,
      "/v1/password/change",
      access: .user(scope: Scopes.updateIdentities, proof: .body),
      takes: .body(
        .json(limit: 4_096),
        Fields(
          "PasswordChange", "The old and the new password.", .text("current_password", .password),
          .text("new_password", .newPassword), .optional(.flag("keep_api_keys"))
        )
      ),
      gives: [.ok(.grant)],
      refuses: [.wrongCredentials, .tooManyAttempts, .reauthenticationRequired],
      summary:
        "Change the password, end all sessions and API keys (unless kept), and open a new session"
    ) { (call, current, new, keepsKeys) async throws(Failure) in
      let session = try await Users.changePassword(
        from: current, to: new, keepingKeys: keepsKeys == true, of: call.user, call.context
      )
      return try await LoginResource.response(.ok, session, call)
    },
  ]
  nonisolated static let reset = Fields(
    "Reset", "The token from an email, and a new password.",
    .text("token", .text.like(.string(Example.reset))), .text("password", .newPassword)
  )
}
