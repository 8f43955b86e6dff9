import EventLoop
package import HTTP
import JSON
import OpenID
package import Runtime
import Sessions
package import WireKit

/// OpenID Connect: this server signs users in for applications, with its own pages.
///
/// - Source: OpenID Connect Core 1.0; RFC 6749; RFC 9700.
package struct OpenIDWire: Wire {
  package init() {}

  package var routes: [Route] {
    AuthorizeRoutes.routes + TokenRoutes.routes + UserInfoRoutes.routes
      + RevocationRoutes.routes + LogoutRoutes.routes + DirectLogoutRoutes.routes
      + PasswordlessRoutes.routes + UnsupportedRoutes.routes + DiscoveryRoutes.routes
      + PageRoutes.routes
  }

  /// The prefixes whose clients are programs, and get JSON.
  private static let endpoints = [
    "/oauth", "/passwordless", "/userinfo", "/.well-known", "/bc-authorize", "/passkey", "/mfa",
    "/otp",
  ]

  package var prefixes: [String] {
    Self.endpoints + ["/authorize", "/oidc", "/v2", "/u", "/account"]
  }

  package var fields: [FieldName] { [.fetchDestination, .purpose] }

  package var crossOrigin: CrossOriginFields { .auth0 }

  @EventLoop package func app(of call: Call) -> AppReference { .host }

  @EventLoop package func response(to failure: Failure, of call: Call) -> Response {
    Self.isEndpoint(call.request.path)
      ? TokenError(failure).response(to: call) : FailurePages.response(to: failure, of: call)
  }

  private static func isEndpoint(_ path: Substring) -> Bool {
    endpoints.contains { ServedWire.isOwned(path, below: $0) }
  }

  package func page(for failure: Failure, at prefix: String) -> WebServerPage {
    Self.endpoints.contains(prefix)
      ? WebServerPage(.json, TokenError(failure).json.text)
      : FailurePages.webServerPage(for: failure)
  }
}
