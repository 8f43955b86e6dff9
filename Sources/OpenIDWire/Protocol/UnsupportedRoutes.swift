import HTTP
import WireKit

/// The endpoints of features that this server does not have, for SDKs that call them.
///
/// Each answers as Auth0 does to a client that may not use the feature.
enum UnsupportedRoutes {
  /// The paths with the grant types that they belong to.
  private static let grants: [(path: String, grant: String)] = [
    ("/oauth/device/code", "urn:ietf:params:oauth:grant-type:device_code"),
    ("/bc-authorize", "urn:openid:params:grant-type:ciba"),
    ("/passkey/register", "urn:okta:params:oauth:grant-type:webauthn"),
    ("/passkey/challenge", "urn:okta:params:oauth:grant-type:webauthn"),
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
