import Tenancy
import EventLoop
import HTTP
import HostedPages
import JSON
import Localization
import OpenID
import Passkeys
import Runtime
import WireKit

/// The documents by which clients find the endpoints and the keys of an issuer, and what belongs to
/// an app.
///
/// - Source: OpenID Connect Discovery 1.0 sections 3 and 4; RFC 8414.
@EventLoop enum DiscoveryRoutes {
  nonisolated static let routes =
    ["openid-configuration", "oauth-authorization-server"].map { name in
      Route(
        .get, "/.well-known/\(name)", access: .open, isCrossOrigin: false,
        summary: "Describe the endpoints of the issuer"
      ) { call throws(Failure) in
        document(description(of: call.issuerOrigin, in: call.context.app, call.pages.languages))
      }
    } + [
      Route(
        .get, "/.well-known/jwks.json", access: .open, isCrossOrigin: false,
        summary: "Read the public keys of the issuer"
      ) { call async throws(Failure) in
        let context = call.context
        // The first request creates the key.
        _ = try await context.keys.signer(for: context.app.id, .openID)
        let keys = try await PublicKey.all(for: .openID, of: context.app.name, context)
        return readable(Response(keySet: keys))
      }
    ]
    + AssociationFile.allCases.map { file in
      Route(
        .get, file.path, access: .open, isCrossOrigin: false,
        summary: "Read the file \(file.rawValue), which browsers and phones ask for"
      ) { call throws(Failure) in
        guard let content = file.content(of: call.context.app, at: call.issuerOrigin) else {
          throw .notFound
        }
        return document(content)
      }
    }

  /// Returns a public document, which clients may keep for a short time.
  private static func document(_ json: JSON) -> Response {
    var response = Response(.ok)
    response.body = json.serialized()
    response.add(.contentType, "application/json")
    response.add(.cacheControl, "public, max-age=300")
    return readable(response)
  }

  /// Lets the pages of all origins read the response, which has no secret.
  private static func readable(_ response: Response) -> Response {
    var response = response
    response.add(.accessAllowOrigin, literal: "*")
    return response
  }

  private static func description(
    of origin: String, in app: App, _ languages: Languages
  ) -> JSON {
    func list(_ words: [String]) -> JSON { .array(words.map(JSON.string)) }
    let secrets = ["client_secret_basic", "client_secret_post", "private_key_jwt"]
    let methods = list(secrets + ["none"])
    let signIn = SignInMethods(app, nil)
    let classes = AuthenticationClass.allCases.filter { $0.isOffered(by: signIn) }
    return [
      "issuer": .string("\(origin)/"),
      "authorization_endpoint": .string("\(origin)/authorize"),
      "token_endpoint": .string("\(origin)/oauth/token"),
      "userinfo_endpoint": .string("\(origin)/userinfo"),
      "jwks_uri": .string("\(origin)/.well-known/jwks.json"),
      "revocation_endpoint": .string("\(origin)/oauth/revoke"),
      "introspection_endpoint": .string("\(origin)/oauth/introspect"),
      "end_session_endpoint": .string("\(origin)/oidc/logout"),
      "scopes_supported": list(StandardScope.allCases.map(\.rawValue) + Scopes.ofUser),
      "response_types_supported": ["code"],
      "response_modes_supported": list(ResponseMode.allCases.map(\.rawValue)),
      "grant_types_supported": list(
        StandardGrant.allCases.map(\.rawValue) + DirectGrant.allCases.map(\.rawValue)
      ),
      "code_challenge_methods_supported": ["S256"],
      "subject_types_supported": ["public"],
      "id_token_signing_alg_values_supported": ["RS256"],
      "token_endpoint_auth_methods_supported": methods,
      "revocation_endpoint_auth_methods_supported": methods,
      "introspection_endpoint_auth_methods_supported": list(secrets),
      "token_endpoint_auth_signing_alg_values_supported": [
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
      ],
      "claims_supported": list([
        "sub", "iss", "aud", "exp", "iat", "auth_time", "nonce", "sid", "acr", "amr", "at_hash",
        "name", "given_name", "family_name", "nickname", "preferred_username", "picture", "locale",
        "zoneinfo", "updated_at", "email", "email_verified", "phone_number",
        "phone_number_verified",
      ]),
      "acr_values_supported": list(classes.map(\.rawValue)),
      "prompt_values_supported": list(Prompt.allCases.map(\.rawValue)),
      "ui_locales_supported": list(languages.catalogs.map(\.language)),
      "authorization_response_iss_parameter_supported": true,
      "claims_parameter_supported": false,
      "request_parameter_supported": false,
      "request_uri_parameter_supported": false,
      "backchannel_logout_supported": true,
      "backchannel_logout_session_supported": true,
    ]
  }
}
