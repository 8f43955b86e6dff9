import Dossier
import EventLoop
import JSON

/// The tokens of a session, as the clients of App Services read them.
@EventLoop struct ServiceTokens {
  let principal: Principal
  let access: String
  let refresh: String

  /// The longest text of `user_data`, in bytes: with the other claims, the token then fits the 8 KiB
  /// that web servers have for a header field.
  private static let userDataLimit = 4_096

  /// The JSON of the response to a login, and to a link.
  var login: [UInt8] {
    var body = JSONWriter()
    body.beginObject()
    body.member("access_token", access)
    body.member("refresh_token", refresh)
    body.member("user_id", principal.user?.text ?? "")
    body.member("device_id", principal.device?.text ?? "")
    body.endObject()
    return body.bytes
  }

  fileprivate static func accessClaims(
    _ context: RequestContext
  ) async throws(Failure) -> [(String, JSON)] {
    let principal = context.principal
    var claims = JSONObject()
    claims["typ"] = "access"
    add(principal, to: &claims)
    if let user = principal.user, let data = try await userData(of: user, context) {
      claims["user_data"] = data
    }
    return claims.map { ($0.key, $0.value) }
  }

  nonisolated fileprivate static func refreshClaims(of principal: Principal) -> JSONObject {
    var claims = JSONObject()
    claims["typ"] = "refresh"
    claims["baas_id"] = .string(principal.session?.text ?? "")
    add(principal, to: &claims)
    return claims
  }

  nonisolated private static func add(_ principal: Principal, to claims: inout JSONObject) {
    for prefix in ["baas_device_id", "stitch_devId"] {
      claims[prefix] = .string(principal.device?.text ?? "")
    }
    for prefix in ["baas_domain_id", "stitch_domainId"] {
      claims[prefix] = .string(principal.app.text)
    }
  }

  /// The custom data for a token: all of it, or nothing where it is too long for a header field.
  private static func userData(
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> JSON? {
    do throws(Failure) {
      return try await CustomDataCollection(of: user, context).read(upTo: userDataLimit)
    } catch .update {
      // Other doors store what only looks like Extended JSON; nobody is kept out for that.
      return nil
    }
  }
}

extension SessionStyle {
  /// The style of App Services clients.
  static let appServices = appServices(refreshable: nil)

  /// The style of anonymous users, whose refresh tokens are valid for 50 years as at App Services.
  ///
  /// A user who loses the token cannot sign in again. The session ends by the app's settings.
  static let anonymousAppServices = appServices(refreshable: .seconds(50 * 365 * 86_400))

  private static func appServices(refreshable lifetime: Duration?) -> SessionStyle {
    SessionStyle(
      "app-services",
      scopes: .user,
      tokens: .native(
        claims: ServiceTokens.accessClaims,
        refresh: .signed(lifetime: lifetime, claims: ServiceTokens.refreshClaims)
      ),
      // Browser tabs share the device id, and each tab has its own tokens in memory.
      keepsSessions: true
    )
  }
}
