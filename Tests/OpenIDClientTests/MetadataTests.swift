import JSON
import Testing

@testable import OpenIDClient

@Suite struct MetadataTests {
  private func read(
    _ document: [UInt8], _ preset: ProviderPreset = .oidc, issuer: String? = Fixtures.issuer
  ) throws(OpenIDClientError) -> ProviderMetadata {
    try ProviderMetadata(document, of: preset, Fixtures.settings(issuer: issuer))
  }

  @Test func `a document is read`() throws {
    let read = try read(
      Fixtures.document(
        Fixtures.issuer,
        [
          "end_session_endpoint": "https://issuer.example/end",
          "revocation_endpoint": "https://issuer.example/revoke",
          "authorization_response_iss_parameter_supported": true,
          "backchannel_logout_supported": true,
          "token_endpoint_auth_methods_supported": ["client_secret_post", 7],
          "response_types_supported": ["code", "id_token"],
        ]))
    #expect(read.issuer == Fixtures.issuer && read.keysURL == "https://issuer.example/keys")
    #expect(read.endSessionURL == "https://issuer.example/end" && read.promisesIssuer)
    #expect(read.revocationURL == "https://issuer.example/revoke")
    #expect(read.logsOutByBackchannel)
    #expect(read.authenticationMethods == ["client_secret_post"] && read.challengeMethods == nil)
  }

  @Test(
    arguments: [
      ("issuer", nil, "it has no issuer"), ("issuer", 7, "it has no issuer"),
      ("issuer", "https://other.example", "its issuer is not the configured one"),
      ("issuer", "https://issuer.example/", "its issuer is not the configured one"),
      ("issuer", "https://ISSUER.example", "its issuer is not the configured one"),
      ("authorization_endpoint", nil, "it has no authorization_endpoint"),
      ("token_endpoint", nil, "it has no token_endpoint"), ("jwks_uri", nil, "it has no jwks_uri"),
      ("token_endpoint", ["a"], "its token_endpoint is no text"),
      (
        "token_endpoint", "http://issuer.example/token",
        "its token_endpoint does not begin with https://"
      ),
      ("jwks_uri", "file:///etc/passwd", "its jwks_uri does not begin with https://"),
      ("jwks_uri", "https:///keys", "its jwks_uri has no host"),
      ("jwks_uri", "https://:443/keys", "its jwks_uri has no host"),
      ("userinfo_endpoint", "https://a:b@c.example", "its userinfo_endpoint has a user"),
      (
        "authorization_endpoint", "https://issuer.example/a#b",
        "its authorization_endpoint has a fragment"
      ),
      (
        "authorization_endpoint", "https://issuer.example/a\r\nSet-Cookie: b",
        "its authorization_endpoint is not ASCII without spaces"
      ),
      ("response_types_supported", ["id_token"], "its response_types_supported have no code"),
      (
        "token_endpoint_auth_methods_supported", "client_secret_basic",
        "its token_endpoint_auth_methods_supported is no list of at most 100 texts"
      ),
    ] as [(String, JSON?, String)])
  func `a document that breaks a rule is refused`(name: String, value: JSON?, rule: String) {
    #expect(throws: OpenIDClientError.invalidMetadata(rule: rule)) {
      try read(Fixtures.document(Fixtures.issuer, [name: value]))
    }
  }

  @Test(arguments: [
    ("[]", "it is not a JSON object"), ("<html>", "it is not a JSON object"),
    (#"{"issuer":"a","issuer":"b"}"#, "it is not a JSON object"),
    (String(repeating: " ", count: 65_537), "it is longer than 65536 bytes"),
  ])
  func `other answers are refused`(body: String, rule: String) {
    #expect(throws: OpenIDClientError.invalidMetadata(rule: rule)) { try read(Array(body.utf8)) }
  }

  @Test func `a URL has at most 2048 bytes, and a list 100 texts`() throws {
    let url = "https://issuer.example/" + String(repeating: "a", count: 2_048 - 23)
    #expect(throws: Never.self) {
      try read(Fixtures.document(Fixtures.issuer, ["jwks_uri": .string(url)]))
    }
    #expect(throws: OpenIDClientError.self) {
      try read(Fixtures.document(Fixtures.issuer, ["jwks_uri": .string(url + "a")]))
    }
    let list = JSON.array(Array(repeating: "S256", count: 101))
    #expect(throws: OpenIDClientError.self) {
      try read(Fixtures.document(Fixtures.issuer, ["code_challenge_methods_supported": list]))
    }
  }

  private static let microsoft = "https://login.microsoftonline.com"
  private static let tenant = "72f988bf-86f1-41af-91ab-2d7cd011db47"

  @Test(
    arguments: [
      (nil, "\(microsoft)/{tenantid}/v2.0", true), (nil, "\(microsoft)/\(tenant)/v2.0", true),
      (nil, "\(microsoft)/v2.0", false), (nil, "\(microsoft)/a/b/v2.0", false),
      (nil, "\(microsoft)/{tenantid}/v2.0/", false), (nil, "\(microsoft)/{other}/v2.0", false),
      (nil, "https://other.example/{tenantid}/v2.0", false),
      ("\(microsoft)/organizations/v2.0", "\(microsoft)/{tenantid}/v2.0", true),
      ("\(microsoft)/consumers/v2.0", "\(microsoft)/\(tenant)/v2.0", true),
      ("\(microsoft)/organizations/v2.0", "https://other.example/{tenantid}/v2.0", false),
    ] as [(String?, String, Bool)])
  func `an issuer with tenants states its template, or one of it`(
    configured: String?, stated: String, isAccepted: Bool
  ) {
    let read = try? read(Fixtures.document(stated), .microsoft, issuer: configured)
    #expect((read?.issuer == stated) == isAccepted)
  }

  @Test func `a template means nothing at other issuers`() {
    #expect(throws: OpenIDClientError.self) {
      try read(
        Fixtures.document("https://issuer.example/a"), issuer: "https://issuer.example/{tenantid}")
    }
  }

  @Test(arguments: ["https://www.linkedin.com", "https://www.linkedin.com/oauth"])
  func `an issuer with two names has one in identities`(stated: String) throws {
    let metadata = try read(Fixtures.document(stated), .linkedIn, issuer: nil)
    let provider = try Provider(.linkedIn, ProviderSettings(), metadata)
    #expect(provider.issuer == "https://www.linkedin.com/oauth")
  }

  @Test(arguments: [
    ("oidc", [String]?.none, ClientAuthentication.basic), ("oidc", ["client_secret_post"], .post),
    ("oidc", ["client_secret_post", "client_secret_basic"], .basic),
    ("oidc", ["private_key_jwt"], .basic), ("google", ["client_secret_basic"], .basic),
    ("google", [], .post), ("apple", ["client_secret_basic"], .signedSecret),
  ])
  func `the client authenticates as the issuer allows`(
    name: String, methods: [String]?, expected: ClientAuthentication
  ) throws {
    let provider = try Fixtures.provider(
      #require(.named(name)),
      ["token_endpoint_auth_methods_supported": methods.map { .array($0.map(JSON.string)) }])
    #expect(provider.authentication == expected)
  }
}
