import Dossier
import EventLoop
import HTTP
import Wiring

/// `/v1/password`: a password is reset by a mailed token, or changed by who knows it.
@EventLoop enum PasswordResource {
  nonisolated static let operations: [Operation] = [
    LoginResource.open(
      "/v1/password/reset-request",
      1_024,
      takes: .email,
      gives: .accepted(nil, "A mail is sent if somebody has the address."),
      refuses: [.wayInClosed, .tooManyAttempts, .mailNotConfigured],
      "Mail a token that resets a password"
    ) {
      (call) async throws(Failure) in
      try await Emails.requestReset(of: call.strings("email")[0], call.context)
      return Response(.accepted)
    },
    LoginResource.open(
      "/v1/password/reset",
      4_096,
      takes: .reset,
      gives: .noContent,
      refuses: [.mailTokenInvalid, .emailTaken],
      "Set a new password by a token that was mailed, to reset it or to confirm the address"
    ) {
      (call) async throws(Failure) in
      let members = try call.strings("token", "password")
      try await Emails.reset(members[0], password: members[1], call.context)
      return Response(.noContent)
    },
    Operation(
      .post,
      "/v1/password/change",
      access: .user(scope: Scopes.updateIdentities, proof: .body),
      body: .json(limit: 4_096),
      takes: .passwordChange,
      gives: [.ok(.grant)],
      refuses: [.wrongCredentials, .tooManyAttempts],
      summary:
        "Change the password, end all sessions and, unless kept, API keys, and go on in a new one"
    ) { (call) async throws(Failure) in
      var members = try Members(
        call.json,
        known: ["current_password", "new_password", "keep_api_keys"]
      )
      let current = members.string("current_password")
      let new = members.string("new_password")
      let keepsKeys = members.has("keep_api_keys") && members.flag("keep_api_keys")
      try members.check()
      let grant = try await Users.changePassword(
        from: current,
        to: new,
        keepingKeys: keepsKeys,
        of: call.caller,
        call.context
      )
      return try LoginResource.response(.ok, grant, call)
    },
  ]
}
