import Accounts
package import EventLoop
import OpenIDClient
import Outbound
import Records
package import Runtime
package import Sessions
import Tenancy

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
    let provider = try await context.upstream.provider(of: connection)
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
      let userinfo = try await CodeExchange.userinfo(
        after: nil, token, credentials, at: provider, of: connection, context)
      return try SignInFault.rule { () throws(OpenIDClientError) in
        let profile = try Redirects.profile(nil, userinfo, at: provider, of: connection)
        return ConnectedAccount(profile, nil, of: connection)
      }
    }
  }
}
