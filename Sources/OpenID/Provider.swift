package import Accounts
import Encoding
import EventLoop
package import Federation
import JSON
package import Runtime
package import Tenancy
package import Records

/// This server as an OpenID Connect provider, at the host that a request was sent to.
package struct Provider: Sendable {
  /// The `iss` of tokens: the origin with a slash.
  package let issuer: String
  /// Returns the URL of a user's picture, or of a generated one.
  package let picture: @Sendable (Profile) -> String

  package init(issuer: String, picture: @escaping @Sendable (Profile) -> String) {
    self.issuer = issuer
    self.picture = picture
  }

  /// The audience of tokens for the endpoint with the user's claims.
  package var userInfo: String { Self.userInfo(of: issuer) }

  /// Returns the audience of tokens for the user information of an issuer.
  package static func userInfo(of issuer: String) -> String { issuer + "userinfo" }

  /// Checks the API that a client names again.
  ///
  /// - Parameters:
  ///   - audience: its identifier as the client knows it; nil if the client names none.
  ///   - granted: the identifier of the API of the grant; nil for none.
  /// - Throws: `.audienceNotGranted` if they differ.
  func require(_ audience: String?, toBe granted: String?) throws(Failure) {
    guard let audience = Self.api(audience, at: issuer) else { return }
    let named = ProvidedAPI.identifier(of: audience, at: issuer)
    guard let granted, granted.hasSameBytes(as: named) || granted.hasSameBytes(as: audience) else {
      throw .audienceNotGranted(audience: audience)
    }
  }

  /// Returns the API that a client requests a token for: the one that it names, or else that of `/v1`.
  ///
  /// - Parameters:
  ///   - audience: the audience, as the client names it; nil if it names none.
  ///   - issuer: the issuer.
  ///   - context: the context of a request of the app.
  /// - Returns: nil if the app has no such API.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func server(
    named audience: String?, at issuer: String, _ context: RequestContext
  ) async throws(Failure) -> ResourceServer? {
    let audience = api(audience, at: issuer) ?? issuer
    if ProvidedAPI.account.isNamed(by: audience, at: issuer), !context.app.passkeySettings.isOpen {
      return nil
    }
    return try await ResourceServers.find(
      audience: audience, at: issuer, of: context.app.id, context)
  }

  /// Returns the identifier of the API that the parameter `audience` names.
  ///
  /// Older apps name the endpoint with the user's claims, which accepts each token.
  /// - Returns: nil if it names no API.
  package static func api(_ audience: String?, at issuer: String) -> String? {
    guard let audience, !audience.isEmpty, !audience.hasSameBytes(as: userInfo(of: issuer)) else {
      return nil
    }
    return audience
  }
}

/// The scopes that OpenID Connect defines and this server gives.
///
/// - Source: OpenID Connect Core sections 3.1.2.1, 5.4 and 11.
package enum StandardScope: String, CaseIterable, Sendable {
  case openID = "openid"
  case profile
  case email
  case phone
  case offlineAccess = "offline_access"
}

/// Lists of scopes, which compare by bytes.
extension [String] {
  /// The most scopes that a request may name.
  private static let most = 200

  /// Reads a text of scopes, once each, in their order.
  package init(scopes text: String) {
    self = []
    for word in text.split(separator: " ").prefix(Self.most).map(String.init)
    where !has(scope: word) { append(word) }
  }

  package func has(scope: String) -> Bool { contains { $0.hasSameBytes(as: scope) } }

  package func contains(_ scope: StandardScope) -> Bool { has(scope: scope.rawValue) }
}

/// The ways to sign in that the app and the client accept.
package struct SignInMethods {
  package let takesPassword: Bool
  package let takesCode: Bool
  /// Whether users can sign in with a passkey, which clients allow together with the password.
  package let takesPasskey: Bool
  /// Whether users can sign up with a password.
  package let takesSignUp: Bool
  /// The other services at which users can sign in, in the order of their buttons.
  package let connections: [Connection]

  /// Returns the ways for a client; nil for the account page, which accepts all of the app.
  ///
  /// If the request wants one of them, only that counts.
  package init(_ app: App, _ client: Client?, only wanted: ClientSettings.Connection? = nil) {
    let settings = app.accountSettings
    func isAllowed(_ way: ClientSettings.Connection) -> Bool {
      client?.settings.allows(way) != false && (wanted ?? way) == way
    }
    takesPassword = settings.isOpen(.password) && isAllowed(.password)
    takesCode = settings.isOpen(.emailCode) && isAllowed(.emailCode)
    takesPasskey = app.passkeySettings.isOpen && isAllowed(.password)
    takesSignUp = takesPassword && settings.signUp != .closed
    connections = app.connections.all.filter { isAllowed(.named($0.key)) }
  }
}

/// The settings of sign-outs that clients ask for.
package struct SignOutSettings: RecordPart {
  /// Whether `/v2/logout` asks the user also if the client has a session in the browser.
  package let alwaysAsks: Bool

  package init(_ read: inout RecordReader) {
    alwaysAsks = read.flag(
      "confirm_sign_out",
      false,
      safe: true,
      "whether /v2/logout, to which any site can send a browser, always asks the user; otherwise it "
        + "does not ask if the named client has a session in the browser"
    )
  }
}
