import JSON
import Testing

@testable import Runtime
@testable import Tenancy
import Records

/// The rules for the URLs, origins and claims of clients.
@Suite struct ClientRulesTests {
  @Test(arguments: [
    "https://app.example.com/callback", "https://app.example.com", "https://APP.example.com/CB?x=1",
    "https://app.example.com:8443/", "https://192.0.2.1/cb", "https://[2001:db8::1]:444/cb",
    "http://localhost:3000/cb", "http://127.0.0.1/cb", "http://[::1]:9000/cb", "HTTP://LocalHost/",
    "com.Example.my-app://host/callback", "com.example.app2:/cb", "myapp:/cb", "MyApp://cb",
    "com.example.app://tenant.example.com/ios/com.example.app/callback", "a+b:x",
  ])
  func `browsers may be sent to the URLs of apps and pages`(_ url: String) {
    #expect(ClientURL.reason(against: url) == nil)
  }

  @Test(arguments: [
    "", "/callback", "callback", "//host/cb", "1app:/cb", "my_app:/cb", ":x", "myapp:",
    "my app:/cb",
    "https://", "https:/cb", "https:cb", "https://user@example.com/", "https://a:b@example.com/",
    "https://example.com:0/", "https://example.com:65536/", "https://example.com:x/",
    "https://example.com:/", "https://exa%6dple.com/", "https://[::1/", "https://[]/",
    "https://[::1]x/", "https://a.example\\@b.example/",
    "http://example.com/", "http://localhost.example.com/", "http://127.0.0.2/", "http://0/",
    "https://example.com/#", "myapp:/cb#x", "https://example.com/a b", "https://example.com/\n",
    "https://example.com/ä", "https://ex\u{e4}mple.com/", "https://example.com/{x}",
    "https://example.com/\"", "https://example.com/<", "https://example.com/\u{0}",
    "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "DATA:x",
    "file:///etc/passwd",
    "vbscript:x", "about:blank", "blob:https://a.example/x", "filesystem:x", "view-source:x",
    "intent://x", "mailto:a@example.com", "ftp://a.example/", "wss://a.example/", "TEL:1",
  ])
  func `browsers may not be sent to other texts`(_ url: String) {
    #expect(ClientURL.reason(against: url) != nil)
  }

  @Test(arguments: ["http://localhost:*", "https://127.0.0.1:*", "http://[::1]:*"])
  func `an origin of the local machine stands for every URL there`(_ known: String) {
    #expect(ClientURL.fault(in: [.string(known)]) == nil)
    #expect(ClientURL.reason(against: known) != nil)
    let origin = known.dropLast(2)
    for rest in ["", "/", ":5173", ":5173/", ":1/a/b?c=1", "?a", ":65535/cb"] {
      #expect(ClientURL.matches(known, origin + rest), "\(rest)")
    }
    for rest in [
      ":*", ":*/", ":", ":0/", ":65536/", ":5x/", ":99999999999999999999/",
      ".evil.example/", "@evil.example/", ":80@evil.example/", ":80\\@evil.example/", "#", ":80/#a",
      ":80/a b", ":80/\n", "x/",
    ] {
      #expect(!ClientURL.matches(known, origin + rest), "\(rest)")
    }
    #expect(!ClientURL.matches(known, "http://evil.example/") && !ClientURL.matches(known, "a:/x"))
    #expect(!ClientURL.matches(known, "ftp://localhost:5173/"))
  }

  @Test(arguments: [
    "*", "http://*", "https://*.example.com/", "https://example.com:*", "http://localhost:*/cb",
    "http://localhost.evil.example:*", "http://127.0.0.2:*", "http://localhost:5*",
    "HTTP://localhost:*",
  ])
  func `no other URL may have a star in its host`(_ url: String) {
    #expect(ClientURL.fault(in: [.string(url)])?.isEmpty == false)
  }

  @Test(arguments: [
    ("http://localhost:3317/*", true), ("https://a.example/*", true), ("myapp:/*", true),
    ("http://localhost:*", false), ("http://[::1]:*", false), ("https://a.example/cb", false),
  ])
  func `a star is a pattern only for each port of this machine`(_ url: String, _ isRefused: Bool) {
    #expect((ClientURL.wildcardReason(against: url) != nil) == isRefused)
  }

  @Test func `a URL and a list of URLs have limits`() {
    let long = "https://a.example/" + String(repeating: "x", count: 1_982)
    #expect(long.utf8.count == 2_000)
    #expect(ClientURL.fault(in: [.string(long)]) == nil)
    #expect(ClientURL.fault(in: [.string(long + "x")]) != nil)
    let many = [JSON](repeating: "myapp:/cb", count: 100)
    #expect(ClientURL.fault(in: .array(many)) == nil)
    #expect(ClientURL.fault(in: .array(many + ["myapp:/cb"])) != nil)
    #expect(ClientURL.fault(in: [1]) != nil)
    #expect(ClientURL.fault(in: "myapp:/cb") != nil)
  }

  @Test func `the server calls and links only certain URLs`() {
    #expect(ClientURL.isCallable("https://a.example/logout"))
    #expect(ClientURL.isCallable("http://localhost:3000/logout"))
    #expect(!ClientURL.isCallable("http://a.example/logout") && !ClientURL.isCallable("myapp:/x"))
    #expect(ClientURL.isSecure("https://a.example/logo.png"))
    #expect(!ClientURL.isSecure("http://localhost/logo.png") && !ClientURL.isSecure("myapp:/x"))
  }

  private func map(_ text: String) throws -> JSONObject {
    try #require(try JSON.parse(Array(text.utf8)).object)
  }

  @Test func `a map of claims has sources of four kinds`() throws {
    let object = try map(
      """
      {"a":"profile.given_name","b":"metadata./x/y~1z","c":"app_metadata.","d":{"value":[1,null]}}
      """)
    #expect(ClaimMap.faults(in: object).isEmpty)
    let map = ClaimMap(object)
    #expect(map.entries.map(\.claim) == ["a", "b", "c", "d"])
    #expect(map.readsMetadata && map.readsAppMetadata && !map.isEmpty)
    guard case .profile(.givenName) = map.entries[0].source,
      case .metadata(let pointer) = map.entries[1].source,
      case .appMetadata(let whole) = map.entries[2].source,
      case .constant(let value) = map.entries[3].source
    else {
      Issue.record("a source of another kind")
      return
    }
    #expect(pointer.tokens == ["x", "y/z"] && whole.tokens.isEmpty)
    #expect(value == [1, .null])
    #expect(ClaimMap.none.isEmpty && !ClaimMap.none.readsMetadata)
  }

  @Test(arguments: [
    #""profile.""#, #""profile.password""#, #""profile""#, #""Profile.name""#, #""metadata.x""#,
    #""metadata./~2""#, #""user_metadata./x""#, #""""#, "1", "null", "[]", "{}",
    #"{"value":1,"x":2}"#, #"{"Value":1}"#,
  ])
  func `another source is refused, and left out of a stored map`(_ source: String) throws {
    let object = try map(#"{"x":\#(source)}"#)
    #expect(ClaimMap.rule.faults(in: .object(object), at: "/claims").map(\.place) == ["/claims/x"])
    #expect(ClaimMap(object).isEmpty)
  }

  @Test func `claims that standards use are refused`() throws {
    for claim in ClaimMap.reserved.union(["", "a\u{7}", String(repeating: "x", count: 201)]) {
      let object = JSONObject([(claim, "profile.name")])
      #expect(ClaimMap.faults(in: object).map(\.code) == ["claim"], "\(claim)")
    }
    for claim in ["Sub", "https://example.com/roles", "sub\u{301}", "roles"] {
      #expect(ClaimMap.faults(in: JSONObject([(claim, "profile.name")])).isEmpty, "\(claim)")
    }
  }

  @Test func `a map has limits`() {
    let claims = (0..<50).map { ("claim\($0)", JSON.string("profile.name")) }
    #expect(ClaimMap.faults(in: JSONObject(claims)).isEmpty)
    let more = claims + [("one more", "profile.name")]
    #expect(ClaimMap.faults(in: JSONObject(more)).map(\.code) == ["length"])
    let long = JSONObject([("x", ["value": .string(String(repeating: "x", count: 1_000))])])
    #expect(ClaimMap.faults(in: long).map(\.code) == ["length"])
  }

  @Test func `settings of a client have safe defaults`() {
    let usual = ClientSettings.defaults
    #expect(usual.pkce == .optional && usual.claimsProfile == .oidc && usual.isFirstParty)
    #expect(usual.callbackURLs.isEmpty && usual.connections.isEmpty && usual.claims.isEmpty)
    #expect(usual.logoURL == nil && usual.backchannelLogoutURL == nil)
    #expect(usual.refreshTokenLifetime == .seconds(30 * 86_400))
    let chosen = ClientSettings(
      stored: Array(
        #"""
        {"pkce":7,"first_party":"x","connections":["email_code"],"logo_url":"https://a.example/l",
        "refresh_token_days":1,"claims":{"x":"nope","y":"profile.name"}}
        """#.utf8
      )
    )
    #expect(chosen.pkce == .required && !chosen.isFirstParty)
    #expect(chosen.connections == [.emailCode] && chosen.logoURL == "https://a.example/l")
    #expect(chosen.claims.entries.map(\.claim) == ["y"])
    #expect(chosen.refreshTokenLifetime == .seconds(86_400))
  }

  @Test func `a client may name ways to sign in that the app may get later`() {
    let shape = RecordShape([ClientSettings.self])
    func faults(_ names: [JSON]) -> [String] {
      let rule = shape.column(named: "connections")?.rule
      return rule?.faults(in: .array(names), at: "/connections").map(\.place) ?? ["none"]
    }
    #expect(faults(["password", "email_code", "google", "google-oauth2", "a1"]) == [])
    let wrong: [JSON] = ["", "Google", "-a", "e_mail", "password ", "g\u{f6}", "a/b", 7, .null]
    #expect(faults(wrong) == wrong.indices.map { "/connections/\($0)" })
    #expect(faults([JSON](repeating: "a", count: 23)) == ["/connections"])

    let chosen = ClientSettings(stored: Array(#"{"connections":["password","google"]}"#.utf8))
    #expect(chosen.allows(.password) && chosen.allows(.named("google")))
    #expect(!chosen.allows(.emailCode) && !chosen.allows(.named("apple")) && !chosen.allows(nil))
    #expect(ClientSettings.defaults.allows(.named("apple")) && ClientSettings.defaults.allows(nil))
  }

  @Test func `a native app has the names that Apple and Android give it`() {
    let shape = RecordShape([ClientSettings.self])
    func faults(_ name: String, _ values: [JSON]) -> [[String]] {
      values.map { value in
        shape.change(of: nil, by: JSONObject([(name, value)])).faults.map {
          "\($0.place) \($0.code)"
        }
      }
    }
    let long = String(repeating: "a", count: 256)
    for (name, code, valid, wrong) in [
      (
        "apple_team_id", "team_id", ["", "A1B2C3D4E5"],
        ["A1B2C3D4E", "A1B2C3D4E51", "a1b2c3d4e5", "A1B2C3D4E ", "A1B2C3D4\u{c9}", "A1B2-3D4E5"]
      ),
      (
        "apple_bundle_id", "bundle_id", ["", "com.example.app", "App-1"],
        [".", "a..b", "a.", "com.example.my_app", "com example", "*", "\u{e9}.b"]
      ),
      (
        "android_package", "package", ["", "com.example.app", "A.b_1"],
        ["app", "com.1a", "com._a", "com.a-b", "com..a", "com.a.", ".com.a", "com.\u{e9}"]
      ),
    ] as [(String, String, [String], [String])] {
      #expect(faults(name, valid.map(JSON.string)) == valid.map { _ in [] }, "\(name)")
      #expect(
        faults(name, wrong.map(JSON.string)) == wrong.map { _ in ["/\(name) \(code)"] }, "\(name)")
      #expect(faults(name, [7, [], .string(long)]) == (0..<3).map { _ in ["/\(name) length"] })
    }
  }

  @Test func `a fingerprint is stored as Android's tools print it`() {
    let shape = RecordShape([ClientSettings.self])
    let bytes = (0..<32).map { UInt8($0 * 8) }
    let upper = bytes.map { String($0, radix: 16).uppercased() }
      .map { $0.utf8.count < 2 ? "0\($0)" : $0 }
    func change(_ values: [JSON]) -> RecordChange {
      shape.change(of: nil, by: JSONObject([("android_certificates", .array(values))]))
    }
    let (colons, plain) = (upper.joined(separator: ":"), upper.joined())
    let change1 = change([colons, colons.lowercased(), plain, plain.lowercased()].map(JSON.string))
    #expect(change1.faults.isEmpty)
    #expect(
      change1.after["android_certificates"]
        == .array([JSON](repeating: .string(colons), count: 4)))
    let wrong: [JSON] = [
      "", ":", .string(String(colons.dropLast())), .string(String(colons.dropLast(3))),
      .string(colons + ":00"), .string(colons + ":"), .string(plain + "00"),
      .string(colons.replacing("08", with: "0G")), .string(colons.replacing(":", with: "-")),
      .string(colons.replacing("00:08", with: "0008")), .string(" \(colons)"),
      .string(plain.replacing("08", with: "0\u{ff18}")), 7, .null, [],
    ]
    let faults = change(wrong).faults
    #expect(faults.map(\.place) == wrong.indices.map { "/android_certificates/\($0)" })
    #expect(Set(faults.map(\.code)) == ["fingerprint"])
    let many = [JSON](repeating: .string(plain), count: 21)
    #expect(change(many).faults.map(\.place) == ["/android_certificates"])
    let origin = CertificateFingerprint(plain)?.origin
    #expect(origin?.hasPrefix("android:apk-key-hash:AAgQGCAo") == true)
  }

  @Test func `a native app has all that a system needs, or nothing`() {
    func faults(_ members: [String: JSON]) -> [String] {
      var reader = RecordReader(JSONObject(members.map { ($0.key, $0.value) }))
      return NativeApp(&reader).faults.map { "\($0.place) \($0.code)" }
    }
    #expect(faults([:]) == [])
    #expect(faults(["apple_team_id": "A1B2C3D4E5"]) == ["/apple_bundle_id missing"])
    #expect(faults(["apple_bundle_id": "a.b"]) == ["/apple_team_id missing"])
    #expect(faults(["android_package": "a.b"]) == ["/android_certificates missing"])
    #expect(faults(["android_certificates": ["00"]]) == ["/android_package missing"])
    #expect(faults(["apple_team_id": "A1B2C3D4E5", "apple_bundle_id": "a.b"]) == [])
    #expect(faults(["android_package": "a.b", "android_certificates": ["00"]]) == [])
  }

  @Test func `a way to sign in has its name, and the name at Auth0`() {
    typealias Connection = ClientSettings.Connection
    #expect(Connection(name: "email_code") == .emailCode)
    #expect(Connection(name: "email") == .named("email"))
    #expect(Connection(auth0Name: "email") == .emailCode)
    #expect(Connection(auth0Name: "Username-Password-Authentication") == .password)
    #expect(Connection(auth0Name: "github") == .named("github"))
    #expect(Connection.named("\u{e9}") != .named("e\u{301}"))
    let reserved = [
      "password", "Username-Password-Authentication", "email_code", "email", "auth0", "anonymous",
    ]
    for name in reserved { #expect(Connection.fault(inName: name)?.code == "reserved") }
    for name in ["google", "Auth0", "emails", ""] { #expect(Connection.fault(inName: name) == nil) }
  }
}
