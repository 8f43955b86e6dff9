import Accounts
import EventLoop
package import HTTP
import JSON
package import Runtime
import Tenancy
package import WireKit
package import Records

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
      + DatabaseConnectionRoutes.routes + MyAccountRoutes.routes
  }

  package var prefixes: [String] {
    ["/api/v2", DatabaseConnectionRoutes.prefix, MyAccountRoutes.prefix]
  }

  package var crossOrigin: CrossOriginFields { .auth0 }

  package var requestLimit: RateLimitStatus? { .ofWebServer }

  @EventLoop package func app(of call: Call) -> AppReference { .host }

  @EventLoop package func isOffered(by app: App, to call: Call) -> Bool {
    let (settings, path) = (app.settings[ManagementSettings.self], call.request.path)
    if MyAccountRoutes.own(path) { return app.passkeySettings.isOpen }
    return DatabaseConnectionRoutes.own(path)
      ? settings.offersDatabaseConnections : settings.offersManagement
  }

  @EventLoop package func response(to failure: Failure, of call: Call) -> Response {
    if MyAccountRoutes.own(call.request.path) { return MyAccountError(failure).response }
    return DatabaseConnectionRoutes.own(call.request.path)
      ? SignUpError(failure).response : ManagementError(failure).response
  }

  package func page(for failure: Failure, at prefix: String) -> WebServerPage {
    let json =
      switch prefix {
      case DatabaseConnectionRoutes.prefix: SignUpError(failure).json
      case MyAccountRoutes.prefix: MyAccountError(failure).json
      default: ManagementError(failure).json
      }
    return WebServerPage(.json, json.text)
  }
}

/// Which APIs of Auth0 an app offers, beside OpenID Connect.
package struct ManagementSettings: RecordPart {
  /// Whether the app has back ends that call `/api/v2`.
  let offersManagement: Bool
  /// Whether the app has clients that call `/dbconnections`.
  let offersDatabaseConnections: Bool

  package init(_ read: inout RecordReader) {
    offersManagement = read.flag(
      "auth0_management", false, safe: false,
      "whether back ends may call the Management API of Auth0 (/api/v2) in the app"
    )
    offersDatabaseConnections = read.flag(
      "auth0_dbconnections", false, safe: false,
      "whether clients of Auth0 may sign users up and ask for a reset at /dbconnections"
    )
  }
}

extension JSON {
  /// Returns an object of a response, with the members of the request that this server lacks.
  func reporting(_ ignored: [String]) -> JSON {
    guard var object, !ignored.isEmpty else { return self }
    object["ignored_members"] = .array(ignored.map(JSON.string))
    return .object(object)
  }
}
