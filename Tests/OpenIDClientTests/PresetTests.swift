import HTTP
import JSON
import Testing

@testable import OpenIDClient

@Suite struct PresetTests {
  @Test func `each preset is found by its name`() {
    let names = [
      "oidc", "oauth2", "apple", "discord", "facebook", "github", "gitlab", "google", "linkedin",
      "microsoft", "slack", "x",
    ]
    #expect(ProviderPreset.all.map(\.name) == names)
    for name in names { #expect(ProviderPreset.named(name)?.name == name) }
    #expect(ProviderPreset.named("Google") == nil)
  }

  @Test func `the names at Auth0 are those of its connections`() {
    let others = ProviderPreset.all.filter { $0.auth0Name != $0.name }.map(\.auth0Name)
    #expect(others == ["google-oauth2", "windowslive", "sign-in-with-slack", "twitter"])
  }

  @Test(arguments: ProviderPreset.all)
  func `a preset needs no settings but an issuer's`(preset: ProviderPreset) throws {
    var settings = Fixtures.settings(issuer: preset.issuer == nil ? Fixtures.issuer : nil)
    if preset.name == "oauth2" {
      (settings.authorizationURL, settings.tokenURL) = (
        "https://a.example/a", "https://a.example/t"
      )
      settings.userinfoURL = "https://a.example/u"
    }
    let stated = settings.issuer ?? preset.issuer ?? ""
    let metadata =
      preset.isDiscovered
      ? try ProviderMetadata(Fixtures.document(stated), of: preset, settings) : nil
    let provider = try Provider(preset, settings, metadata)
    #expect(provider.issuer == stated)
    #expect((provider.keysURL != nil) == preset.hasIDToken)
    #expect(!preset.usesNonce || preset.hasIDToken)
    #expect(preset.hasIDToken == (try preset.discoveryURL(settings) != nil))
    // An issuer without ID tokens must be asked for the profile.
    #expect(preset.hasIDToken || preset.profileSource == .userinfo)
    #expect(preset.consoleURL?.hasPrefix("https://") ?? true)
  }

  @Test(arguments: [
    ("https://issuer.example", "https://issuer.example/.well-known/openid-configuration"),
    ("https://issuer.example/a/", "https://issuer.example/a/.well-known/openid-configuration"),
  ])
  func `the discovery document is below the issuer`(issuer: String, url: String) throws {
    #expect(try ProviderPreset.oidc.discoveryURL(Fixtures.settings(issuer: issuer)) == url)
  }

  @Test(arguments: [
    "http://issuer.example", "issuer.example", "https://a@b", "https://", "https://a?b",
  ])
  func `the issuer of an operator must be an https URL`(issuer: String) {
    #expect(throws: OpenIDClientError.self) {
      try ProviderPreset.oidc.discoveryURL(Fixtures.settings(issuer: issuer))
    }
  }

  @Test func `an issuer with tenants is asked for that of all, or for the only one`() throws {
    func url(_ issuer: String?, _ tenants: [String]) throws -> String? {
      try ProviderPreset.microsoft.discoveryURL(Fixtures.settings(issuer: issuer, tenants: tenants))
    }
    let base = "https://login.microsoftonline.com"
    let end = "v2.0/.well-known/openid-configuration"
    #expect(try url(nil, []) == "\(base)/common/\(end)")
    #expect(try url(nil, ["a", "b"]) == "\(base)/common/\(end)")
    #expect(try url(nil, ["contoso.example"]) == "\(base)/contoso.example/\(end)")
    #expect(try url("\(base)/organizations/v2.0", []) == "\(base)/organizations/\(end)")
    // A tenant that would change the path is not filled in.
    #expect(try url(nil, ["../x"]) == "\(base)/{tenantid}/\(end)")
  }

  @Test func `an operator can move an issuer to endpoints of its own`() throws {
    var settings = Fixtures.settings(issuer: "https://github.corp.example")
    settings.authorizationURL = "https://github.corp.example/login/oauth/authorize"
    settings.tokenURL = "https://github.corp.example/login/oauth/access_token"
    settings.userinfoURL = "https://github.corp.example/api/v3/user"
    let provider = try Provider(.github, settings, nil)
    let urls = provider.userinfoRequests(
      after: nil, accessToken: "t", Fixtures.credentials
    ).map(\.url)
    #expect(
      urls == [
        "https://github.corp.example/api/v3/user", "https://github.corp.example/api/v3/user/emails",
      ])
    settings.tokenURL = "http://github.corp.example/t"
    #expect(
      throws: OpenIDClientError.invalidSettings(
        rule: "its token_url does not begin with https://")
    ) { try Provider(.github, settings, nil) }
    settings.allowsPlainHTTP = true
    #expect(try Provider(.github, settings, nil).tokenURL == "http://github.corp.example/t")
  }

  @Test func `a server of OAuth 2 needs each of its endpoints`() {
    var settings = Fixtures.settings(issuer: Fixtures.issuer)
    func rule() -> String? {
      #expect(throws: OpenIDClientError.self) { try Provider(.oauth2, settings, nil) }?.rule
    }
    #expect(rule() == "it has no authorization_url")
    settings.authorizationURL = "https://a.example/a"
    #expect(rule() == "it has no token_url")
    settings.tokenURL = "https://a.example/t"
    #expect(rule() == "it has no userinfo_url")
    (settings.userinfoURL, settings.issuer) = ("https://a.example/u", nil)
    #expect(rule() == "it has no issuer")
  }

  @Test func `only some issuers can be made to authenticate again`() {
    let names = ProviderPreset.all.filter(\.canForceSignIn).map(\.name)
    #expect(names == ["oidc", "gitlab", "microsoft"])
  }

  @Test func `the user signs out at the issuer's endpoint, if it has one`() throws {
    let endpoint: JSON = "https://issuer.example/end?a=1"
    let provider = try Fixtures.provider(.oidc, ["end_session_endpoint": endpoint])
    #expect(
      provider.signOutURL(clientID: "c", redirectURI: "https://a.example/?b", state: "s&t")
        == "https://issuer.example/end?a=1&client_id=c"
        + "&post_logout_redirect_uri=https%3A%2F%2Fa.example%2F%3Fb&state=s%26t")
    #expect(
      try Fixtures.provider().signOutURL(
        clientID: "c", redirectURI: "https://a.example", state: "s") == nil)
  }

  @Test func `cancellations have the codes of the issuer`() throws {
    #expect(try Fixtures.provider().isCancellation("access_denied"))
    #expect(try !Fixtures.provider().isCancellation("user_cancelled_login"))
    #expect(try Fixtures.provider(.linkedIn).isCancellation("user_cancelled_login"))
    #expect(try Fixtures.provider(.apple).isCancellation("user_cancelled_authorize"))
  }

  // MARK: The request

  private func query(
    _ provider: Provider, _ change: (inout AuthorizationRedirect) -> Void = { _ in }
  ) throws -> FormValues {
    var redirect = AuthorizationRedirect(
      clientID: "client", redirectURI: "https://app.example/u/callback/a", state: "s t&u")
    (redirect.nonce, redirect.verifier) = ("n", "v")
    (redirect.prompts, redirect.maximumAge) = (["login", "select_account"], 0)
    (redirect.loginHint, redirect.domain) = ("ada@example.com", "example.com")
    redirect.locales = ["de", "en"]
    change(&redirect)
    let url = redirect.url(at: provider)
    #expect(url.hasPrefix(provider.authorizationURL) && !url.contains(" "))
    return try #require(FormValues(url[...].split(separator: "?", maxSplits: 1)[1]))
  }

  @Test func `a request has all parameters of OpenID Connect`() throws {
    let query = try query(try Fixtures.provider())
    let expected = [
      "client_id": "client", "redirect_uri": "https://app.example/u/callback/a",
      "response_type": "code", "scope": "openid profile email", "state": "s t&u", "nonce": "n",
      // SHA-256 of "v".
      "code_challenge": "TJRIXgwhrmxBzh3-e2v6zupato5AokdvUCCOUm9QYIA",
      "code_challenge_method": "S256", "prompt": "login select_account", "max_age": "0",
      "login_hint": "ada@example.com", "ui_locales": "de en",
    ]
    #expect(Set(query.names) == Set(expected.keys))
    for (name, value) in expected { #expect(query[name] == value) }
  }

  @Test func `Discord asks for nothing again, unless the user wants another account`() throws {
    func prompt(_ given: [String]) throws -> String? {
      try query(Fixtures.provider(.discord)) { $0.prompts = given }["prompt"]
    }
    #expect(try prompt([]) == "none" && prompt(["login"]) == "none")
    #expect(try prompt(["select_account"]) == "consent")
  }

  @Test(arguments: [
    ("apple", ["scope": "name email", "response_mode": "form_post", "nonce": "n"]),
    ("discord", ["scope": "identify email", "prompt": "consent", "code_challenge_method": "S256"]),
    ("facebook", ["scope": "email", "code_challenge_method": "S256"]),
    (
      "github",
      [
        "scope": "user:email", "prompt": "select_account", "login": "ada@example.com",
        "code_challenge_method": "S256",
      ]
    ),
    (
      "google",
      [
        "scope": "openid profile email", "prompt": "select_account", "hd": "example.com",
        "login_hint": "ada@example.com", "nonce": "n", "code_challenge_method": "S256",
      ]
    ),
    ("linkedin", ["scope": "openid profile email"]),
    (
      "microsoft",
      [
        "scope": "openid profile email", "prompt": "login select_account", "nonce": "n",
        "domain_hint": "example.com", "login_hint": "ada@example.com",
        "code_challenge_method": "S256",
      ]
    ),
    ("slack", ["scope": "openid profile email", "nonce": "n"]),
    ("x", ["scope": "users.read tweet.read users.email", "code_challenge_method": "S256"]),
  ])
  func `a request has only what the issuer understands`(
    name: String, expected: [String: String]
  ) throws {
    let query = try query(Fixtures.provider(#require(.named(name))))
    let always: Set = ["client_id", "redirect_uri", "response_type", "state", "code_challenge"]
    for (name, value) in expected { #expect(query[name] == value) }
    #expect(Set(query.names).subtracting(always) == Set(expected.keys))
    #expect((query["code_challenge"] == nil) == (expected["code_challenge_method"] == nil))
  }

  @Test func `a query of the endpoint stays, and scopes keep openid`() throws {
    let endpoint = "https://issuer.example/authorize?p=b2c&q="
    let provider = try Fixtures.provider(
      .oidc, ["authorization_endpoint": .string(endpoint)])
    let query = try query(provider) { $0.scopes = ["email", "groups"] }
    #expect(query["p"] == "b2c" && query["scope"] == "openid email groups")
  }

  @Test(arguments: [([String]?.none, true), (["S256"], true), (["plain"], false), ([], false)])
  func `a code challenge is sent unless the issuer states other methods`(
    methods: [String]?, isSent: Bool
  ) throws {
    let provider = try Fixtures.provider(
      .oidc,
      ["code_challenge_methods_supported": methods.map { .array($0.map(JSON.string)) }])
    #expect(provider.usesPKCE == isSent)
    #expect(try (query(provider)["code_challenge"] != nil) == isSent)
  }
}

extension ProviderPreset: CustomTestStringConvertible {
  package var testDescription: String { name }
}
