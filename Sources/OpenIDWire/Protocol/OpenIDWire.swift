package import Accounts
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
  /// Returns the path at which another wire serves the picture of a profile.
  private let picturePath: @Sendable (String) -> String

  /// Creates the wire.
  ///
  /// - Parameter picturePath: returns the path of a picture by its name.
  package init(picturePath: @escaping @Sendable (String) -> String) {
    self.picturePath = picturePath
  }

  /// Returns the URL of a user's picture, or of a generated one.
  @EventLoop package func pictureURL(of profile: Profile, for call: Call) -> String {
    call.provider(picturePath).picture(profile)
  }

  package var routes: [Route] {
    AuthorizeRoutes.routes + TokenRoutes.routes(picturePath) + UserInfoRoutes.routes(picturePath)
      + RevocationRoutes.routes + LogoutRoutes.routes + DirectLogoutRoutes.routes
      + PasswordlessRoutes.routes + UnsupportedRoutes.routes + DiscoveryRoutes.routes
      + PageRoutes.routes(picturePath)
  }

  /// The prefixes whose clients are programs, and get JSON.
  private static let endpoints = ["/oauth", "/passwordless", "/userinfo", "/.well-known"]

  package var prefixes: [String] {
    Self.endpoints + ["/authorize", "/oidc", "/v2", "/u", "/account"]
  }

  package var writtenFields: [WrittenField] { [.clientOrigin] }

  package var crossOrigin: CrossOriginFields {
    CrossOriginFields(
      sent: [
        .authorization, .contentType, FieldName("Auth0-Client"), FieldName("DPoP"),
        FieldName("X-Request-Language"), FieldName("X-Correlation-ID"), .requestID,
      ],
      exposed: [
        .retryAfter, .authenticate, .rateLimit, .rateLimitPolicy, .rateLimitQuota,
        .rateLimitRemaining, .rateLimitReset, .requestID,
      ]
    )
  }

  package var hasLimitCounters: Bool { true }

  @EventLoop package func app(of call: Call) -> AppReference { .host }

  @EventLoop package func response(to failure: Failure, of call: Call) -> Response {
    Self.isEndpoint(call.request.path)
      ? TokenError(failure).response(to: call) : FailurePages.response(to: failure, of: call)
  }

  private static func isEndpoint(_ path: Substring) -> Bool {
    endpoints.contains { path.utf8.starts(with: $0.utf8) } || UnsupportedRoutes.own(path)
  }

  package func page(for failure: Failure, at prefix: String) -> WebServerPage {
    Self.endpoints.contains(prefix)
      ? WebServerPage(.json, TokenError(failure).json.text)
      : FailurePages.webServerPage(for: failure)
  }
}
