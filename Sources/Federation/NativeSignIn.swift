import Accounts
package import EventLoop
import OpenIDClient
import Outbound
import Records
package import Runtime
package import Sessions
import Tenancy

/// A code or an ID token that the SDK of a service has given to an app.
package struct ServiceCredential: Sendable {
  /// The name of the connection.
  package let connection: String
  /// The code; nil if there is an ID token.
  package let code: String?
  package let token: String?
  /// The redirect URI of the request for the code; nil if it had none.
  package let redirectURI: String?
  /// The secret of the code challenge; nil if there was none.
  package let verifier: String?
  /// The nonce of the request; nil for none.
  package let nonce: String?

  package init(
    connection: String, code: String?, token: String?, redirectURI: String?, verifier: String?,
    nonce: String?
  ) {
    (self.connection, self.code, self.token) = (connection, code, token)
    (self.redirectURI, self.verifier, self.nonce) = (redirectURI, verifier, nonce)
  }

  /// The broken rules.
  package var faults: [FieldError] {
    let lengths = [
      ("code", code, 1...4_096), ("id_token", token, 1...TokenResponse.tokenLimit),
      ("redirect_uri", redirectURI, 1...2_048), ("code_verifier", verifier, 43...128),
      ("nonce", nonce, 1...1_024),
    ]
    let faults = lengths.compactMap { member, text, length -> FieldError? in
      guard let text, !length.contains(text.utf8.count) else { return nil }
      let rule = "This must have \(length.lowerBound) to \(length.upperBound) bytes."
      return FieldError("/\(member)", "length", rule)
    }
    guard (code == nil) == (token == nil) else { return faults }
    return faults + [FieldError("", "choice", "Send either code or id_token.")]
  }

  /// Returns its account.
  ///
  /// - Parameters:
  ///   - isFresh: whether the user must have authenticated at the service just now.
  ///   - context: the context of the request.
  /// - Returns: the account.
  /// - Throws: as `Redirects.account(byCode:)`; `.unknownConnection`, `.invalid`.
  @EventLoop package func account(
    isFresh: Bool = false, _ context: RequestContext
  ) async throws(Failure) -> ConnectedAccount {
    guard faults.isEmpty else { throw .invalid(faults) }
    guard let connection = context.app.connections.named(connection) else {
      throw .unknownConnection
    }
    if let token {
      return try await Redirects.account(
        byToken: token, nonce: nonce, of: connection, isFresh: isFresh, context)
    }
    return try await Redirects.account(
      byCode: code ?? "", redirectURI: redirectURI, verifier: verifier, nonce: nonce,
      of: connection, isFresh: isFresh, context)
  }
}

/// The sign-in by what the SDK of a service has given to an app.
@EventLoop package enum NativeSignIn {
  /// Signs in by a token of the service of a connection, or of an issuer.
  ///
  /// A token of a connection follows the rules of the connection, also for its address.
  /// - Parameters:
  ///   - token: the token as the issuer made it.
  ///   - nonce: as in `ExternalTokens.identity`.
  ///   - style: the protocol of the session.
  ///   - context: the context of the request.
  /// - Returns: the session.
  /// - Throws: as `TokenLogin.signIn` and `ConnectedAccount.signIn`.
  package static func signIn(
    by token: String, for nonce: String?, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    guard let connection = context.app.connections.connection(ofToken: token) else {
      return try await TokenLogin.signIn(token, for: nonce, as: style, context)
    }
    return try await Redirects.account(byToken: token, nonce: nonce, of: connection, context)
      .signIn(as: style, context)
  }

  /// Links the identity of such a token to the user of the session.
  ///
  /// - Returns: the new session; nil without a style.
  /// - Throws: as `Identities.linkToken` and `ConnectedAccount.link`.
  package static func link(
    _ token: String, for nonce: String?, to user: UserID, as style: SessionStyle?,
    _ context: RequestContext
  ) async throws(Failure) -> OpenSession? {
    guard let connection = context.app.connections.connection(ofToken: token) else {
      return try await Identities.linkToken(token, for: nonce, to: user, as: style, context)
    }
    return try await Redirects.account(byToken: token, nonce: nonce, of: connection, context)
      .link(to: user, as: style, context)
  }

  /// Authenticates the user of the session again by such a token, and replaces the session.
  ///
  /// - Throws: as `Sessions.reauthenticate`; for a token of a connection as `ServiceCredential.account`.
  package static func reauthenticate(
    _ user: UserID, by token: String, for nonce: String?, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    guard let connection = context.app.connections.connection(ofToken: token) else {
      return try await Sessions.reauthenticate(user, by: .token(token, nonce: nonce), context)
    }
    return try await Redirects.account(
      byToken: token, nonce: nonce, of: connection, isFresh: true, context
    ).reauthenticate(user, as: .native, context)
  }

  /// Authenticates the user of the session again by a code or an ID token of a connection.
  ///
  /// - Throws: as `Sessions.reauthenticate` and `ServiceCredential.account`.
  package static func reauthenticate(
    _ user: UserID, by credential: ServiceCredential, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try await credential.account(isFresh: true, context)
      .reauthenticate(user, as: .native, context)
  }
}

extension Redirects {
  /// Returns the account of an access token that the SDK of a service has given to an app.
  ///
  /// Any app of the service has such tokens. So the service must state that this one is of ours.
  /// - Parameters:
  ///   - token: the access token.
  ///   - connection: the connection.
  ///   - context: the context of the request.
  /// - Returns: the account.
  /// - Throws: as `account(byCode:)`; `.unknownConnection` if the service cannot state it.
  package static func account(
    byAccessToken token: String, of connection: Connection, _ context: RequestContext
  ) async throws(Failure) -> ConnectedAccount {
    try await countAttempt(context)
    let provider = try await context.provider(of: connection)
    let credentials = try connection.credentials(context)
    return try await checked(connection, isOfApp: true, context) { () async throws(SignInFault) in
      let inspection = try SignInFault.rule { () throws(OpenIDClientError) in
        try TokenInspection(of: token, credentials, at: provider)
      }
      guard let inspection else { throw .failure(.unknownConnection) }
      let answer = try await CodeExchange.send(HTTPCall(inspection.url), context, connection)
      try SignInFault.rule { () throws(OpenIDClientError) in
        try inspection.verify(status: answer.status, body: answer.body)
      }
      let profile = try await CodeExchange.profile(
        nil, token, credentials, at: provider, of: connection, context)
      return ConnectedAccount(profile, nil, of: connection)
    }
  }
}
