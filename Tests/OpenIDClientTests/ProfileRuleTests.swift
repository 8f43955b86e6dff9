import JSON
import OpenIDClient
import Testing

@Suite struct ProfileRuleTests {
  /// Returns the profile that one answer of an issuer without ID tokens states.
  private func profile(_ answer: String) throws -> ProviderProfile {
    var settings = Fixtures.settings(issuer: Fixtures.issuer)
    (settings.authorizationURL, settings.tokenURL) = ("https://a.example/a", "https://a.example/t")
    settings.userinfoURL = "https://a.example/me"
    let provider = try Provider(.oauth2, settings, nil)
    let request = provider.userinfoRequests(
      after: nil, accessToken: "t", Fixtures.credentials)[0]
    let userinfo = try request.answer(status: 200, body: Array(answer.utf8))
    return try ProviderProfile(from: provider, nil, [#require(userinfo)])
  }

  @Test(arguments: [
    (#"{"sub":"a"}"#, "a"), (#"{"sub":583231}"#, "583231"), (#"{"sub":-1}"#, nil),
    (#"{"sub":1e3}"#, nil), (#"{"sub":1.0}"#, nil), (#"{"sub":""}"#, nil), (#"{"sub":null}"#, nil),
    (#"{"sub":["a"]}"#, nil), ("{}", nil), (#"{"sub":"a\u0001"}"#, nil),
    (#"{"sub":"\#(String(repeating: "a", count: 255))"}"#, String(repeating: "a", count: 255)),
    (#"{"sub":"\#(String(repeating: "a", count: 256))"}"#, nil),
    (#"{"sub":99999999999999999999999999}"#, "99999999999999999999999999"),
  ])
  func `a subject is a text, or the digits of a number`(answer: String, subject: String?) {
    #expect((try? profile(answer))?.subject == subject)
  }

  @Test(arguments: [
    ("email", #""ada@example.com""#, true), ("email", #""ada""#, false), ("email", #""@b""#, false),
    ("email", #""a@""#, false), ("email", #""a@b@c""#, false), ("email", #""a b@c""#, false),
    ("email", #""a\n@c""#, false), ("email", "7", false), ("email", #"["a@b.c"]"#, false),
    ("email", #""\#(String(repeating: "a", count: 250))@b.cd""#, false),
    ("name", #""Ada""#, true), ("name", #"" ""#, false), ("name", #""\u0085a""#, false),
    ("name", #""Ada\u202Egnp""#, false), ("name", #""\u2066a""#, false),
    ("name", #""\u200B\u3164""#, false), ("nickname", #""a\u202Ab""#, false),
    ("name", #""\u05E2\u05D3\u200F""#, true), ("name", #""<b>Ada</b>""#, true),
    ("name", #""\#(String(repeating: "é", count: 300))""#, true),
    ("name", #""\#(String(repeating: "é", count: 301))""#, false),
    ("given_name", #""\#(String(repeating: "a", count: 150))""#, true),
    ("given_name", #""\#(String(repeating: "a", count: 151))""#, false),
    ("family_name", #""\#(String(repeating: "a", count: 151))""#, false),
    ("nickname", "{}", false), ("picture", #""https://a.example/p.png""#, true),
    ("picture", #""http://a.example/p.png""#, false), ("picture", #""javascript:a""#, false),
    ("picture", #""https://u@a.example/p""#, false), ("picture", #""https://a.example/é""#, false),
    ("picture", #""https://a.example/\"onerror=\"x""#, false),
    ("picture", #""https://a.example/<b>""#, false), ("picture", #""https://a.example/`a""#, false),
    ("picture", #""https://a.example\\b""#, false), ("picture", #""data:image/png,a""#, false),
    ("picture", #""https://a.example/p?s=96&d=https%3A%2F%2Fb.example%2Fq""#, true),
    ("locale", #""de-AT""#, true), ("locale", #""en_US""#, true), ("locale", #""d""#, false),
    ("locale", #""en US""#, false), ("locale", #""\#(String(repeating: "a", count: 36))""#, false),
  ])
  func `a member that is malformed or too long is dropped`(
    member: String, value: String, isKept: Bool
  ) throws {
    let profile = try profile(#"{"sub":"a","\#(member)":\#(value)}"#)
    let read = [
      "email": profile.email, "name": profile.name, "given_name": profile.givenName,
      "family_name": profile.familyName, "nickname": profile.nickname, "picture": profile.picture,
      "locale": profile.locale,
    ].compactMapValues(\.self)
    #expect(Set(read.keys) == (isKept ? [member] : []))
  }

  @Test(arguments: [
    ("[]", "it is no JSON object"), ("<html>", "it is not JSON"), ("", "it is not JSON"),
    (#"{"sub":"a","sub":"b"}"#, "it is not JSON"),
    (String(repeating: " ", count: 65_537), "it is longer than 65536 bytes"),
  ])
  func `an answer that is no object is refused`(answer: String, rule: String) {
    #expect(throws: OpenIDClientError.invalidUserinfo(rule: rule)) { try profile(answer) }
  }

  // MARK: An answer beside an ID token

  private func profile(claims: [String: JSON?], _ answer: String) throws -> ProviderProfile {
    let provider = try Fixtures.provider()
    let token = try Fixtures.token(claims)
    let verified = try IDTokenRules(
      provider, audiences: ["client"], nonce: .exactly("n"), accessToken: nil
    ).verify(token, now: Fixtures.now)
    let requests = provider.userinfoRequests(
      after: verified, accessToken: "t", Fixtures.credentials)
    let userinfo = try requests.compactMap {
      try $0.answer(status: 200, body: Array(answer.utf8))
    }
    return try ProviderProfile(from: provider, verified, userinfo)
  }

  @Test(arguments: [
    (#"{"sub":"eve","email":"eve@example.com"}"#, "its subject is not that of the sign-in"),
    (#"{"sub":"Ada"}"#, "its subject is not that of the sign-in"), ("{}", "it has no sub"),
    (#"{"sub":null,"email":"eve@example.com"}"#, "it has no sub"),
  ])
  func `an answer must be about the user of the ID token`(answer: String, rule: String) {
    #expect(throws: OpenIDClientError.invalidUserinfo(rule: rule)) {
      try profile(claims: [:], answer)
    }
  }

  @Test func `the state of one address says nothing of another`() throws {
    let profile = try profile(
      claims: ["email": "new@example.com"],
      #"{"sub":"ada","email":"old@example.com","email_verified":true,"name":"Ada"}"#)
    #expect(profile.email == "new@example.com" && !profile.isEmailVerified)
    #expect(profile.name == "Ada")
  }

  @Test func `a name of the browser does not replace that of the issuer`() throws {
    let provider = try Fixtures.provider(.apple)
    let stated = StatedName(given: "Eve", family: nil)
    for (claim, name) in [("name", "Ada"), ("x", "Eve")] {
      let token = try Fixtures.token(["iss": .string(provider.issuer), claim: "Ada"])
      let claims = try IDTokenRules(
        provider, audiences: ["client"], nonce: .exactly("n"), accessToken: nil
      ).verify(token, now: Fixtures.now)
      #expect(try ProviderProfile(from: provider, claims, [], stated: stated).name == name)
    }
  }

  // MARK: Addresses, tenants and domains

  private func google(_ changes: [String: JSON?]) throws -> ProviderProfile {
    try profile(.google, changes)
  }

  private func profile(
    _ preset: ProviderPreset, _ changes: [String: JSON?]
  ) throws -> ProviderProfile {
    let provider = try Fixtures.provider(preset)
    let token = try Fixtures.token(
      ["iss": .string(provider.issuer), "name": "A"].merging(changes) { $1 })
    let claims = try IDTokenRules(
      provider, audiences: ["client"], nonce: .exactly("n"), accessToken: nil
    ).verify(token, now: Fixtures.now)
    return try ProviderProfile(from: provider, claims, [])
  }

  @Test(
    arguments: [
      ("ada@gmail.com", true, nil, true), ("Ada@GMAIL.com", true, nil, true),
      ("ada@gmail.com", false, nil, false), ("ada@corp.example", true, nil, false),
      ("ada@corp.example", true, "corp.example", true),
      ("ada@corp.example", false, "corp.example", false), ("ada@notgmail.com", true, nil, false),
      ("ada@gmail.com.example", true, nil, false), ("ada@corp.example", true, "", false),
      ("ada@corp.example", true, 7, false), ("ada@\u{ff47}mail.com", true, nil, true),
      ("ada@gmail.com\u{301}", true, nil, false),
    ] as [(String, Bool, JSON?, Bool)])
  func `Google speaks for its own domain, and for those of Workspace`(
    email: String, isFlagged: Bool, domain: JSON?, isVerified: Bool
  ) throws {
    let profile = try google([
      "email": .string(email), "email_verified": .bool(isFlagged), "hd": domain,
    ])
    #expect(profile.isEmailVerified == isVerified && profile.email == email)
  }

  @Test func `an address is trusted as the connection says`() throws {
    let verified = try google(["email": "a@gmail.com", "email_verified": true])
    let unverified = try google(["email": "a@b.example", "email_verified": true])
    #expect(EmailTrust.allCases.map(verified.trustedEmail) == [nil, "a@gmail.com", "a@gmail.com"])
    #expect(EmailTrust.allCases.map(unverified.trustedEmail) == [nil, nil, "a@b.example"])
    #expect(try google(["email_verified": true]).trustedEmail(.always) == nil)
  }

  private func isAllowed(
    _ profile: ProviderProfile, tenants: [String] = [], domains: [String] = [],
    trust: EmailTrust = .verified
  ) -> Bool {
    do throws(OpenIDClientError) {
      try profile.verifyAccess(tenants: tenants, domains: domains, trust: trust)
      return true
    } catch {
      #expect(error == (tenants.isEmpty ? .domainNotAllowed : .tenantNotAllowed))
      return false
    }
  }

  @Test func `the domain is that of the organization, or else that of a trusted address`() throws {
    let staff = try google([
      "email": "a@alias.example", "email_verified": true, "hd": "corp.example",
    ])
    #expect(isAllowed(staff, domains: ["corp.example"]))
    #expect(isAllowed(staff, domains: ["x.example", "CORP.example"]))
    #expect(!isAllowed(staff, domains: ["alias.example"]))
    #expect(!isAllowed(staff, domains: ["example"]))
    let stranger = try google(["email": "a@corp.example", "email_verified": true])
    #expect(!isAllowed(stranger, domains: ["corp.example"]))
    #expect(isAllowed(stranger, domains: ["corp.example"], trust: .always))
    #expect(!isAllowed(stranger, domains: ["corp.example"], trust: .never))
    #expect(!isAllowed(try google([:]), domains: ["corp.example"]) && isAllowed(stranger))
  }

  @Test(arguments: [
    ("münchen.example", true), ("MÜNCHEN.example", true), ("XN--mnchen-3YA.example", true),
    ("mu\u{308}nchen.example", true), ("munchen.example", false), ("xn--a.example", false),
  ])
  func `a domain is compared by the one form of all its spellings`(
    domain: String, matches: Bool
  ) throws {
    let user = try profile(.oidc, ["email": .string("a@\(domain)"), "email_verified": true])
    #expect(isAllowed(user, domains: ["xn--mnchen-3ya.example"]) == matches)
  }

  private static let consumers = "9188040d-6c67-4c5b-b112-36a304b66dad"

  @Test func `tenants are ids, or words for kinds of them`() throws {
    func user(_ tenant: String) throws -> ProviderProfile {
      try profile(
        .microsoft,
        [
          "iss": .string("https://login.microsoftonline.com/\(tenant)/v2.0"),
          "tid": .string(tenant),
        ])
    }
    let (work, home) = (try user("72f988bf"), try user(Self.consumers))
    #expect(isAllowed(work, tenants: ["other", "72F988BF"]) && !isAllowed(work, tenants: ["72f9"]))
    #expect(isAllowed(work, tenants: ["organizations"]))
    #expect(!isAllowed(home, tenants: ["organizations"]))
    #expect(isAllowed(home, tenants: ["consumers"]) && !isAllowed(work, tenants: ["consumers"]))
    #expect(isAllowed(work, tenants: ["common"]) && isAllowed(home, tenants: ["common"]))
    // Elsewhere, the words are ids.
    let slack = try profile(.slack, ["https://slack.com/team_id": "T1"])
    #expect(isAllowed(slack, tenants: ["T1"]) && !isAllowed(slack, tenants: ["organizations"]))
    #expect(!isAllowed(try google([:]), tenants: ["T1"]))
  }

  // MARK: Settings

  @Test func `the places of an operator have known names`() throws {
    func read(_ text: String, _ preset: ProviderPreset = .oauth2) throws {
      _ = try ProfileMapping(#require(Fixtures.json(text).object), of: preset)
    }
    try read(#"{"subject":"id","email":"contact.mail"}"#)
    #expect(throws: OpenIDClientError.self) { try read(#"{"phone":"id"}"#) }
    #expect(throws: OpenIDClientError.self) { try read(#"{"email":""}"#) }
    #expect(throws: OpenIDClientError.self) { try read(#"{"email":7}"#) }
    #expect(
      throws: OpenIDClientError.invalidSettings(rule: "its subject is the sub of the ID token")
    ) { try read(#"{"subject":"oid"}"#, .microsoft) }
  }

  @Test func `an access token of another app is refused`() throws {
    let credentials = ClientCredentials(id: "7", secret: .text("s"))
    let facebook = try Fixtures.provider(.facebook)
    let found = try TokenInspection(of: "t&u", credentials, at: facebook)
    let inspection = try #require(found)
    #expect(
      inspection.url
        == "https://graph.facebook.com/debug_token?input_token=t%26u&access_token=7%7Cs")
    var settings = ProviderSettings()
    settings.userinfoURL = "https://graph.example/v20/me?a=b"
    let moved = try TokenInspection(
      of: "t", credentials, at: Provider(.facebook, settings, nil))
    #expect(moved?.url.hasPrefix("https://graph.example/v20/debug_token?input_token=t&") == true)
    func verify(_ body: String, status: Int = 200) throws {
      try inspection.verify(status: status, body: Array(body.utf8))
    }
    try verify(#"{"data":{"app_id":"7","is_valid":true}}"#)
    try verify(#"{"data":{"app_id":7,"is_valid":true}}"#)
    for body in [
      #"{"data":{"app_id":"8","is_valid":true}}"#, #"{"data":{"app_id":"7","is_valid":false}}"#,
      #"{"data":{"app_id":"7"}}"#, #"{"data":{"is_valid":true}}"#, "{}", "<html>",
    ] {
      #expect(throws: OpenIDClientError.self) { try verify(body) }
    }
    #expect(throws: OpenIDClientError.self) {
      try verify(#"{"data":{"app_id":"7","is_valid":true}}"#, status: 500)
    }
    let google = try TokenInspection(of: "t", credentials, at: Fixtures.provider(.google))
    #expect(google == nil)
    for token in ["", "a b", "a\u{0}", "é", String(repeating: "t", count: 16_385)] {
      #expect(throws: OpenIDClientError.self) {
        try TokenInspection(of: token, credentials, at: facebook)
      }
    }
  }
}
