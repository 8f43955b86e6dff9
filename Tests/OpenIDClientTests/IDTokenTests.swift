import Crypto
import Encoding
import JSON
import OpenIDClient
import Testing
import WebTokens

@Suite struct IDTokenTests {
  private let now = Fixtures.now

  private func rules(
    _ provider: Provider, _ nonce: IDTokenRules.NonceRule = .exactly("n"),
    audiences: [String] = ["client"], accessToken: String? = "access"
  ) -> IDTokenRules {
    IDTokenRules(provider, audiences: audiences, nonce: nonce, accessToken: accessToken)
  }

  private func verify(_ changes: [String: JSON?] = [:]) throws -> IDTokenClaims {
    try rules(Fixtures.provider()).verify(Fixtures.token(changes), now: now)
  }

  private static func seconds(_ offset: Int) -> JSON {
    .number(JSONNumber(Fixtures.now + offset))
  }

  @Test func `a token that keeps all rules is read`() throws {
    let claims = try verify([
      "auth_time": Self.seconds(-30), "amr": ["mfa", 7, "pwd"], "sid": "session", "azp": "client",
    ])
    #expect(claims.issuer == Fixtures.issuer && claims.subject == "ada")
    #expect(claims.authenticatedAt == now - 30 && claims.methods == ["mfa", "pwd"])
    #expect(claims.sessionID == "session" && claims.members["azp"] == "client")
    let least = try verify()
    #expect(least.authenticatedAt == nil && least.methods == [] && least.sessionID == nil)
  }

  @Test(
    arguments: [
      ("azp", "phone-app", "its azp is not the client"),
      ("iss", nil, "its iss is not the issuer"), ("iss", 7, "its iss is not the issuer"),
      ("iss", "https://other.example", "its iss is not the issuer"),
      ("iss", "https://issuer.example/", "its iss is not the issuer"),
      ("aud", nil, "its aud is not the client"), ("aud", "other", "its aud is not the client"),
      ("aud", [], "its aud is not the client"),
      ("aud", ["client", 7], "its aud is not the client"),
      ("aud", ["other"], "its aud is not the client"),
      (
        "aud", ["client", "other"], "it has several audiences, and its azp is not the client"
      ),
      ("exp", nil, "it lacks exp or iat"), ("iat", nil, "it lacks exp or iat"),
      ("exp", "1800000600", "its exp is no time"), ("exp", -1, "its exp is no time"),
      ("exp", .number(JSONNumber("1e300")), "its exp is no time"),
      ("exp", seconds(-60), "its exp is in the past"),
      ("iat", seconds(61), "its iat is in the future"),
      ("nbf", seconds(61), "its nbf is in the future"), ("nbf", "x", "its nbf is no time"),
      ("auth_time", seconds(61), "its auth_time is in the future"),
      ("auth_time", "now", "its auth_time is no time"),
      ("nonce", nil, "its nonce is not that of the request"),
      ("nonce", "N", "its nonce is not that of the request"),
      ("nonce", 7, "its nonce is not that of the request"),
      ("sub", nil, "its sub is not a text of 1 to 255 bytes"),
      ("sub", "", "its sub is not a text of 1 to 255 bytes"),
      ("sub", 7, "its sub is not a text of 1 to 255 bytes"),
      (
        "sub", .string(String(repeating: "a", count: 256)),
        "its sub is not a text of 1 to 255 bytes"
      ),
      ("sub", "a\nb", "its sub is not a text of 1 to 255 bytes"),
      (
        "events", ["http://schemas.openid.net/event/backchannel-logout": [:]],
        "it is a logout token"
      ),
      ("at_hash", "x", "its at_hash is not that of the access token"),
      ("at_hash", 7, "its at_hash is not that of the access token"),
    ] as [(String, JSON?, String)])
  func `a token that breaks a rule is refused`(name: String, value: JSON?, rule: String) {
    #expect(throws: OpenIDClientError.invalidIDToken(rule: rule)) { try verify([name: value]) }
  }

  @Test(
    arguments: [
      ("exp", seconds(-59)), ("iat", seconds(60)), ("nbf", seconds(60)), ("auth_time", seconds(60)),
      ("exp", .number(JSONNumber("1800000000.5"))), ("aud", ["client"]), ("nbf", nil),
    ] as [(String, JSON?)])
  func `clocks may differ by a minute, and a list may have one audience`(
    name: String, value: JSON?
  ) throws {
    #expect(try verify([name: value]).authenticatedAt ?? 0 <= now)
  }

  @Test func `several audiences need our azp`() throws {
    #expect(throws: Never.self) { try verify(["aud": ["other", "client"], "azp": "client"]) }
    #expect(throws: OpenIDClientError.self) {
      try verify(["aud": ["other", "client"], "azp": "other"])
    }
  }

  @Test func `a token may be for a native app of the connection`() throws {
    let rules = rules(try Fixtures.provider(), .unused, audiences: ["client", "phone"])
    #expect(throws: Never.self) { try rules.verify(Fixtures.token(["aud": "phone"]), now: now) }
  }

  @Test(arguments: [
    #"{"alg":"none"}"#, #"{"alg":"HS256"}"#, #"{}"#, #"{"alg":"RS1"}"#, #"{"alg":["RS256"]}"#,
    #"{"alg":"RS256","typ":"at+jwt"}"#, #"{"alg":"RS256","crit":["b64"],"b64":false}"#,
    #"{"alg":"None"}"#, #"{"alg":"rs256"}"#,
  ])
  func `a head without a public key's algorithm is refused`(head: String) {
    #expect(throws: OpenIDClientError.self) { try Fixtures.token(head: head) }
  }

  @Test(arguments: ["", "a.b", "a.b.c", String(repeating: "a", count: 16_385)])
  func `a text that is no token is refused`(text: String) {
    #expect(
      throws: OpenIDClientError.invalidIDToken(rule: "it is not a JWT of at most 16384 bytes")
    ) { try IDTokenRules.parse(text) }
  }

  @Test func `at_hash is half of the hash that the algorithm has`() throws {
    let access = Array("access".utf8)
    let halves = [
      ("ES256", Array(SHA256.hash(data: access).prefix(16))),
      ("PS384", Array(SHA384.hash(data: access).prefix(24))),
      ("RS512", Array(SHA512.hash(data: access).prefix(32))),
      ("EdDSA", Array(SHA512.hash(data: access).prefix(32))),
    ]
    let provider = try Fixtures.provider()
    for (algorithm, half) in halves {
      let token = try Fixtures.token(
        ["at_hash": .string(half.base64URL)], head: #"{"alg":"\#(algorithm)"}"#)
      #expect(throws: Never.self) { try rules(provider).verify(token, now: now) }
      #expect(throws: OpenIDClientError.self) {
        try rules(provider, accessToken: "other").verify(token, now: now)
      }
      #expect(throws: Never.self) { try rules(provider, accessToken: nil).verify(token, now: now) }
    }
  }

  @Test func `an app may send its nonce or the hash of it`() throws {
    let hash = String(hexadecimal: Array(SHA256.hash(data: Array("raw".utf8))))
    let rules = rules(try Fixtures.provider(.apple), .valueOrHash("raw"))
    let issuer: JSON = "https://appleid.apple.com"
    for nonce in ["raw", hash] {
      #expect(throws: Never.self) {
        try rules.verify(Fixtures.token(["iss": issuer, "nonce": .string(nonce)]), now: now)
      }
    }
    for nonce in ["RAW", nil] as [JSON?] {
      #expect(throws: OpenIDClientError.self) {
        try rules.verify(Fixtures.token(["iss": issuer, "nonce": nonce]), now: now)
      }
    }
  }

  @Test func `an issuer without nonces needs none, but a wrong one is refused`() throws {
    let rules = rules(try Fixtures.provider(.linkedIn))
    let issuer: JSON = "https://www.linkedin.com"
    let claims = try rules.verify(Fixtures.token(["iss": issuer, "nonce": nil]), now: now)
    #expect(claims.issuer == "https://www.linkedin.com/oauth")
    #expect(throws: OpenIDClientError.self) {
      try rules.verify(Fixtures.token(["iss": issuer, "nonce": "x"]), now: now)
    }
  }

  @Test(arguments: ["accounts.google.com", "https://accounts.google.com"])
  func `both names of Google are one identity`(stated: String) throws {
    let rules = rules(try Fixtures.provider(.google))
    let claims = try rules.verify(Fixtures.token(["iss": .string(stated)]), now: now)
    #expect(claims.issuer == "https://accounts.google.com")
  }

  private static let tenant = "72f988bf-86f1-41af-91ab-2d7cd011db47"
  private static let microsoft = "https://login.microsoftonline.com"

  @Test(
    arguments: [
      ("\(microsoft)/\(tenant)/v2.0", .string(tenant), true),
      ("\(microsoft)/\(tenant)/v2.0", "other", false), ("\(microsoft)/\(tenant)/v2.0", nil, false),
      ("\(microsoft)/{tenantid}/v2.0", "{tenantid}", false),
      ("\(microsoft)/{tenantid}/v2.0", .string(tenant), false),
      ("\(microsoft)/a/b/v2.0", "a/b", false), ("https://other.example/a/v2.0", "a", false),
    ] as [(String, JSON?, Bool)])
  func `an issuer with tenants must be that of the token's tenant`(
    stated: String, tenant: JSON?, isAccepted: Bool
  ) throws {
    let token = try Fixtures.token(["iss": .string(stated), "tid": tenant])
    let claims = try? rules(Fixtures.provider(.microsoft)).verify(token, now: now)
    #expect(claims?.issuer == (isAccepted ? stated : nil))
  }
}
