import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/confirm`: an email address is its user's when that is proved by a mailed token.
@EventLoop enum ConfirmationResource {
  nonisolated static let operations: [Operation] = [
    LoginResource.open(
      "/v1/confirm",
      4_096,
      reads: Fields(
        "Confirmation",
        "The token of a mail that confirms an address.",
        .text("token", .text.like(.string(Example.confirmation))),
        .optional(
          .text(
            "password",
            .text.saying(
              "unless a session opened by it, or a device of the user, is shown"
            )
          )
        )
      ).like(["token": .string(Example.confirmation), "password": .string(Example.password)]),
      gives: .ok(.grant, "The claimant is logged in on its device."),
      Answer(status: .noContent, says: "The address is confirmed.", shape: nil),
      refuses: [
        .mailTokenInvalid, .claimantUnproved, .emailTaken, .tooManyAttempts, .tokenInvalid,
        .tokenExpired, .sessionEnded, .insufficientScope,
      ],
      "Confirm an email address by a token that was mailed, and a session, the password or a device "
        + "of the user"
    ) {
      (call, token, password) async throws(Failure) in
      let claimant = Claimant(
        caller: try await call.callerIfAny(scope: Scopes.updateIdentities, proof: .body),
        password: password
      )
      guard let proof = try await Emails.confirm(token, by: claimant, call.context) else {
        return Response(.noContent)
      }
      return try await LoginResource.logIn(proof, call)
    },
    LoginResource.open(
      "/v1/confirm/request",
      1_024,
      reads: email,
      gives: .accepted(nil, "A mail is sent if somebody has the address."),
      refuses: [.wayInClosed, .tooManyAttempts, .mailNotConfigured],
      "Mail a token that confirms an email address"
    ) {
      (call, email) async throws(Failure) in
      try await Emails.requestConfirmation(of: email, by: call.anyCaller, call.context)
      return Response(.accepted)
    },
  ]

  nonisolated static let email = Fields("Email", "An email address.", .text("email", .address))
}

extension Call {
  /// The caller by its access token, on a public route; nil without a valid token.
  var anyCaller: Caller? {
    get async { try? await callerIfAny(scope: Scopes.readUser, proof: .body) }
  }
}
