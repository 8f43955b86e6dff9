package import Runtime
import EventLoop

/// The settings of sessions and their tokens.
package struct SessionSettings: SettingsSection {
  package let mfa: MFA
  /// The name that authenticator apps show; empty for the name of the app.
  let mfaIssuer: String
  package let accessTokenLifetime: Duration
  let accessTokenClaims: Set<AccountClaim>
  /// How long a session lasts after its creation or last refresh.
  package let sessionLifetime: Duration
  /// How long a session lasts, however often it is refreshed; nil for no limit.
  package let longestSession: Duration?
  /// The greatest age of a session's authentication where the API requires a recent one.
  package let proofLifetime: Duration
  package let allowsSwitching: Bool
  package let sessionsPerUser: Int

  package init(_ read: inout SettingsReader) {
    mfa = read.choice(
      "mfa", MFA.off, safe: .required,
      "whether users have a second factor: off, optional, or required"
    )
    mfaIssuer = read.text(
      "mfa_issuer",
      .text(
        0...100, "name",
        "This setting must be a name of at most 100 characters without a colon, or empty."
      ) { !$0.contains(":") },
      "",
      "the name that authenticator apps show beside a code; empty for the name of the app"
    )
    accessTokenLifetime = read.duration(
      "access_token_seconds", .seconds, 60...86_400, 1_800,
      "seconds for which an access token is valid"
    )
    accessTokenClaims = read.choices(
      "access_token_claims",
      "claims about the account in access tokens: email, email_verified and anonymous, as they were "
        + "when the token was signed"
    )
    let idle = read.duration(
      "session_days", .days, 1...3_650, 60, "days a session lasts after its last refresh"
    )
    let longest = read.duration(
      "session_max_days", .days, 0...36_500, 365,
      "days a session lasts after its sign-in, however often it is refreshed; 0 for no such limit"
    )
    longestSession = longest == .zero ? nil : longest
    sessionLifetime = longest == .zero ? idle : min(idle, longest)
    proofLifetime = read.duration(
      "reauthentication_minutes",
      .minutes,
      1...1_440,
      10,
      "minutes after a sign-in, here or at an issuer, in which a user may change credentials without "
        + "authenticating again"
    )
    let switching = read.choice(
      "switching", Switching.allow, safe: .reauthenticate,
      "whether the users of a device switch without signing in again: allow or reauthenticate"
    )
    allowsSwitching = switching == .allow
    sessionsPerUser = read.number(
      "sessions_per_user", 1...1_000, 100,
      "the most sessions of a user; one more ends the least recently used one, of API keys first"
    )
  }
}

extension App {
  package var sessionSettings: SessionSettings { settings[SessionSettings.self] }
}

extension RequestContext {
  /// The error for a live session whose last authentication is too old or too weak.
  package var reauthenticationRequired: Failure {
    .reauthenticationRequired(maxAge: app.sessionSettings.proofLifetime)
  }
}

/// Whether users have a second factor.
package enum MFA: String, CaseIterable {
  case off
  case optional
  case required
}

/// How users of one device switch.
private enum Switching: String, CaseIterable {
  case allow
  /// Only by signing in again.
  case reauthenticate
}
