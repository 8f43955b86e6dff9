import Accounts
package import EventLoop
import Glibc
import IdentitySubjects
import OpenIDClient
import Postgres
import Records
package import Runtime
import Sessions
import Tenancy
import WebTokens

/// The logout of a user at a service, of which the service tells the app.
///
/// - Source: OpenID Connect Back-Channel Logout 1.0.
@EventLoop package enum IssuerLogout {
  /// Returns the URI to which a service sends its logout tokens, which operators register there.
  nonisolated static func uri(of connection: Connection, _ issuer: String) -> String {
    "\(issuer)u/backchannel-logout/\(connection.key)"
  }

  /// Ends the sessions that a logout token names.
  ///
  /// It calls the service only for a key that is not known yet. A repeated token ends nothing more,
  /// since sessions that began after it stay.
  /// - Parameters:
  ///   - text: the logout token.
  ///   - connection: the connection.
  ///   - context: the context of the request.
  /// - Throws: `.logoutTokenInvalid`, `.connectionUnavailable`, `.overloaded`,
  ///   `.databaseUnavailable`.
  package static func end(
    by text: String, at connection: Connection, _ context: RequestContext
  ) async throws(Failure) {
    let token = try await verified(text, at: connection, context)
    let provider = IdentityProvider(ofIssuer: token.issuer)
    var users: Set<UserID> = []
    if let subject = token.subject {
      users = Set(
        try await context.read(
          SubjectQueries.holder, context.app.id, provider, subject, on: .exclusive))
    } else if let session = token.sessionID {
      users = try await IssuerSignOut.users(in: session, at: provider, context)
    }
    for user in users {
      try await IssuerSignOut.end(
        of: user, signedInBy: provider, in: token.sessionID, before: token.issuedAt, context)
    }
  }

  private static func verified(
    _ text: String, at connection: Connection, _ context: RequestContext
  ) async throws(Failure) -> LogoutToken {
    let upstream = context.upstream
    let provider = try await upstream.provider(of: connection)
    do throws(SignInFault) {
      let token = try SignInFault.rule { () throws(OpenIDClientError) in
        try LogoutToken.parse(text)
      }
      let isSigned = try await SignInFault.failure { () async throws(Failure) in
        try await upstream.hasSigned(
          token, provider, of: connection, for: context.address.network)
      }
      guard isSigned else {
        throw .engine(.invalidLogoutToken(rule: "its signature is not the issuer's"))
      }
      return try SignInFault.rule { () throws(OpenIDClientError) in
        try LogoutToken(
          token, of: provider, audiences: [connection.clientID] + connection.audiences,
          now: time(nil))
      }
    } catch {
      switch error {
      case .failure(let failure): throw failure
      case .engine:
        throw .logoutTokenInvalid(reason: "connection \(connection.key): \(error.rule)")
      }
    }
  }
}
