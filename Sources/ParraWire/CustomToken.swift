import Accounts
import Runtime
import Sessions
import Tenancy
import EventLoop
import HTTP
import JSON
import WebTokens
import WireKit

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
