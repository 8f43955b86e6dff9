package import Tenancy

/// The grants by which a client signs a user in at the token endpoint, without the pages.
package enum DirectGrant: String, CaseIterable, Sendable {
  case password
  case passwordRealm = "http://auth0.com/oauth/grant-type/password-realm"
  case emailCode = "http://auth0.com/oauth/grant-type/passwordless/otp"
  case factorCode = "http://auth0.com/oauth/grant-type/mfa-otp"
  case recoveryCode = "http://auth0.com/oauth/grant-type/mfa-recovery-code"

  /// Returns whether the grant is open to a client.
  ///
  /// - Parameters:
  ///   - password: whether passwords can be exchanged for tokens.
  ///   - emailCode: whether mailed codes can.
  /// - Returns: whether a client may use the grant.
  package func isOpen(password: Bool, emailCode: Bool) -> Bool {
    switch self {
    case .password, .passwordRealm: password
    case .emailCode: emailCode
    case .factorCode, .recoveryCode: password || emailCode
    }
  }
}

/// The grants that depend only on the kind of the client.
package enum StandardGrant: String, CaseIterable, Sendable {
  case authorizationCode = "authorization_code"
  case refreshToken = "refresh_token"
  case clientCredentials = "client_credentials"
}

extension ClientKind {
  /// The grants that each client of the kind may use.
  package var grants: [StandardGrant] {
    switch self {
    case .machine: [.clientCredentials]
    case .web: StandardGrant.allCases
    case .native, .singlePage: [.authorizationCode, .refreshToken]
    }
  }
}
