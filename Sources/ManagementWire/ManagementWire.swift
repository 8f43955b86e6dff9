import EventLoop
package import HTTP
import JSON
package import Runtime
package import WireKit

/// The Management API and the sign-up of Auth0, for its SDKs.
///
/// Sign-in and tokens are those of OpenID Connect, which another wire serves.
/// - Source: the requests and responses of the public SDKs; see `Moving from Auth0`.
package struct ManagementWire: Wire {
  package init() {}

  package var routes: [Route] {
    UserRoutes.routes + UserListRoutes.routes + IdentityRoutes.routes
      + FactorRoutes.routes + BlockRoutes.routes + SessionRoutes.routes + LogRoutes.routes
      + TicketRoutes.routes + RoleRoutes.routes + RoleMemberRoutes.routes
      + UserRoleRoutes.routes + PermissionRoutes.routes + ClientRoutes.routes
      + ClientGrantRoutes.routes + ResourceServerRoutes.routes + TenantRoutes.routes
      + GrantRoutes.routes + JobRoutes.routes
      + DatabaseConnectionRoutes.routes
  }

  package var prefixes: [String] { ["/api/v2", DatabaseConnectionRoutes.prefix] }

  package var crossOrigin: CrossOriginFields { .auth0 }

  package var requestLimit: RateLimitStatus? { .ofWebServer }

  @EventLoop package func app(of call: Call) -> AppReference { .host }

  @EventLoop package func isOffered(by app: App, to call: Call) -> Bool {
    let settings = app.settings[ManagementSettings.self]
    return DatabaseConnectionRoutes.own(call.request.path)
      ? settings.offersDatabaseConnections : settings.offersManagement
  }

  @EventLoop package func response(to failure: Failure, of call: Call) -> Response {
    DatabaseConnectionRoutes.own(call.request.path)
      ? SignUpError(failure).response : ManagementError(failure).response
  }

  package func page(for failure: Failure, at prefix: String) -> WebServerPage {
    WebServerPage(
      .json,
      prefix == DatabaseConnectionRoutes.prefix
        ? SignUpError(failure).json.text : ManagementError(failure).json.text
    )
  }
}
