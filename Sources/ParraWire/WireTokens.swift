import Accounts
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON
import WireKit

/// The tokens of a session, or of a guest, in the form that the SDK reads.
@EventLoop struct WireTokens {
  private let access: String
  private let refresh: String
  private let scope: String
  private let lifetime: Duration

  private nonisolated static let userScope =
    "parra openid offline_access profile email phone"
  /// The resources that the SDK asks for without a user.
  private nonisolated static let guestScope = "guest parra:app:app_info.read"
  nonisolated static let accessType = "parra"
  nonisolated static let refreshType = "parra-refresh"

  init(_ tokens: Sessions.TokenSet) {
    (access, refresh) = (tokens.accessToken, tokens.refreshToken)
    (scope, lifetime) = (Self.userScope, tokens.lifetime)
  }

  private init(_ access: String, _ refresh: String, _ scope: String, _ lifetime: Duration) {
    (self.access, self.refresh, self.scope, self.lifetime) = (access, refresh, scope, lifetime)
  }

  var json: JSON {
    [
      "access_token": .string(access), "token_type": "Bearer",
      "expires_in": .number(JSONNumber(lifetime.wholeSeconds)),
      "refresh_token": .string(refresh), "scope": .string(scope),
    ]
  }

  var response: Response { Response(.ok, json: json.serialized()) }

  /// Returns tokens of no user, with which a client reads only public data.
  ///
  /// Routes of users refuse them. The SDK also requires a refresh token.
  static func guest(_ context: RequestContext) async throws(Failure) -> WireTokens {
    let guest = Principal(.anyone, in: context.app.id, scopes: Scopes(guestScope))
    let lifetime = context.app.sessionSettings.accessTokenLifetime
    let token = try await context.tokens.token(of: guest, lifetime: lifetime)
    return WireTokens(token, token, guestScope, lifetime)
  }

  static func anonymous(_ context: RequestContext) async throws(Failure) -> WireTokens {
    context.bareDevice = UnauthenticatedDevice(named: nil)
    return WireTokens(try await Users.signInAnonymously(as: .anonymousParra, context))
  }

  /// Returns new tokens of the session of a refresh token.
  ///
  /// The SDK sends one token in several requests at once. So it stays valid.
  /// - Throws: `.invalidRefreshToken`, `.databaseUnavailable`.
  static func refreshed(
    by token: String, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> WireTokens {
    do throws(Failure) {
      context.principal = try principal(of: token, context)
      try await Sessions.renew(as: style, context)
      let access = try await Sessions.accessToken(as: style, context)
      let refresh = Sessions.signedRefreshToken(as: style, context) ?? token
      return WireTokens(access, refresh, userScope, context.app.sessionSettings.accessTokenLifetime)
    } catch let error where error.type.kind == .unauthenticated {
      throw .invalidRefreshToken
    }
  }

  /// Returns the principal of a refresh token of this wire.
  static func principal(of token: String, _ context: RequestContext) throws(Failure) -> Principal {
    let principal = try context.tokens.principal(ofSignedRefreshToken: token, context)
    guard AccessTokens.claimedType(of: token) == refreshType else { throw .tokenInvalid }
    return principal
  }
}

extension SessionStyle {
  /// The session style of clients of Parra.
  static let parra = parra(refreshable: nil)

  /// The session style of anonymous users, whose SDK keeps the first refresh token forever.
  static let anonymousParra = parra(refreshable: .seconds(50 * 365 * 86_400))

  private static func parra(refreshable lifetime: Duration?) -> SessionStyle {
    SessionStyle(
      "parra",
      scopes: .user,
      refreshTokens: .signed(lifetime: lifetime) { _ in
        var claims = JSONObject()
        claims["typ"] = .string(WireTokens.refreshType)
        return claims
      },
      keepsSessions: true
    ) { _ in [("typ", .string(WireTokens.accessType))] }
  }
}
