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
  ///   `.reauthenticationRequired` if the token had to be younger, `.databaseUnavailable`.
  static func principal(
    of token: String,
    isFresh: Bool = false,
    _ context: RequestContext
  ) async throws(Failure) -> Principal {
    let tenant = context.app.name
    return try await TokenLogin.principal(
      of: token,
      naming: ExternalTokens.Subject(in: contentType) { claims in
        guard claims["sub"]?.string?.hasSameBytes(as: tenant) == true else { return nil }
        return claims["grants"]?.object?["identity"]?.string
      },
      as: .parra,
      isFresh: isFresh,
      context
    )
  }

  fileprivate nonisolated static func kind(isFresh: Bool) -> BearerKind {
    BearerKind(isFresh ? "young custom token" : "custom token", isOfForm: isOfForm) {
      (token, call) async throws(Failure) in
      .user(try await principal(of: token, isFresh: isFresh, call.context))
    }
  }
}

extension Access {
  /// Returns access for a user of the SDK, by an access token or a custom token.
  static func parra(scope: String, isFresh: Bool = false) -> Access {
    .anyOf([
      // Its users cannot sign in again, so the age of the token counts.
      .bearer(CustomToken.kind(isFresh: isFresh), proof: .session),
      .user(scope: scope, proof: isFresh ? .fresh : .session),
    ])
  }
}
