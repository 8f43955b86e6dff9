package import Runtime
package import Sessions
package import Tenancy
import EventLoop

/// Tokens of issuers, for a protocol that sends one with each request.
extension TokenLogin {
  /// Returns the principal of an issuer's token; an unknown subject becomes a user.
  ///
  /// - Parameters:
  ///   - token: the token as the issuer made it.
  ///   - subject: the place of the subject.
  ///   - style: the protocol of the session.
  ///   - context: the context of the request.
  /// - Returns: the principal.
  /// - Throws: as `signIn`.
  package static func principal(
    of token: String, naming subject: ExternalTokens.Subject, as style: SessionStyle,
    _ context: RequestContext
  ) async throws(Failure) -> Principal {
    try context.requireOpen(.jwt)
    let external = try await identity(of: token, naming: subject, context)
    if let standing = try await standing(by: external, as: style, context) { return standing }
    context.bareDevice = UnauthenticatedDevice(named: nil)
    _ = try await signIn(external, as: style, context)
    return context.principal
  }

  /// Returns the principal of the live session of an issuer's token; nil without one.
  ///
  /// It creates neither a user nor a session, and works in an app that has closed this method.
  /// - Throws: `.invalidExternalToken`, `.issuerUnavailable`, `.databaseUnavailable`.
  package static func standing(
    by token: String, naming subject: ExternalTokens.Subject, as style: SessionStyle,
    _ context: RequestContext
  ) async throws(Failure) -> Principal? {
    let external = try await identity(of: token, naming: subject, context)
    return try await standing(by: external, as: style, context)
  }

  private static func standing(
    by external: ExternalTokens.Identity, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> Principal? {
    guard let known = try await known(external, context) else { return nil }
    return try await Sessions.standing(by: known, as: style, context)
  }
}
