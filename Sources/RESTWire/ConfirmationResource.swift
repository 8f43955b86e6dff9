import Dossier
import EventLoop
import HTTP
import Wiring

/// `/v1/confirm`: an email address is its user's when that is proved by a mailed token.
@EventLoop enum ConfirmationResource {
  nonisolated static let operations: [Operation] = [
    LoginResource.open(
      "/v1/confirm",
      4_096,
      takes: .confirmation,
      gives: .noContent,
      refuses: [
        .mailTokenInvalid, .claimantUnproved, .emailTaken, .tooManyAttempts, .tokenInvalid,
        .tokenExpired, .sessionEnded, .insufficientScope,
      ],
      "Confirm an email address by a token that was mailed, and a session or the password of the user"
    ) {
      (call) async throws(Failure) in
      var members = try Members(call.json, known: ["token", "password"])
      let token = members.string("token")
      let password = members.has("password") ? members.string("password") : nil
      try members.check()
      let claimant = Claimant(
        caller: try await call.callerIfAny(scope: Scopes.updateIdentities),
        password: password
      )
      try await Emails.confirm(token, by: claimant, call.context)
      return Response(.noContent)
    },
    LoginResource.open(
      "/v1/confirm/request",
      1_024,
      takes: .email,
      gives: .accepted(nil, "A mail is sent if somebody has the address."),
      refuses: [.wayInClosed, .tooManyAttempts, .mailNotConfigured],
      "Mail a token that confirms an email address"
    ) {
      (call) async throws(Failure) in
      try await Emails.requestConfirmation(of: call.strings("email")[0], call.context)
      return Response(.accepted)
    },
  ]
}
