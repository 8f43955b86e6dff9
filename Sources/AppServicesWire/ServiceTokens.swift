import Documents
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON

/// The tokens of a session in the form that the clients of App Services read.
@EventLoop enum ServiceTokens {
  /// The maximum length of `user_data` in bytes.
  ///
  /// With 1,000 bytes of other claims, and in base64, the token then fits the 16 KiB that nginx
  /// takes for a header field.
  private static let userDataLimit = 11_000

  /// Returns the response to a login and to a link.
  static func response(_ principal: Principal, access: String, refresh: String) -> Response {
    var body = JSONWriter()
    body.beginObject()
    body.member("access_token", access)
    body.member("refresh_token", refresh)
    body.member("user_id", principal.user?.text ?? "")
    body.member("device_id", principal.device?.text ?? "")
    body.endObject()
    return Response(.ok, json: body.bytes)
  }

  fileprivate static func accessClaims(
    _ context: RequestContext
  ) async throws(Failure) -> [(String, JSON)] {
    let principal = context.principal
    var claims = [("typ", "access")] + places(of: principal)
    if let user = principal.user, let data = try await userData(of: user, context) {
      claims.append(("user_data", data))
    }
    return claims
  }

  nonisolated fileprivate static func refreshClaims(of principal: Principal) -> [(String, JSON)] {
    let session = JSON.string(principal.session?.text ?? "")
    return [("typ", "refresh"), ("baas_id", session)] + places(of: principal)
  }

  /// Returns the claims of the device and the app, each under its new and its old name.
  nonisolated private static func places(of principal: Principal) -> [(String, JSON)] {
    let device = JSON.string(principal.device?.text ?? "")
    let app = JSON.string(principal.app.text)
    return [
      ("baas_device_id", device), ("stitch_devId", device),
      ("baas_domain_id", app), ("stitch_domainId", app),
    ]
  }

  /// Returns the custom data for a token, or nil if it is too long for a header field.
  private static func userData(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> JSON? {
    do throws(Failure) {
      return try await CustomDataCollection(of: user, context).read(upTo: userDataLimit)
    } catch .updateRefused {
      // Other APIs store malformed wrappers. They must not prevent a login.
      return nil
    }
  }
}

extension SessionStyle {
  /// The session style of App Services clients.
  static let appServices = appServices(refreshable: nil)

  /// The session style of anonymous users.
  ///
  /// Their refresh tokens are valid for 50 years, as at App Services.
  ///
  /// A user who loses the token cannot sign in again. The app's settings still limit the session.
  static let anonymousAppServices = appServices(refreshable: .seconds(50 * 365 * 86_400))

  private static func appServices(refreshable lifetime: Duration?) -> SessionStyle {
    SessionStyle(
      "app-services",
      scopes: .user,
      refreshTokens: .signed(lifetime: lifetime, claims: ServiceTokens.refreshClaims),
      // Browser tabs share the device id, and each tab has its own tokens in memory.
      keepsSessions: true,
      claims: ServiceTokens.accessClaims
    )
  }
}
