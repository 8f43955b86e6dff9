import JSON
import OpenIDClient
import Testing
import WebTokens

@Suite struct LogoutTokenTests {
  private static let event: JSON = ["http://schemas.openid.net/event/backchannel-logout": [:]]

  private func read(
    _ changes: [String: JSON?] = [:], head: String = #"{"alg":"RS256","typ":"logout+jwt"}"#
  ) throws -> LogoutToken {
    var claims: [String: JSON] = [
      "iss": .string(Fixtures.issuer), "aud": "client", "sub": "ada", "jti": "1",
      "iat": .number(JSONNumber(Fixtures.now)), "exp": .number(JSONNumber(Fixtures.now + 120)),
      "events": Self.event,
    ]
    for (name, value) in changes { claims[name] = value }
    let object = JSON.object(JSONObject(claims.map { ($0.key, $0.value) }))
    let token = try LogoutToken.parse(Fixtures.text(head, object))
    return try LogoutToken(
      token, of: Fixtures.provider(), audiences: ["client"], now: Fixtures.now)
  }

  @Test func `a token names a user, a session, or both`() throws {
    let both = try read(["sid": "s"])
    #expect(both.issuer == Fixtures.issuer && both.subject == "ada" && both.sessionID == "s")
    #expect(both.issuedAt == Fixtures.now)
    let session = try read(["sid": "s", "sub": nil])
    #expect(session.subject == nil && session.sessionID == "s")
  }

  @Test(arguments: ["", "a\u{1}b", "a\nb", String(repeating: "s", count: 256)])
  func `a session has the characters of a subject`(session: String) throws {
    #expect(try read(["sid": .string(session)]).sessionID == nil)
    #expect(throws: OpenIDClientError.self) {
      try read(["sid": .string(session), "sub": nil])
    }
  }

  @Test func `a clock that is ahead names no time in the future`() throws {
    let ahead = try read(["iat": .number(JSONNumber(Fixtures.now + 30))])
    #expect(ahead.issuedAt == Fixtures.now)
  }

  @Test(
    arguments: [
      ("iss", "https://other.example", "its iss is not the issuer"),
      ("aud", "other", "its aud is not the client"), ("exp", 1, "its exp is in the past"),
      ("iat", nil, "it lacks exp or iat"), ("nonce", "n", "it has a nonce"),
      ("jti", nil, "it has no jti of 1 to 255 bytes"),
      ("jti", "", "it has no jti of 1 to 255 bytes"),
      ("sub", nil, "it has neither sub nor sid of 1 to 255 bytes"),
      (
        "events", ["other": [:]],
        "its events have no http://schemas.openid.net/event/backchannel-logout"
      ),
      ("events", nil, "its events have no http://schemas.openid.net/event/backchannel-logout"),
    ] as [(String, JSON?, String)])
  func `a token that breaks a rule is refused`(name: String, value: JSON?, rule: String) {
    #expect(throws: OpenIDClientError.invalidLogoutToken(rule: rule)) { try read([name: value]) }
  }

  @Test(arguments: [
    #"{"alg":"none"}"#, #"{"alg":"HS256"}"#, #"{"alg":"RS256","typ":"at+jwt"}"#,
    #"{"alg":"RS256","crit":["b64"]}"#,
  ])
  func `a head of another kind of token is refused`(head: String) {
    #expect(throws: OpenIDClientError.self) { try read(head: head) }
  }

  @Test(arguments: [#"{"alg":"RS256"}"#, #"{"alg":"RS256","typ":"JWT"}"#])
  func `older issuers name no type of their own`(head: String) throws {
    #expect(try read(head: head).subject == "ada")
  }
}
