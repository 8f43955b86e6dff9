import Declarations
import HTTP
import JSON
import Pages

/// An endpoint of OpenID Connect, for OpenAPI and for its page in the reference.
///
/// The wire of OpenID Connect serves it by its own rules. A test compares these endpoints with the
/// configuration that the wire publishes.
struct OpenIDEndpoint: Sendable {
  let method: Method
  let path: String
  let id: String
  let summary: String
  let description: String
  /// Parameters of the query.
  var query: [(name: String, says: String, isRequired: Bool)] = []
  /// The form in the body.
  var form: Shape?
  var answer: (status: Status, says: String, shape: Shape?)
  /// Whether the user's access token is sent.
  var isOfUser = false

  static let title = "OpenID Connect"
  static let summary = "The endpoints for OpenID Connect libraries. Errors are those of OAuth 2.0."

  static let all = [
    OpenIDEndpoint(
      method: .get, path: "/.well-known/openid-configuration", id: "openid.getConfiguration",
      summary: "Read the endpoints and abilities of the issuer",
      description: "Libraries need the issuer alone, and read the rest here.",
      answer: (.ok, "The configuration.", .openIDConfiguration)),
    OpenIDEndpoint(
      method: .get, path: "/.well-known/jwks.json", id: "openid.getKeys",
      summary: "Read the keys that verify ID tokens and access tokens",
      description: "Keys rotate, so read them again for an unknown `kid`.",
      answer: (.ok, "The keys.", .openIDKeys)),
    OpenIDEndpoint(
      method: .get, path: "/authorize", id: "openid.authorize",
      summary: "Sign a user in on the pages of the app",
      description: "Send the browser here. It returns to `redirect_uri` with a `code`.",
      query: [
        ("client_id", "the id of the client", true),
        ("redirect_uri", "a callback URL of the client", true),
        ("response_type", "`code`", true),
        ("scope", "such as `openid profile email offline_access`", false),
        ("state", "returned to the client, which compares it", false),
        ("nonce", "a claim of the ID token, which the client compares", false),
        ("code_challenge", "the SHA-256 of the code verifier, in base64url", false),
        ("code_challenge_method", "`S256`", false),
        ("audience", "the identifier of the API that the access token is for", false),
        ("prompt", "`none`, `login` or `consent`", false),
        ("max_age", "the maximum number of seconds since the user signed in", false),
        ("login_hint", "the email address to begin with", false),
        ("ui_locales", "the languages of the user", false),
      ],
      answer: (.seeOther, "The browser goes to the pages, or back to the client.", nil)),
    OpenIDEndpoint(
      method: .post, path: "/oauth/token", id: "openid.createTokens",
      summary: "Exchange a code, a refresh token or a client's secret for tokens",
      description: "A client with a secret sends it here, or by HTTP Basic authentication.",
      form: .openIDTokenRequest, answer: (.ok, "The tokens.", .openIDTokens)),
    OpenIDEndpoint(
      method: .get, path: "/userinfo", id: "openid.getUserInfo",
      summary: "Read the claims about the user",
      description: "The access token has the scope `openid`. Other scopes give more claims.",
      answer: (.ok, "The claims.", .openIDUserInfo), isOfUser: true),
    OpenIDEndpoint(
      method: .post, path: "/oauth/revoke", id: "openid.revokeToken",
      summary: "End the session of a refresh token",
      description: "An unknown token is no error (RFC 7009).",
      form: .openIDToken, answer: (.ok, "The session has ended.", nil)),
    OpenIDEndpoint(
      method: .post, path: "/oauth/introspect", id: "openid.introspectToken",
      summary: "Tell a back end whether a token is valid",
      description: "For back ends that do not verify tokens by the keys (RFC 7662).",
      form: .openIDToken, answer: (.ok, "The claims of the token.", .openIDIntrospection)),
    OpenIDEndpoint(
      method: .get, path: "/oidc/logout", id: "openid.signOut",
      summary: "Sign the user of the browser out",
      description: "Send the browser here. It returns to `post_logout_redirect_uri`.",
      query: [
        ("id_token_hint", "an ID token of the user, so that no page asks", false),
        ("client_id", "the id of the client", false),
        ("post_logout_redirect_uri", "a logout URL of the client", false),
        ("state", "returned to the client", false),
      ],
      answer: (.seeOther, "The browser goes to a page, or back to the client.", nil)),
  ]

  static let shapes: [Shape] =
    all.flatMap { [$0.form, $0.answer.shape].compactMap(\.self) }
    + [.openIDError]

  // MARK: OpenAPI

  /// Returns the operation in OpenAPI.
  var object: JSON {
    var object: JSONObject = JSONObject([
      ("operationId", .string(id)), ("summary", .string(summary)),
      ("description", .string(description)), ("tags", [.string(Self.title)]),
      ("security", isOfUser ? [["user": ["openid"]]] : []),
    ])
    if !query.isEmpty {
      object["parameters"] = .array(
        query.map { name, says, isRequired in
          [
            "name": .string(name), "in": "query", "description": .string(says.sentence),
            "required": .bool(isRequired), "schema": ["type": "string"],
          ]
        })
    }
    if let form {
      object["requestBody"] = [
        "required": true, "description": .string("Also as application/json."),
        "content": ["application/x-www-form-urlencoded": ["schema": form.reference]],
      ]
    }
    var success = JSONObject([("description", .string(answer.says))])
    if let shape = answer.shape {
      success["content"] = ["application/json": ["schema": shape.reference]]
    }
    var responses = JSONObject([(String(answer.status.code), .object(success))])
    if answer.status == .ok {
      responses["default"] = [
        "description": "The request failed (RFC 6749).",
        "content": ["application/json": ["schema": Shape.openIDError.reference]],
      ]
    }
    object["responses"] = .object(responses)
    return .object(object)
  }
}

extension PageBuilder {
  /// The page of the endpoints of OpenID Connect.
  var openID: Page {
    Page(
      slug: Page.slug(OpenIDEndpoint.title), title: OpenIDEndpoint.title,
      summary: OpenIDEndpoint.summary,
      words: "OIDC OAuth SSO single sign-on social login redirect hosted pages",
      introduction: """
        <p>Use an OpenID Connect library, which calls these endpoints. It needs the issuer,
        <code>\(Reference.origin)/</code>, and the id of a client. Each app of the deployment has its
        own issuer.</p>
        """,
      sections: OpenIDEndpoint.all.map(section))
  }

  private func section(of endpoint: OpenIDEndpoint) -> Section {
    let method = endpoint.method.rawValue
    let query = endpoint.query.map { name, says, isRequired -> Markup in
      let need = isRequired ? "required" : "optional"
      return """
        <li><code class="name">\(name)</code> <span class="\(need)">\(need)</span>\
        <p>\(prose: says.sentence)</p></li>
        """
    }
    let kind = endpoint.answer.shape.map { notation(of: $0.reference) }
    return Section(
      id: endpoint.id, title: endpoint.summary, detail: "\(method) \(endpoint.path)",
      isRoute: true, words: endpoint.path,
      content: """
        <p class="route"><b class="\(method.lowercased())">\(method)</b> \
        <code>\(endpoint.path)</code></p>
        <p>\(prose: endpoint.description)</p>
        \(list("Query", query))
        \(endpoint.form.map { "<h3>Body</h3><p>\(notation(of: $0.reference)), as a form.</p>" })
        <h3>Responses</h3><ul class="members"><li>\
        <code class="name">\(endpoint.answer.status.code)</code> \
        <span class="kind">\(kind)</span><p>\(prose: endpoint.answer.says)</p></li></ul>
        """,
      examples: endpoint.path.hasPrefix("/.well-known")
        ? [.figure("curl", "curl \"$B\(endpoint.path)\"")] : [])
  }
}

extension Shape {
  fileprivate static let openIDConfiguration = Shape.object([
    "issuer": .text.saying("the `iss` of tokens"), "authorization_endpoint": .text,
    "token_endpoint": .text, "userinfo_endpoint": .text, "jwks_uri": .text,
    "end_session_endpoint": .text, "revocation_endpoint": .text, "introspection_endpoint": .text,
  ]).named("OpenIDConfiguration", "The configuration of an issuer (OpenID Connect Discovery 1.0).")

  fileprivate static let openIDKeys = Shape.object(["keys": .list(of: .map(of: .any))])
    .named("OpenIDKeys", "The public keys of an issuer (RFC 7517).")

  fileprivate static let openIDTokenRequest = Shape.object(
    [
      "grant_type": .text.saying(
        "`authorization_code`, `refresh_token`, `client_credentials`, or a grant of the app")
    ],
    optional: [
      "client_id": .text.saying("the id of the client"),
      "client_secret": .text.saying("the secret of a client that has one"),
      "code": .text.saying("the code that `redirect_uri` got"),
      "redirect_uri": .text.saying("the callback URL of the request for the code"),
      "code_verifier": .text.saying("the verifier of the `code_challenge`"),
      "refresh_token": .text.saying("the refresh token, which works once"),
      "scope": .text.saying("fewer scopes than before"),
      "audience": .text.saying("the identifier of the API that the access token is for"),
    ]
  ).named("OpenIDTokenRequest", "A grant that a client exchanges for tokens (RFC 6749).")

  fileprivate static let openIDTokens = Shape.object(
    ["access_token": .text.saying("a JWT"), "token_type": .text, "expires_in": .count],
    optional: [
      "id_token": .text.saying("with the scope `openid`"),
      "refresh_token": .text.saying("with the scope `offline_access`"), "scope": .text,
    ]
  ).named("OpenIDTokens", "The tokens of an OpenID Connect client.")

  fileprivate static let openIDToken = Shape.object(
    ["token": .text],
    optional: [
      "token_type_hint": .text, "client_id": .text.saying("the id of the client"),
      "client_secret": .text.saying("the secret of a client that has one"),
    ]
  ).named("OpenIDTokenReference", "A token, and the client that sends it.")

  fileprivate static let openIDIntrospection = Shape.object(
    ["active": .flag.saying("whether the token is valid")],
    optional: ["sub": .text.saying("the id of the user"), "scope": .text]
  ).named("OpenIDIntrospection", "The claims of a token (RFC 7662). Others may follow.")

  fileprivate static let openIDUserInfo = Shape.object(
    ["sub": .text.saying("the id of the user")],
    optional: ["name": .text, "email": .text, "email_verified": .flag, "picture": .text]
  ).named("OpenIDUserInfo", "The claims about a user. Scopes and the app give more.")

  fileprivate static let openIDError = Shape.object(
    ["error": .text.saying("the code of the error")],
    optional: ["error_description": .text.saying("the cause and the remedy")]
  ).named("OpenIDError", "An error of OAuth 2.0.")
}
