import Dossier
import EventLoop
import JSON

/// The tokens of a session, as the clients of App Services read them.
@EventLoop struct ServiceTokens {
  private let caller: Caller
  private let access: String
  private let refresh: String

  /// The longest text of `user_data`, in bytes: with the other claims, the token then fits the 8 KiB
  /// that web servers have for a header field.
  private static let userDataLimit = 4_096
  /// How long the refresh token of an anonymous user is good.
  ///
  /// What the user lost with it it could never get back: 50 years, as at App Services. Its session
  /// ends by the app's own rules.
  private static let anonymousLifetime = Duration.seconds(50 * 365 * 86_400)

  /// Makes what else a login answers beside its access token.
  init(of caller: Caller, access: String, isAnonymous: Bool, _ context: Context) {
    self.caller = caller
    self.access = access
    var claims = JSONObject()
    claims["typ"] = "refresh"
    claims["baas_id"] = .string(caller.session?.text ?? "")
    Self.add(caller, to: &claims)
    refresh = context.tokens.signedRefreshToken(
      of: caller,
      with: claims,
      lifetime: isAnonymous ? Self.anonymousLifetime : context.app.settings.sessionLifetime,
      context.store
    )
  }

  /// The answer to a login, and to a link.
  var login: JSON {
    [
      "access_token": .string(access), "refresh_token": .string(refresh),
      "user_id": .string(caller.user.text), "device_id": .string(caller.device?.text ?? ""),
    ]
  }

  /// An access token with the custom data as it is now.
  static func access(of caller: Caller, _ context: Context) async throws(Failure) -> String {
    try await context.tokens.issue(
      for: caller,
      lifetime: context.app.settings.accessTokenLifetime,
      accessClaims(of: caller, context)
    )
  }

  fileprivate static func accessClaims(
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) -> [(String, JSON)] {
    var claims = JSONObject()
    claims["typ"] = "access"
    add(caller, to: &claims)
    if let data = try await userData(of: caller, context) { claims["user_data"] = data }
    return claims.map { ($0.key, $0.value) }
  }

  private static func add(_ caller: Caller, to claims: inout JSONObject) {
    for prefix in ["baas_device_id", "stitch_devId"] {
      claims[prefix] = .string(caller.device?.text ?? "")
    }
    for prefix in ["baas_domain_id", "stitch_domainId"] {
      claims[prefix] = .string(caller.app.text)
    }
  }

  /// The custom data for a token: all of it, or nothing where it is too long for a header field.
  private static func userData(
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) -> JSON? {
    do throws(Failure) {
      return try await CustomDataCollection(of: caller, context).read(upTo: userDataLimit)
    } catch .update {
      // Other doors store what only looks like Extended JSON; nobody is kept out for that.
      return nil
    }
  }
}

extension SessionStyle {
  /// Of the clients of App Services.
  static let appServices = SessionStyle(
    "app-services",
    scopes: .user,
    tokens: .native { (caller, context) async throws(Failure) in
      try await ServiceTokens.accessClaims(of: caller, context)
    }
  )
}
