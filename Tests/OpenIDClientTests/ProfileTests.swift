import JSON
import OpenIDClient
import Testing
import WebTokens

/// Profiles of each preset, from answers as the issuers document them.
@Suite struct ProfileTests {
  /// The members of a profile, for comparison.
  private func members(_ profile: ProviderProfile) -> [String: String] {
    [
      "issuer": profile.issuer, "subject": profile.subject, "email": profile.email,
      "verified": profile.email == nil ? nil : "\(profile.isEmailVerified)", "name": profile.name,
      "given": profile.givenName, "family": profile.familyName, "nickname": profile.nickname,
      "picture": profile.picture, "locale": profile.locale, "domain": profile.hostedDomain,
      "tenant": profile.tenant,
    ].compactMapValues(\.self)
  }

  /// Returns the profile of a user, by the requests that the preset makes.
  private func profile(
    _ preset: ProviderPreset, claims: String? = nil, _ answers: [(status: Int, body: String)] = [],
    mapping: String = "{}", stated: StatedName? = nil
  ) throws -> ProviderProfile {
    let provider = try preset.isDiscovered ? Fixtures.provider(preset) : Self.provider(preset)
    let verified = try claims.map { text in
      let token = try IDTokenRules.parse(
        Fixtures.text(#"{"alg":"RS256"}"#, Fixtures.json(text)))
      return try IDTokenRules(
        provider, audiences: ["client"], nonce: .unused, accessToken: nil
      ).verify(token, now: Fixtures.now)
    }
    let mapping = try ProfileMapping(
      #require(Fixtures.json(mapping).object), of: preset)
    let requests = provider.userinfoRequests(
      after: verified, mapping: mapping, accessToken: "t", Fixtures.credentials)
    #expect(requests.count == answers.count)
    let userinfo = try zip(requests, answers).compactMap { request, answer in
      #expect(request.bearer == "t")
      return try request.answer(status: answer.status, body: Array(answer.body.utf8))
    }
    return try ProviderProfile(from: provider, verified, userinfo, mapping: mapping, stated: stated)
  }

  private static func provider(_ preset: ProviderPreset) throws -> Provider {
    guard preset.issuer == nil else { return try Provider(preset, ProviderSettings(), nil) }
    var settings = Fixtures.settings(issuer: Fixtures.issuer)
    (settings.authorizationURL, settings.tokenURL) = ("https://a.example/a", "https://a.example/t")
    settings.userinfoURL = "https://a.example/me"
    return try Provider(preset, settings, nil)
  }

  private static let times = #""aud":"client","iat":1800000000,"exp":1800000600"#

  @Test func `Google`() throws {
    let claims = #"""
      {"iss":"accounts.google.com","azp":"app","sub":"110169484474386276334","hd":"example.com",
      "email":"ada@example.com","email_verified":true,"at_hash":"x","name":"Ada Lovelace",
      "picture":"https://lh3.googleusercontent.com/a/p=s96-c","given_name":"Ada",
      "family_name":"Lovelace",\#(Self.times)}
      """#
    #expect(
      members(try profile(.google, claims: claims)) == [
        "issuer": "https://accounts.google.com", "subject": "110169484474386276334",
        "email": "ada@example.com", "verified": "true", "name": "Ada Lovelace", "given": "Ada",
        "family": "Lovelace", "picture": "https://lh3.googleusercontent.com/a/p=s96-c",
        "domain": "example.com",
      ])
  }

  @Test func `Apple`() throws {
    let claims = #"""
      {"iss":"https://appleid.apple.com","sub":"001996.e8.1023","nonce_supported":true,
      "email":"x@privaterelay.appleid.com","email_verified":"true","is_private_email":"true",
      "auth_time":1800000000,"real_user_status":2,\#(Self.times)}
      """#
    let stated = StatedName(#"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"e@f.g"}"#)
    #expect(
      members(try profile(.apple, claims: claims, stated: stated)) == [
        "issuer": "https://appleid.apple.com", "subject": "001996.e8.1023", "verified": "true",
        "email": "x@privaterelay.appleid.com", "name": "Ada Lovelace", "given": "Ada",
        "family": "Lovelace",
      ])
  }

  private static let tenant = "72f988bf-86f1-41af-91ab-2d7cd011db47"

  @Test func `Microsoft`() throws {
    let claims = #"""
      {"ver":"2.0","iss":"https://login.microsoftonline.com/\#(Self.tenant)/v2.0",
      "sub":"AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ","tid":"\#(Self.tenant)",
      "name":"Ada Lovelace","preferred_username":"ada@contoso.example","oid":"0-0",
      "email":"ada@contoso.example",\#(Self.times)}
      """#
    #expect(
      members(try profile(.microsoft, claims: claims)) == [
        "issuer": "https://login.microsoftonline.com/\(Self.tenant)/v2.0",
        "subject": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ", "tenant": Self.tenant,
        "name": "Ada Lovelace", "email": "ada@contoso.example", "verified": "false",
      ])
  }

  @Test(arguments: [
    ("true", true), ("1", true), (#""1""#, true), (#""true""#, true), ("false", false),
    ("0", false), (#""0""#, false), ("null", false), (#"["1"]"#, false),
  ])
  func `Microsoft verifies addresses only by xms_edov`(value: String, isVerified: Bool) throws {
    let claims = #"""
      {"iss":"https://login.microsoftonline.com/\#(Self.tenant)/v2.0","sub":"a",
      "tid":"\#(Self.tenant)","email":"ada@contoso.example","email_verified":true,
      "xms_edov":\#(value),\#(Self.times)}
      """#
    #expect(try profile(.microsoft, claims: claims).isEmailVerified == isVerified)
  }

  private static let githubUser = #"""
    {"login":"ada","id":583231,"node_id":"MDQ6VXNlcjE=","name":"Ada Lovelace","email":null,
    "avatar_url":"https://avatars.githubusercontent.com/u/583231?v=4","site_admin":false}
    """#

  @Test func `GitHub`() throws {
    let emails = #"""
      [{"email":"old@example.com","primary":false,"verified":true,"visibility":null},
      {"email":"ada@example.com","primary":true,"verified":true,"visibility":"private"}]
      """#
    var expected = [
      "issuer": "https://github.com", "subject": "583231", "name": "Ada Lovelace",
      "nickname": "ada", "picture": "https://avatars.githubusercontent.com/u/583231?v=4",
    ]
    // Without the scope, the address is missing.
    for denied in [(403, "{}"), (404, #"{"message":"Not Found"}"#), (200, "[]")] {
      #expect(members(try profile(.github, [(200, Self.githubUser), denied])) == expected)
    }
    (expected["email"], expected["verified"]) = ("ada@example.com", "true")
    #expect(members(try profile(.github, [(200, Self.githubUser), (200, emails)])) == expected)
    let unverified = emails.replacing(
      #""primary":true,"verified":true"#, with: #""primary":true,"verified":false"#)
    #expect(
      try !profile(.github, [(200, Self.githubUser), (200, unverified)]).isEmailVerified)
  }

  @Test func `an outage is not an absent address`() {
    #expect(throws: OpenIDClientError.invalidUserinfo(rule: "its status is 502")) {
      try profile(.github, [(200, Self.githubUser), (502, "")])
    }
    #expect(throws: OpenIDClientError.invalidUserinfo(rule: "its status is 403")) {
      try profile(.github, [(403, "{}"), (200, "[]")])
    }
  }

  @Test func `GitLab`() throws {
    let claims = #"""
      {"iss":"https://gitlab.com","sub":"1234","auth_time":1800000000,"email":"ada@example.com",
      "sub_legacy":"0a","email_verified":true,"groups_direct":["a"],\#(Self.times)}
      """#
    let answer = #"""
      {"sub":"1234","name":"Ada Lovelace","nickname":"ada","preferred_username":"ada",
      "email":"ada@example.com","email_verified":true,"profile":"https://gitlab.com/ada",
      "picture":"https://gitlab.com/uploads/ada.png","groups":["a"]}
      """#
    #expect(
      members(try profile(.gitlab, claims: claims, [(200, answer)])) == [
        "issuer": "https://gitlab.com", "subject": "1234", "email": "ada@example.com",
        "verified": "true", "name": "Ada Lovelace", "nickname": "ada",
        "picture": "https://gitlab.com/uploads/ada.png",
      ])
  }

  @Test func `Facebook`() throws {
    let answer = #"""
      {"id":"10158","name":"Ada Lovelace","first_name":"Ada","last_name":"Lovelace",
      "email":"ada@example.com","verified":true,"email_verified":true,
      "picture":{"data":{"height":256,"is_silhouette":false,"width":256,
      "url":"https://platform-lookaside.fbsbx.com/p?asid=1&hash=a"}}}
      """#
    #expect(
      members(try profile(.facebook, [(200, answer)])) == [
        "issuer": "https://www.facebook.com", "subject": "10158", "email": "ada@example.com",
        "verified": "false", "name": "Ada Lovelace", "given": "Ada", "family": "Lovelace",
        "picture": "https://platform-lookaside.fbsbx.com/p?asid=1&hash=a",
      ])
    let least = try profile(.facebook, [(200, #"{"id":"10158","name":"Ada"}"#)])
    #expect(least.email == nil && !least.isEmailVerified)
  }

  @Test func `Facebook's requests prove the client secret`() throws {
    let requests = try Fixtures.provider(.facebook).userinfoRequests(
      after: nil, accessToken: "t", Fixtures.credentials)
    // HMAC-SHA256 of "t" by "secret", by another implementation.
    let fields = "id%2Cname%2Cfirst_name%2Clast_name%2Cemail%2Cpicture.width%28256%29"
    #expect(
      requests.map(\.url) == [
        "https://graph.facebook.com/me?fields=\(fields)&appsecret_proof=55a1708ccb9b43137fd11076cc94c5d2a937767f407eb3d05f7a6135a31f1a15"
      ])
  }

  @Test func `Discord`() throws {
    let answer = #"""
      {"id":"80351110224678912","username":"nelly","discriminator":"0","global_name":"Nelly",
      "avatar":"8342729096ea3675442027381ff50dfe","verified":true,"email":"nelly@discord.example",
      "flags":64,"banner":null,"locale":"en-US","mfa_enabled":true}
      """#
    let url = "https://cdn.discordapp.com/avatars/80351110224678912"
    #expect(
      members(try profile(.discord, [(200, answer)])) == [
        "issuer": "https://discord.com", "subject": "80351110224678912", "verified": "true",
        "email": "nelly@discord.example", "name": "Nelly", "nickname": "nelly", "locale": "en-US",
        "picture": "\(url)/8342729096ea3675442027381ff50dfe.png",
      ])
    let least = #"{"id":"1","username":"a","global_name":null,"avatar":null,"email":null}"#
    #expect(
      members(try profile(.discord, [(200, least)])) == [
        "issuer": "https://discord.com", "subject": "1", "name": "a", "nickname": "a",
      ])
    for avatar in ["../a", "a?b", "%2e"] {
      let odd = #"{"id":"1","avatar":"\#(avatar)"}"#
      #expect(try profile(.discord, [(200, odd)]).picture == nil)
    }
  }

  @Test func `LinkedIn`() throws {
    let claims = #"""
      {"iss":"https://www.linkedin.com","sub":"782bbtaQ","name":"Ada Lovelace",
      "given_name":"Ada","family_name":"Lovelace","picture":"https://media.licdn.com/p",
      "locale":"en_US","email":"ada@example.com","email_verified":"true",\#(Self.times)}
      """#
    #expect(
      members(try profile(.linkedIn, claims: claims)) == [
        "issuer": "https://www.linkedin.com/oauth", "subject": "782bbtaQ", "locale": "en-US",
        "email": "ada@example.com", "verified": "true", "name": "Ada Lovelace", "given": "Ada",
        "family": "Lovelace", "picture": "https://media.licdn.com/p",
      ])
  }

  @Test func `Slack`() throws {
    let claims = #"""
      {"iss":"https://slack.com","sub":"U0R7MFMJM","auth_time":1800000000,"nonce":"n",
      "https://slack.com/team_id":"T0RR","https://slack.com/user_id":"U0JM",
      "email":"ada@example.com","email_verified":true,"date_email_verified":1622128723,
      "locale":"en-US","name":"ada","given_name":"","family_name":"",
      "https://slack.com/user_image_512":"https://avatars.slack-edge.com/a_512.png",
      \#(Self.times)}
      """#
    #expect(
      members(try profile(.slack, claims: claims)) == [
        "issuer": "https://slack.com", "subject": "U0R7MFMJM", "email": "ada@example.com",
        "verified": "true", "name": "ada", "locale": "en-US", "tenant": "T0RR",
        "picture": "https://avatars.slack-edge.com/a_512.png",
      ])
  }

  @Test func `X`() throws {
    let user = #"""
      {"data":{"id":"2244994945","name":"Ada","username":"ada",
      "profile_image_url":"https://pbs.twimg.com/a_normal.jpg"}}
      """#
    let email = #"{"data":{"id":"2244994945","confirmed_email":"ada@example.com"}}"#
    var expected = [
      "issuer": "https://x.com", "subject": "2244994945", "name": "Ada", "nickname": "ada",
      "picture": "https://pbs.twimg.com/a_normal.jpg",
    ]
    for denied in [(403, "{}"), (200, #"{"errors":[{"title":"Forbidden"}]}"#)] {
      #expect(members(try profile(.x, [(200, user), denied])) == expected)
    }
    (expected["email"], expected["verified"]) = ("ada@example.com", "true")
    #expect(members(try profile(.x, [(200, user), (200, email)])) == expected)
    #expect(throws: OpenIDClientError.self) {
      try profile(.x, [(200, user), (200, email.replacing("2244994945", with: "1"))])
    }
  }

  @Test func `any issuer of OpenID Connect`() throws {
    let claims = #"{"iss":"https://issuer.example","sub":"a","name":"A",\#(Self.times)}"#
    let answer = #"{"sub":"a","email":"a@b.example","email_verified":true,"name":"B"}"#
    #expect(
      members(try profile(.oidc, claims: claims, [(200, answer)])) == [
        "issuer": Fixtures.issuer, "subject": "a", "name": "A", "email": "a@b.example",
        "verified": "true",
      ])
  }

  @Test func `an issuer is asked for what the operator has placed, and its token lacks`() throws {
    let claims = #"""
      {"iss":"https://issuer.example","sub":"a","name":"A","email":"x@b.example",
      "email_verified":true,\#(Self.times)}
      """#
    #expect(members(try profile(.oidc, claims: claims))["email"] == "x@b.example")
    let answer = #"{"sub":"a","contact":{"mail":"a@b.example"},"handle":"ada"}"#
    let email = try profile(
      .oidc, claims: claims, [(200, answer)], mapping: #"{"email":"contact.mail"}"#)
    #expect(members(email)["email"] == "a@b.example" && members(email)["name"] == "A")
    let handle = try profile(
      .oidc, claims: claims, [(200, answer)], mapping: #"{"nickname":"handle"}"#)
    #expect(handle.nickname == "ada" && handle.email == "x@b.example")
  }

  @Test func `any server of OAuth 2, with places of the operator`() throws {
    let answer = #"""
      {"user":{"uid":42,"mail":"a@b.example","ok":1,"full.name":"Ada","img":"https://a.example/i"}}
      """#
    let mapping = #"""
      {"subject":"user.uid","email":"user.mail","email_verified":"user.ok",
      "name":"user.full\\.name","picture":"user.img"}
      """#
    #expect(
      members(try profile(.oauth2, [(200, answer)], mapping: mapping)) == [
        "issuer": Fixtures.issuer, "subject": "42", "email": "a@b.example", "verified": "true",
        "name": "Ada", "picture": "https://a.example/i",
      ])
  }
}
