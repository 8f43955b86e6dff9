import WebTokens
import Crypto
import Encoding
import HTTP
import JSON
@testable import OpenIDClient

extension FuzzTarget {
  /// Lines: the name of a preset, and the discovery document of an issuer.
  static let issuerMetadata = FuzzTarget(
    "issuer-metadata",
    isJSON: true,
    words: [
      "oidc\n", "google\n", "microsoft\n", "linkedin\n", "issuer", "authorization_endpoint",
      "token_endpoint", "userinfo_endpoint", "jwks_uri", "end_session_endpoint",
      "revocation_endpoint", "https://issuer.example", "https://accounts.google.com",
      "https://login.microsoftonline.com/{tenantid}/v2.0", "{tenantid}", "https://", "http://",
      "code_challenge_methods_supported", "S256", "token_endpoint_auth_methods_supported",
      "client_secret_post", "response_types_supported", "code",
      "authorization_response_iss_parameter_supported", "#", "@", "?", "\\", ":", "[::1]",
    ],
    bound: MemoryBound(factor: 200, base: 1_048_576)
  ) { input in
    let lines = lines(input)
    guard lines.count > 1, let preset = ProviderPreset.named(text(lines[0])), preset.isDiscovered
    else { return }
    let settings = settings(of: preset)
    guard let metadata = try? ProviderMetadata(lines[1], of: preset, settings),
      let provider = try? Provider(preset, settings, metadata)
    else { return }
    let named = settings.issuer ?? preset.issuer ?? ""
    let isNamed = ([named] + preset.otherIssuers).contains { areSame($0, metadata.issuer) }
    expect(isNamed || preset.hasTenants, "another issuer: \(metadata.issuer)")
    expect(isNamed || metadata.issuer.hasPrefix("https://login.microsoftonline.com/"), "a host")
    let urls = [
      provider.authorizationURL, provider.tokenURL, provider.userinfoURL, provider.keysURL,
      provider.endSessionURL, provider.revocationURL,
    ]
    for url in urls.compactMap({ $0 }) {
      expect(url.hasPrefix("https://"), "no https: \(url)")
      expect(url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }, "splits a header field: \(url)")
    }
    var redirect = AuthorizationRedirect(
      clientID: "c", redirectURI: "https://a.example/", state: "s")
    (redirect.nonce, redirect.verifier) = ("n", "v")
    let url = redirect.url(at: provider)
    let own = provider.authorizationURL.split(separator: "?", omittingEmptySubsequences: false)[0]
    expect(url.utf8.starts(with: own.utf8) && !url.contains("#"), "leads elsewhere: \(url)")
  }

  /// The query or the form of a callback.
  static let callbacks = FuzzTarget(
    "callbacks",
    words: [
      "code=", "&state=", "&iss=", "&error=access_denied", "&error_description=", "&user=",
      "%7B%22name%22%3A%7B%22firstName%22%3A%22A%22%2C%22lastName%22%3A%22B%22%7D%7D", "&id_token=",
      "https%3A%2F%2Fissuer.example", "%00", "%0A", "%C2%85", "%C3%A9", "+", "&", "=",
    ],
    bound: MemoryBound(factor: 80, base: 262_144)
  ) { input in
    for repetition in [FormValues.Repetition.none, .any] {
      guard let values = FormValues(input, repeating: repetition),
        let callback = try? CallbackParameters(values)
      else { continue }
      expect(Set(values.names).count == values.names.count, "a parameter occurs twice")
      expect((1...2_048).contains(callback.state.utf8.count), "a long state")
      switch callback.outcome {
      case .code(let code):
        expect((1...4_096).contains(code.utf8.count), "a long code")
        expect((try? CodeGrant(code)) != nil, "a code that no issuer can read")
      case .error(let code, let description):
        expect((1...64).contains(code.utf8.count), "a long error code")
        expect(code.utf8.allSatisfy(\.isVisible), "an error code that splits a line: \(code)")
        expect(description?.utf8.count ?? 0 <= 203, "a long explanation")
        expect(!(description?.hasControlCharacters ?? false), "an explanation splits a line")
      }
      expectName(callback.name?.givenName)
      expectName(callback.name?.familyName)
      try? oidc?.verifyIssuer(of: callback)
      // The response goes on to the path of its state in this form.
      guard let query = FormValues(callback.query[...]),
        let again = try? CallbackParameters(query)
      else { fatalError("another form of the callback is refused: \(callback.query)") }
      expect(areSame(again.state, callback.state), "another state: \(callback.query)")
      expect(again.issuer == callback.issuer, "another issuer: \(callback.query)")
      expect(again.name?.full == callback.name?.full, "another name: \(callback.query)")
      if case .code = callback.outcome {
        expect(again.outcome == callback.outcome, "another code: \(callback.query)")
      }
    }
  }

  /// Lines: the name of a preset, the answer of its token endpoint, the claims of an ID token, and
  /// the answers about the user.
  static let issuerAnswers = FuzzTarget(
    "issuer-answers",
    isJSON: true,
    words: ProviderPreset.all.map { "\($0.name)\n" } + [
      "access_token", "id_token", "refresh_token", "token_type", "bearer", "error",
      "error_description", "access_token=a&scope=b", "iss", "aud", "azp", "client", "sub", "exp",
      "iat", "nbf", "auth_time", "1800000000", "nonce", "at_hash", "amr", "sid", "email",
      "email_verified", "xms_edov", "tid", "hd", "name", "given_name", "family_name", "nickname",
      "picture", "locale", "id", "data", "confirmed_email", "primary", "verified", "login",
      "avatar", "username", "https://", "ada@gmail.com", "https://slack.com/team_id", "true",
      "1e400",
      "\n",
    ],
    bound: MemoryBound(factor: 200, base: 1_048_576)
  ) { input in
    let lines = lines(input)
    guard lines.count > 2, let preset = ProviderPreset.named(text(lines[0])),
      let provider = provider(of: preset)
    else { return }
    if let response = try? TokenResponse(status: 200, body: lines[1], of: provider) {
      expect(response.accessToken.utf8.allSatisfy(\.isVisible), "a token splits a header field")
      expect((response.idToken != nil) == preset.hasIDToken, "an ID token")
    }
    let claims = preset.hasIDToken ? claims(lines[2], of: provider) : nil
    guard !preset.hasIDToken || claims != nil else { return }
    let requests = provider.userinfoRequests(after: claims, accessToken: "t", credentials)
    let userinfo = zip(requests, lines.dropFirst(3)).compactMap { request, line in
      expect(request.url.utf8.allSatisfy(\.isVisible), "a URL with spaces: \(request.url)")
      return try? request.answer(status: 200, body: line)
    }
    guard let profile = try? ProviderProfile(from: provider, claims, userinfo) else { return }
    expect((1...255).contains(profile.subject.utf8.count), "a long subject")
    expect(claims.map { areSame($0.subject, profile.subject) } ?? true, "another subject")
    expectSound(profile, of: preset)
  }

  /// Lines: the head and the claims of a logout token of 1800000000.
  static let logoutTokens = FuzzTarget(
    "logout-tokens",
    isJSON: true,
    words: [
      "alg", "RS256", "none", "HS256", "typ", "logout+jwt", "JWT", "kid", "crit", "iss",
      "https://issuer.example", "aud", "azp", "client", "sub", "sid", "jti", "iat", "exp", "nbf",
      "1800000000", "1800000061", "nonce", "events", LogoutToken.event, "{}", "\\u0000", "\n",
    ],
    bound: MemoryBound(factor: 200, base: 1_048_576)
  ) { input in
    let lines = lines(input)
    guard lines.count > 1, let oidc,
      let token = try? LogoutToken.parse("\(lines[0].base64URL).\(lines[1].base64URL).c2ln"),
      let logout = try? LogoutToken(
        token, of: oidc, audiences: ["client"], now: 1_800_000_000)
    else { return }
    expect(areSame(logout.issuer, oidc.issuer), "another issuer")
    expect(logout.issuedAt <= 1_800_000_000, "a logout in the future")
    let claims = token.claims
    expect(claims["aud"] == "client" || claims["aud"]?.array != nil, "another audience")
    expect(claims["nonce"] == nil, "an ID token ends a session")
    expect(claims["events"]?[LogoutToken.event]?.object != nil, "a token of another event")
    expect(claims["exp"]?.number?.double ?? 0 >= 1_799_999_941, "an expired token")
    let named = [logout.subject, logout.sessionID].compactMap(\.self)
    expect(!named.isEmpty, "a logout of nobody")
    for name in named { expect((1...255).contains(name.utf8.count), "a long name") }
    expectStorable(.array(JSONArray(named.map(JSON.string))), "the names of a logout")
  }

  private static let credentials = ClientCredentials(id: "client", secret: .text("secret"))
  private static let oidc = provider(of: .oidc)

  private static func settings(of preset: ProviderPreset) -> ProviderSettings {
    var settings = ProviderSettings()
    if preset.issuer == nil { settings.issuer = "https://issuer.example" }
    if !preset.isDiscovered, preset.endpoints == nil {
      (settings.authorizationURL, settings.tokenURL) = (
        "https://a.example/a", "https://a.example/t"
      )
      settings.userinfoURL = "https://a.example/u?v=1"
    }
    return settings
  }

  private static func provider(of preset: ProviderPreset) -> Provider? {
    let settings = settings(of: preset)
    guard let issuer = settings.issuer ?? preset.issuer, preset.isDiscovered else {
      return try? Provider(preset, settings, nil)
    }
    let document: JSON = [
      "issuer": .string(issuer), "authorization_endpoint": "https://a.example/a",
      "token_endpoint": "https://a.example/t", "jwks_uri": "https://a.example/k",
      "userinfo_endpoint": "https://a.example/u",
      "authorization_response_iss_parameter_supported":
        true,
    ]
    return (try? ProviderMetadata(document.serialized(), of: preset, settings))
      .flatMap { try? Provider(preset, settings, $0) }
  }

  /// Returns the claims of a token of 1800000000, if it keeps the rules.
  private static func claims(_ line: [UInt8], of provider: Provider) -> IDTokenClaims? {
    let text = "\(Array(#"{"alg":"RS256"}"#.utf8).base64URL).\(line.base64URL).c2ln"
    let rules = IDTokenRules(
      provider, audiences: ["client"], nonce: .exactly("n"), accessToken: "access")
    guard let token = try? IDTokenRules.parse(text),
      let claims = try? rules.verify(token, now: 1_800_000_000)
    else { return nil }
    let members = claims.members
    expect(members["aud"] == "client" || members["aud"]?.array != nil, "another audience")
    expect(members["nonce"] == "n" || !provider.preset.usesNonce, "another nonce")
    expect(members["exp"]?.number?.double ?? 0 >= 1_799_999_941, "an expired token")
    expect(claims.authenticatedAt ?? 0 <= 1_800_000_000, "a sign-in in the future")
    expect(
      provider.preset.hasTenants || areSame(claims.issuer, provider.issuer), "another issuer")
    expectStorable(.object(members), "the claims of a token")
    return claims
  }

  private static func expectSound(_ profile: ProviderProfile, of preset: ProviderPreset) {
    if let email = profile.email {
      expect(email.utf8.count { $0 == UInt8(ascii: "@") } == 1, "no address: \(email)")
      expect(!email.hasControlCharacters, "an address splits a line: \(email)")
    }
    expect(!profile.isEmailVerified || profile.email != nil, "no address is verified")
    expect(!profile.isEmailVerified || preset.name != "facebook", "Facebook verifies none")
    expect(profile.trustedEmail(.never) == nil, "an address is trusted")
    expect(profile.picture?.hasPrefix("https://") ?? true, "a picture without https")
    expect(profile.picture?.utf8.allSatisfy(\.isVisible) ?? true, "a picture's URL has spaces")
    for name in [profile.name, profile.givenName, profile.familyName, profile.nickname] {
      expectName(name)
    }
    expectStorable(
      .array(
        [profile.subject, profile.email, profile.name, profile.tenant].map { .string($0 ?? "") }),
      "a profile")
  }

  private static func expectName(_ name: String?) {
    guard let name else { return }
    expect((1...300).contains(name.unicodeScalars.count), "a long name")
    expect(!name.hasControlCharacters, "a name splits a line")
  }

  private static func areSame(_ first: String, _ second: String) -> Bool {
    first.utf8.elementsEqual(second.utf8)
  }
}
