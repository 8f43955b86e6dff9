package import Runtime
package import Sessions
package import Tenancy
import EventLoop
import Glibc

extension TokenLogin {
  /// Returns the principal of an issuer's token, for a protocol that sends one with each request.
  ///
  /// An unknown subject becomes a user.
  /// - Parameters:
  ///   - token: the token as the issuer made it.
  ///   - subject: the place of the subject.
  ///   - style: the protocol of the session.
  ///   - isFresh: whether the issuer must have made the token within `reauthentication_minutes`.
  ///   - context: the context of the request.
  /// - Returns: the principal.
  /// - Throws: as `signIn`; `.reauthenticationRequired`.
  @EventLoop package static func principal(
    of token: String,
    naming subject: ExternalTokens.Subject,
    as style: SessionStyle,
    isFresh: Bool,
    _ context: RequestContext
  ) async throws(Failure) -> Principal {
    try context.requireOpen(.jwt)
    let external = try await identity(of: token, naming: subject, context)
    let age = context.app.sessionSettings.proofLifetime
    guard !isFresh || external.authenticatedAt > time(nil) - age.wholeSeconds else {
      throw .reauthenticationRequired(maxAge: age)
    }
    if let known = try await known(external, context),
      let standing = try await Sessions.standing(by: known, as: style, context)
    {
      return standing
    }
    context.bareDevice = UnauthenticatedDevice(named: nil)
    _ = try await signIn(external, as: style, context)
    return context.principal
  }
}
