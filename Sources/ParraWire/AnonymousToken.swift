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
