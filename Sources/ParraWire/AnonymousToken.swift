import Accounts
import Documents
import Runtime
import Sessions
import EventLoop
import HTTP
import WireKit

/// The token of an anonymous user, which a client sends with a log-in or a sign-up.
///
/// The SDK sends any token that it has stored, even an expired one. One that cannot be used is ignored.
@EventLoop enum AnonymousToken {
  /// Returns the user and session of a token that this server has signed; nil for any other text.
  ///
  /// An access token may have expired. The next statement checks its session.
  /// - Throws: `.databaseUnavailable`.
  static func owner(
    of token: String?,
    _ context: RequestContext
  ) async throws(Failure) -> Principal? {
    guard let token else { return nil }
    return try await ignoringRefusals { () async throws(Failure) in
      AccessTokens.claimedType(of: token) == WireTokens.refreshType
        ? try WireTokens.principal(of: token, context)
        : try await context.tokens.principal(ofExpired: token, app: context.app.id)
    }
  }

  /// Moves the properties of the anonymous user of a token to the user of the request.
  ///
  /// A repeated request finds none, and changes nothing.
  /// - Throws: `.databaseUnavailable`.
  static func merge(_ token: String?, _ context: RequestContext) async throws(Failure) {
    guard let user = context.principal.user, let guest = try await owner(of: token, context)
    else { return }
    try await ignoringRefusals { () async throws(Failure) in
      try await Properties.move(from: guest, to: user, context)
    }
  }

  /// Links the credentials of a new user to an anonymous user, which keeps its id and data.
  ///
  /// - Returns: whether the anonymous user has the credentials now.
  /// - Throws: `.databaseUnavailable`.
  static func link(
    _ credentials: Credentials,
    to guest: Principal,
    _ context: RequestContext
  ) async throws(Failure) -> Bool {
    context.principal = guest
    defer { context.principal = .anyone }
    return try await ignoringRefusals { () async throws(Failure) in
      guard let user = guest.user, try await Profiles.read(of: user, context).isAnonymous else {
        return false
      }
      // Another person may have copied the tokens. The SDK signs in again.
      try await Identities.linkRegistered(credentials, to: user, endsSessions: true, context)
      return true
    } ?? false
  }

  /// Returns nil if the request, and not the server, causes an error.
  @discardableResult private static func ignoringRefusals<Value>(
    _ body: @EventLoop () async throws(Failure) -> Value
  ) async throws(Failure) -> Value? {
    do throws(Failure) {
      return try await body()
    } catch let error where error.type.status.code < 500 {
      return nil
    }
  }
}
