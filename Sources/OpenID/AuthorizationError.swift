package import Runtime

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
    case .stepUp: self = .secondFactorRequired
    case .otherUser: self = .otherUser
    case .consent: self = .consentRequired
    case .confirm: self = .interactionRequired
    case .finish: return nil
    }
  }
}
