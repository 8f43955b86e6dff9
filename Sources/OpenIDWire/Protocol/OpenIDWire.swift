import AccountPages
import Accounts
import EventLoop
package import HTTP
import HostedPages
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
      + PasswordlessRoutes.routes + PasskeyRoutes.routes + CallbackRoutes.routes
      + UnsupportedRoutes.routes
      + DiscoveryRoutes.routes + PageRoutes.routes
  }

  /// The prefixes whose clients are programs, and get JSON.
  private static let endpoints = [
    "/oauth", "/passwordless", "/userinfo", "/.well-known", "/bc-authorize", "/passkey", "/mfa",
    "/otp",
  ]

  package var prefixes: [String] {
    Self.endpoints + ["/authorize", "/oidc", "/v2", "/u", "/account"]
  }

  package var fields: [FieldName] { [.fetchDestination, .fetchSite] + FieldName.purposes }

  package var crossOrigin: CrossOriginFields { .auth0 }

  @EventLoop package func app(of call: Call) -> AppReference { .host }

  @EventLoop package func response(to failure: Failure, of call: Call) -> Response {
    Self.isEndpoint(call.request.path) && !(failure.is(.routeNotFound) && call.request.wantsPage)
      ? TokenError(failure).response(to: call) : FailurePages.response(to: failure, of: call)
  }

  package func showsPages(at path: Substring) -> Bool { !Self.isEndpoint(path) }

  private static func isEndpoint(_ path: Substring) -> Bool {
    endpoints.contains { ServedWire.isOwned(path, below: $0) }
  }

  package func page(for failure: Failure, at prefix: String) -> WebServerPage {
    Self.endpoints.contains(prefix)
      ? WebServerPage(.json, TokenError(failure).json.text)
      : FailurePages.webServerPage(for: failure)
  }
}

/// The routes of all pages.
enum PageRoutes {
  static var routes: [Route] {
    let pages = MailLinkPages.routes + SignInPages.routes + AccountRoutes.routes
    return AssetRoutes.routes + AvatarRoutes.routes
      + pages.map { route in
        route.ofPage { (call) async throws(Failure) in
          await call.findProfileLanguage()
          call.mailInLanguageOfPage()
          return try await route.handler(call)
        }
      }
  }
}

extension Call {
  /// This server as the clients of the app know it.
  var provider: Provider {
    let (origin, master) = (issuerOrigin, context.keys.master)
    return Provider(issuer: issuer) { PicturePaths.url(of: $0, at: origin, master) }
  }
}

/// The endpoints of features that this server does not have, for SDKs that call them.
///
/// Each answers as Auth0 does to a client that may not use the feature.
enum UnsupportedRoutes {
  /// The paths with the grant types that they belong to.
  private static let grants: [(path: String, grant: String)] = [
    ("/oauth/device/code", "urn:ietf:params:oauth:grant-type:device_code"),
    ("/bc-authorize", "urn:openid:params:grant-type:ciba"),
    ("/mfa/associate", "http://auth0.com/oauth/grant-type/mfa-oob"),
    ("/mfa/challenge", "http://auth0.com/oauth/grant-type/mfa-oob"),
    ("/otp/challenge", "http://auth0.com/oauth/grant-type/passwordless/otp"),
    ("/oauth/par", "pushed_authorization_request"),
  ]
  private static let authenticators = "/mfa/authenticators"

  static let routes =
    grants.map { refusal(.post, $0.path, $0.grant) } + [
      refusal(.get, authenticators, "http://auth0.com/oauth/grant-type/mfa-oob")
    ]

  private static func refusal(_ method: Method, _ path: String, _ grant: String) -> Route {
    Route(
      method, path, access: .open,
      body: method == .get ? .none : BodyRule.token.lenient(assuming: .json),
      summary: "Refuse a feature that this server does not have"
    ) { call in
      TokenError(
        .forbidden, "unauthorized_client", "Grant type '\(grant)' not allowed for the client."
      ).response(to: call)
    }
  }
}
