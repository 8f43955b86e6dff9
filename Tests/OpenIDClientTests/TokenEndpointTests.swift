import Crypto
import Encoding
import HTTP
import JSON
import OpenIDClient
import Testing
import WebTokens

@Suite struct TokenEndpointTests {
  // MARK: Requests

  private func request(
    _ provider: Provider, _ secret: ClientSecret = .text("s&t"), verifier: String? = verifier
  ) throws -> TokenRequest {
    let uri = "https://app.example/cb?a=1"
    return try TokenRequest(
      exchanging: CodeGrant("c+d", redirectURI: uri, verifier: verifier),
      ClientCredentials(id: "client", secret: secret), at: provider, now: Fixtures.now)
  }

  private static let verifier = "aZ09-._~" + String(repeating: "v", count: 35)

  private let members = [
    "grant_type": "authorization_code", "code": "c+d",
    "redirect_uri": "https://app.example/cb?a=1", "code_verifier": verifier,
  ]

  private func values(_ request: TokenRequest) throws -> [String: String] {
    let form = try #require(FormValues(request.form[...]))
    return Dictionary(uniqueKeysWithValues: form.pairs.map { ($0.name, $0.value) })
  }

  @Test func `the client authenticates by a field`() throws {
    let request = try request(Fixtures.provider())
    #expect(request.url == "https://issuer.example/token")
    #expect(request.basic?.user == "client" && request.basic?.password == "s&t")
    #expect(try values(request) == members)
  }

  @Test func `the client authenticates by the form`() throws {
    let request = try request(Fixtures.provider(.github))
    #expect(request.basic == nil)
    #expect(
      try values(request)
        == members.merging(["client_id": "client", "client_secret": "s&t"]) { $1 })
  }

  @Test func `a public client names itself`() throws {
    for preset in [ProviderPreset.oidc, .github] {
      let request = try request(Fixtures.provider(preset), .none)
      #expect(request.basic == nil)
      #expect(try values(request) == members.merging(["client_id": "client"]) { $1 })
    }
  }

  @Test func `the code of an SDK needs neither redirect URI nor verifier`() throws {
    let request = try TokenRequest(
      exchanging: CodeGrant("c"), Fixtures.credentials, at: Fixtures.provider(), now: Fixtures.now)
    #expect(try values(request) == ["grant_type": "authorization_code", "code": "c"])
  }

  @Test(
    arguments: [
      ("a \u{21}~", nil, nil, nil), (String(repeating: "c", count: 4_096), nil, nil, nil),
      ("", nil, nil, "it is not 1 to 4096 printable characters of ASCII"),
      (
        String(repeating: "c", count: 4_097), nil, nil,
        "it is not 1 to 4096 printable characters of ASCII"
      ),
      ("a\u{0}b", nil, nil, "it is not 1 to 4096 printable characters of ASCII"),
      ("a\u{7f}", nil, nil, "it is not 1 to 4096 printable characters of ASCII"),
      ("é", nil, nil, "it is not 1 to 4096 printable characters of ASCII"),
      ("c", "https://app.example/é", nil, "its redirect_uri has other characters than a URL"),
      ("c", "https://app.example/ ", nil, "its redirect_uri has other characters than a URL"),
      ("c", nil, 42, "its code_verifier is not 43 to 128 unreserved characters"),
      ("c", nil, 128, nil),
      ("c", nil, 129, "its code_verifier is not 43 to 128 unreserved characters"),
    ] as [(String, String?, Int?, String?)])
  func `a text with other characters than its rule allows is not sent on`(
    code: String, uri: String?, length: Int?, rule: String?
  ) {
    let verifier = length.map { String(repeating: "v", count: $0) }
    let error = (try? CodeGrant(code, redirectURI: uri, verifier: verifier)) == nil ? rule : nil
    #expect(error == rule)
    guard let rule else { return }
    #expect(throws: OpenIDClientError.invalidGrant(rule: rule)) {
      try CodeGrant(code, redirectURI: uri, verifier: verifier)
    }
  }

  @Test(arguments: ["+", "/", "=", " ", "%", "é", "\u{0}"])
  func `a verifier has unreserved characters only`(other: String) {
    #expect(throws: OpenIDClientError.self) {
      try CodeGrant("c", verifier: String(repeating: "v", count: 60) + other)
    }
  }

  @Test func `a signed secret has the claims that Apple demands`() throws {
    let key = P256.Signing.PrivateKey()
    let secret = try ClientSecretKey(pem: key.pemRepresentation, keyID: "KEY1", teamID: "TEAM1")
    let request = try request(Fixtures.provider(.apple), .key(secret), verifier: nil)
    let form = try values(request)
    #expect(request.basic == nil && form["client_id"] == "client")
    let token = try #require(form["client_secret"].flatMap(SignedToken.init))
    #expect(JSON.object(token.head) == ["alg": "ES256", "kid": "KEY1", "typ": "JWT"])
    #expect(
      JSON.object(token.claims) == [
        "iss": "TEAM1", "sub": "client", "aud": "https://appleid.apple.com",
        "iat": .number(JSONNumber(Fixtures.now)), "exp": .number(JSONNumber(Fixtures.now + 300)),
      ])
    let point = Array(key.publicKey.rawRepresentation)
    let jwk: JSON = [
      "kty": "EC", "crv": "P-256", "kid": "KEY1", "x": .string(Array(point[..<32]).base64URL),
      "y": .string(Array(point[32...]).base64URL),
    ]
    #expect(IssuerKeys(set: ["keys": [jwk]]).verify(token))
  }

  @Test func `a key that cannot sign such secrets is refused`() {
    let pem = P256.Signing.PrivateKey().pemRepresentation
    let refused = [
      ("x", "KEY1", "TEAM1"), (P384.Signing.PrivateKey().pemRepresentation, "KEY1", "TEAM1"),
      (P256.Signing.PrivateKey().publicKey.pemRepresentation, "KEY1", "TEAM1"),
      (pem, "", "TEAM1"), (pem, "KEY1", "TEAM 1"),
      (pem, String(repeating: "a", count: 65), "TEAM1"),
    ]
    for (pem, key, team) in refused {
      #expect(throws: OpenIDClientError.self) {
        try ClientSecretKey(pem: pem, keyID: key, teamID: team)
      }
    }
  }

  @Test func `a secret of another kind is refused`() throws {
    let key = try ClientSecretKey(
      pem: P256.Signing.PrivateKey().pemRepresentation, keyID: "K", teamID: "T")
    #expect(throws: OpenIDClientError.self) { try request(Fixtures.provider(), .key(key)) }
    #expect(throws: OpenIDClientError.self) { try request(Fixtures.provider(.apple), .text("s")) }
    #expect(throws: OpenIDClientError.self) { try request(Fixtures.provider(.apple), .none) }
  }

  @Test func `a refresh token is revoked where the issuer allows it`() throws {
    let provider = try Fixtures.provider(
      .oidc, ["revocation_endpoint": "https://issuer.example/revoke"])
    let revocation = try TokenRequest(
      revoking: "t", Fixtures.credentials, at: provider, now: Fixtures.now)
    let request = try #require(revocation)
    #expect(request.url == "https://issuer.example/revoke" && request.basic?.user == "client")
    #expect(try values(request) == ["token": "t", "token_type_hint": "refresh_token"])
    let none = try TokenRequest(
      revoking: "t", Fixtures.credentials, at: Fixtures.provider(), now: Fixtures.now)
    #expect(none == nil)
  }

  @Test func `the endpoint of a preset counts unless the issuer names another`() throws {
    #expect(try Fixtures.provider(.apple).revocationURL == "https://appleid.apple.com/auth/revoke")
    let named = try Fixtures.provider(
      .apple, ["revocation_endpoint": "https://appleid.apple.com/elsewhere"])
    #expect(named.revocationURL == "https://appleid.apple.com/elsewhere")
  }

  @Test(
    arguments: [
      (200, "", nil), (204, "", nil), (400, #"{"error":"invalid_grant"}"#, nil),
      (400, #"{"error":"unsupported_token_type"}"#, nil),
      (400, #"{"error":"invalid_client","error_description":"d"}"#, "invalid_client: d"),
      (400, #"{"error":"unauthorized_client"}"#, "unauthorized_client"),
      (401, #"{"error":"invalid_token"}"#, "invalid_token"),
      (400, "<html>", "its status is 400"), (302, "", "its status is 302"),
      (503, #"{"error":"invalid_grant"}"#, "its status is 503"),
    ] as [(Int, String, String?)])
  func `a revocation ends with the answer that the token is not valid`(
    status: Int, body: String, rule: String?
  ) {
    var found: String?
    do throws(OpenIDClientError) {
      try TokenResponse.verifyRevocation(status: status, body: Array(body.utf8))
    } catch {
      found = error.rule
    }
    let isRefused = rule.map { !$0.contains("status") } ?? false
    #expect(found == rule.map { isRefused ? "the issuer answered \($0)" : $0 })
  }

  // MARK: Answers

  private func answer(
    _ body: String, status: Int = 200, _ preset: ProviderPreset = .github
  ) throws -> TokenResponse {
    try TokenResponse(status: status, body: Array(body.utf8), of: Fixtures.provider(preset))
  }

  @Test func `an answer in JSON and one in a form are read`() throws {
    let json = try answer(
      #"{"access_token":"a","token_type":"Bearer","id_token":"i","refresh_token":"r","scope":"b c"}"#,
      .oidc)
    #expect(json.accessToken == "a" && json.idToken == "i" && json.refreshToken == "r")
    #expect(json.scopes == ["b", "c"])
    let form = try answer("access_token=a&scope=repo%2Cgist&token_type=bearer")
    #expect(form.accessToken == "a" && form.idToken == nil && form.scopes == ["repo", "gist"])
  }

  @Test(
    arguments: [
      (
        200, #"{"error":"bad_verification_code","error_description":"It has expired."}"#,
        "bad_verification_code", "It has expired."
      ),
      (400, #"{"error":"invalid_grant"}"#, "invalid_grant", nil),
      (401, #"{"error":"invalid_client"}"#, "invalid_client", nil),
      (200, "error=incorrect_client_credentials", "incorrect_client_credentials", nil),
      (200, #"{"ok":false,"error":"invalid_code"}"#, "invalid_code", nil),
      (
        400, #"{"error":{"message":"Bad","type":"OAuthException","code":100}}"#, "OAuthException",
        "Bad"
      ),
      (200, #"{"access_token":"a","error":"x y"}"#, "unknown_error", nil),
    ] as [(Int, String, String, String?)])
  func `an error counts with any status`(
    status: Int, body: String, code: String, description: String?
  ) {
    #expect(throws: OpenIDClientError.refused(code: code, description: description)) {
      try answer(body, status: status)
    }
  }

  @Test(arguments: [
    (500, "", "its status is 500"), (302, #"{"access_token":"a"}"#, "its status is 302"),
    (200, "<html>", "it is neither a JSON object nor a form"),
    (200, "[]", "it is neither a JSON object nor a form"), (200, "{}", "it has no access_token"),
    (200, #"{"access_token":null}"#, "it has no access_token"),
    (200, #"{"access_token":""}"#, "its access_token is not 1 to 16384 visible characters"),
    (200, #"{"access_token":"a\r\nb"}"#, "its access_token is not 1 to 16384 visible characters"),
    (200, #"{"access_token":"a","token_type":"DPoP"}"#, "its token_type is not bearer"),
  ])
  func `other answers are refused`(status: Int, body: String, rule: String) {
    #expect(throws: OpenIDClientError.invalidTokenResponse(rule: rule)) {
      try answer(body, status: status)
    }
  }

  @Test func `an issuer of OpenID Connect must send an ID token, which has a limit`() throws {
    #expect(throws: OpenIDClientError.invalidTokenResponse(rule: "it has no id_token")) {
      try answer(#"{"access_token":"a"}"#, .oidc)
    }
    let token = String(repeating: "a", count: 16_384)
    #expect(try answer(#"{"access_token":"a","id_token":"\#(token)"}"#, .oidc).idToken == token)
    #expect(throws: OpenIDClientError.self) {
      try answer(#"{"access_token":"a","id_token":"\#(token)a"}"#, .oidc)
    }
  }
}
