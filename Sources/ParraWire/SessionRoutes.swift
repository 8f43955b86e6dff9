import Accounts
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON
import WireKit

/// The routes of the session of a user: login, user info and logout.
@EventLoop enum SessionRoutes {
  nonisolated static var routes: [Route] {
    let path = "\(ParraWire.tenantPrefix)/auth"
    return [
      Route(
        .post, "\(path)/login", access: .parra(scope: Scopes.readUser),
        body: .json(limit: 16_384).lenient(assuming: .json),
        summary: "Read the user after a sign-in"
      ) { (call) async throws(Failure) in
        await AnonymousToken.merge(call.json["anonymous_token"]?.string, call)
        return try await UserView.info(call)
      },
      Route(
        .get, "\(path)/user-info", access: .parra(scope: Scopes.readUser), summary: "Read the user"
      ) { (call) async throws(Failure) in try await UserView.info(call) },
      Route(
        .post, "\(path)/logout", access: .open, body: .json(limit: 16_384).lenient(assuming: .json),
        issuesSecrets: true, summary: "Log out, and continue without an account", logOut
      ),
    ]
  }

  /// Ends the session, and returns tokens without an account.
  ///
  /// An expired access token ends it too, since the SDK does not refresh after a 200.
  /// The SDK also calls it for a deleted user. It has no user at all if this fails.
  private static func logOut(_ call: Call) async throws(Failure) -> Response {
    let context = call.context
    do throws(Failure) {
      let token = try call.request.bearerToken
      if CustomToken.isOfForm(token) {
        let standing = try await CustomToken.standing(by: token, context)
        if let standing { context.principal = standing }
      } else {
        let app = context.app.id
        context.principal = try await context.tokens.principal(ofExpired: token, app: app)
      }
      if let user = context.principal.user { try await Sessions.logout(user, context) }
    } catch let error where error.isDecision {
      // There is no session to end.
    }
    context.principal = .anyone
    if context.app.createsAnonymousUsers {
      do throws(Failure) {
        let body: JSON = ["anonymous_token": try await WireTokens.anonymous(context).json]
        return Response(.ok, json: body.serialized())
      } catch let error where error.type.status.code < 500 {
        // A guest costs nothing.
      }
    }
    let body: JSON = ["guest_token": try await WireTokens.guest(context).json]
    return Response(.ok, json: body.serialized())
  }
}
