/// The grants by which a client signs a user in at the token endpoint, without the pages.
package enum DirectGrant: String, CaseIterable, Sendable {
  case password
  case passwordRealm = "http://auth0.com/oauth/grant-type/password-realm"
  case emailCode = "http://auth0.com/oauth/grant-type/passwordless/otp"
  case factorCode = "http://auth0.com/oauth/grant-type/mfa-otp"
  case recoveryCode = "http://auth0.com/oauth/grant-type/mfa-recovery-code"
}
