import Accounts
import Documents
import EventLoop
import HTTP
import JSON
import Runtime
import Sessions
import Tenancy
import WebTokens
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

  init(of session: OpenSession, _ context: RequestContext) async throws(Failure) {
    let tokens = try await session.tokens(context)
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
    let session = try await Users.signInAnonymously(as: .anonymousParra, context)
    return try await WireTokens(of: session, context)
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
        [("typ", .string(WireTokens.refreshType))]
      },
      keepsSessions: true
    ) { _ in [("typ", .string(WireTokens.accessType))] }
  }
}

/// The token of an anonymous user, which a client sends with a log-in or a sign-up.
///
/// The SDK sends any token that it has stored, even an expired one. One that cannot be used is ignored.
@EventLoop enum AnonymousToken {
  /// Returns the user and session of a token that this server has signed; nil for any other text.
  ///
  /// An access token of this wire may have expired, at most as long ago as such a token lives: an old
  /// one, which an attacker may find, links nothing. The next statement checks its session.
  /// - Throws: `.databaseUnavailable`.
  static func owner(
    of token: String?, _ context: RequestContext
  ) async throws(Failure) -> Principal? {
    guard let token else { return nil }
    let type = AccessTokens.claimedType(of: token)
    do throws(Failure) {
      if type == WireTokens.refreshType { return try WireTokens.principal(of: token, context) }
      let lifetime = context.app.sessionSettings.accessTokenLifetime
      return try await context.tokens.principal(
        ofExpired: token, app: context.app.id,
        within: type == WireTokens.accessType ? lifetime : .zero
      )
    } catch let error where error.isDecision {
      return nil
    }
  }

  /// Moves the properties of the anonymous user of a token to the user of the request.
  ///
  /// A repeated request finds none, and changes nothing. The log-in succeeds if the move fails, since
  /// its code is used up; the log has the cause. The SDK sends the token again with its next request.
  static func merge(_ token: String?, _ call: Call) async {
    let context = call.context
    do throws(Failure) {
      guard let user = context.principal.user, let guest = try await owner(of: token, context)
      else { return }
      try await Properties.move(from: guest, to: user, equating: .canonical, context)
    } catch {
      call.failure = error
    }
  }
}

/// A token that the back end of an app signs, and a client sends with each request.
///
/// Its `iss` is an issuer of the app, its `sub` the tenant. A claim names the user.
@EventLoop enum CustomToken {
  /// The content type in the head of these tokens.
  nonisolated private static let contentType = "parra-fpa;v=1"

  nonisolated static func isOfForm(_ token: String) -> Bool {
    token.utf8.count <= 8_192 && SignedToken(token)?.head["cty"]?.string == contentType
  }

  /// Returns the user and session of a token; an unknown user is made.
  ///
  /// - Throws: `.invalidExternalToken`, `.wrongCredentials`, `.loginMethodDisabled`,
  ///   `.databaseUnavailable`.
  private static func principal(
    of token: String, _ context: RequestContext
  ) async throws(Failure) -> Principal {
    try await TokenLogin.principal(of: token, naming: subject(in: context), as: .parra, context)
  }

  /// Returns the user and live session of a token; nil without one.
  ///
  /// - Throws: `.invalidExternalToken`, `.wrongCredentials`, `.databaseUnavailable`.
  static func standing(
    by token: String, _ context: RequestContext
  ) async throws(Failure) -> Principal? {
    try await TokenLogin.standing(by: token, naming: subject(in: context), as: .parra, context)
  }

  private static func subject(in context: RequestContext) -> ExternalTokens.Subject {
    let tenant = context.app.name
    return ExternalTokens.Subject(in: contentType) { claims in
      guard claims["sub"]?.string?.hasSameBytes(as: tenant) == true else { return nil }
      return claims["grants"]?.object?["identity"]?.string
    }
  }

  fileprivate nonisolated static let kind = BearerKind("custom token", isOfForm: isOfForm) {
    (token, call) async throws(Failure) in .user(try await principal(of: token, call.context))
  }
}

extension Access {
  /// Returns access for a user of the SDK, by an access token or a custom token.
  static func parra(scope: String) -> Access {
    .anyOf([.bearer(CustomToken.kind, proof: .session), .user(scope: scope, proof: .session)])
  }
}
