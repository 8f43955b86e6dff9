import Encoding
import JSON
package import Runtime

extension Failure {
  package static let authorizationExpired = Failure("authorization_expired", .notFound)
    .titled("This sign-in has expired, has ended, or was started in another browser.")
    .remedied("Start the sign-in again, in the app.")
  package static let invalidCodeOfClient = Failure("invalid_authorization_code", .invalid)
    .titled("The authorization code is not valid.")
    .remedied(
      "Start again at /authorize. A code expires after one minute, and works once. Only the same "
        + "exchange may be repeated, for 30 seconds."
    )
  package static let otherRedirect = Failure("other_redirect_uri", .invalid)
    .titled("The redirect_uri is not that of the /authorize request.")
    .remedied("Send the redirect_uri of the /authorize request with the code.")
  package static let invalidVerifier = Failure("invalid_verifier", .invalid)
    .titled("The code verifier does not belong to the authorization code.")
    .remedied("Send the code_verifier of the code_challenge in the /authorize request.")
  package static let refreshOfBlockedUser = Failure("refresh_of_blocked_user", .forbidden)
    .titled("The user of the refresh token is blocked.")
    .remedied("Sign the user out. An operator can unblock the user.")
  package static let refreshOfDeletedUser = Failure("refresh_of_deleted_user", .forbidden)
    .titled("The user of the refresh token has been deleted.")
    .remedied("Sign the user out.")
  package static let scopeNotGranted = Failure("scope_not_granted", .invalid)
    .titled("The client has not been granted a scope.")
    .remedied("Request only scopes that the user or the operator has granted.")
  package static let audienceNotGranted = Failure("audience_not_granted", .forbidden)
    .titled("The client has no grant for this resource server.")
    .remedied("Ask the operator for one: dossier client grant.")
  package static let clientScopesNotGranted = Failure("client_scopes_not_granted", .forbidden)
    .titled("The client has no grant for some of the scopes.")
    .remedied("Ask the operator for them: dossier client grant.")

  /// The error for a request with a challenge whose code comes without a verifier.
  static var missingVerifier: Failure {
    .invalidVerifier(
      "The /authorize request had a code_challenge: send its code_verifier."
    )
  }
  /// The error for a verifier without a challenge.
  static var needlessVerifier: Failure {
    .invalidVerifier(
      "The /authorize request had no code_challenge: send one, or no code_verifier."
    )
  }

  static func audienceNotGranted(audience: String) -> Failure {
    let hint = audience.utf8.last == UInt8(ascii: "/") ? "" : " Is a slash missing?"
    return .audienceNotGranted(
      "The client has no grant for the audience \(audience.excerpt(200)).\(hint)"
    )
  }

  static func scopesNotGranted(_ scopes: [String]) -> Failure {
    .clientScopesNotGranted(
      "Client has not been granted scopes: \(scopes.named(separator: ", "))")
  }

  package static func scopeNotGranted(scope: String) -> Failure {
    .scopeNotGranted("The client has not been granted the scope \([scope].named()).")
  }
}

extension Failure {
  /// A form needs a cookie that the browser has not sent.
  package static let cookiesNeeded = Failure("cookies_needed", .forbidden)
    .titled("The browser has sent no cookie.")
    .remedied("Allow cookies for this server, and load the page again.")
  /// Another site, or a page in another browser, has sent a form.
  package static let formForged = Failure("form_forged", .forbidden)
    .titled("The form was not sent by a page of this server in this browser.")
    .remedied("Load the page again, and send its form.")
  package static let unknownApplication = Failure("unknown_application", .notFound)
    .titled("No application that signs users in has this client_id.")
    .remedied(
      "Compare client_id with the id of the application in this app. Its kind must not be machine."
    )
  package static let unregisteredRedirect = Failure("unregistered_redirect", .malformed)
    .titled("The application has not registered this redirect_uri.")
    .remedied("Register exactly this URL as a callback URL of the application.")

  /// Returns the error for a redirect URI that the named client has not registered.
  package static func unregisteredRedirect(_ uri: String, client: String) -> Failure {
    .unregisteredRedirect(
      members: [("client", .string(client)), ("redirect_uri", .string(uri))]
    )
  }
}

/// An error that the client gets at its redirect URI.
///
/// - Source: RFC 6749 section 4.1.2.1; OpenID Connect Core sections 3.1.2.6 and 6.
package struct AuthorizationError: Error {
  package let code: String
  package let description: String

  package init(_ code: String, _ description: String) {
    (self.code, self.description) = (code, description)
  }

  /// The values of the response.
  package var values: [(String, String)] { [("error", code), ("error_description", description)] }

  package static let accessDenied = AuthorizationError("access_denied", "The user has declined.")
  package static let userBlocked = AuthorizationError("access_denied", "user is blocked")
  package static let loginRequired = AuthorizationError("login_required", "Login required")
  package static let consentRequired = AuthorizationError("consent_required", "Consent required")
  package static let interactionRequired = AuthorizationError(
    "interaction_required", "The user must complete a page, which prompt=none does not allow."
  )
  /// The text tells Auth0's SDKs to begin again with a page.
  package static let secondFactorRequired = AuthorizationError(
    "login_required", "Multifactor authentication required"
  )
  package static let otherUser = AuthorizationError(
    "login_required", "The signed-in user is not the user of id_token_hint."
  )

  /// Creates the error for a temporary failure or a server error; nil for any other failure.
  package init?(passing failure: Failure) {
    switch failure.type.kind {
    case .tooMany, .unavailable: self.init("temporarily_unavailable", failure.type.title)
    case .internal: self.init("server_error", failure.type.title)
    default: return nil
    }
  }
}

extension AuthorizationRequest {
  /// Returns the error that the client gets for a failure; nil if the user sees a page instead.
  ///
  /// A hidden frame or a popup of the client shows no page of ours.
  package func error(for failure: Failure) -> AuthorizationError? {
    prompts.contains(.none) || mode == .webMessage ? AuthorizationError(passing: failure) : nil
  }
}

extension AuthorizationError {
  /// Creates the error for a step that would need a page; nil if it needs none.
  package init?(silent step: AuthorizationStep) {
    switch step {
    case .signIn, .chooseAccount: self = .loginRequired
    case .stepUp, .showPasskey: self = .secondFactorRequired
    case .otherUser: self = .otherUser
    case .consent: self = .consentRequired
    case .confirm: self = .interactionRequired
    case .finish: return nil
    }
  }
}
