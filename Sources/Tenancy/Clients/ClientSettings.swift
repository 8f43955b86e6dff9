import JSON
import WebTokens
import Runtime
package import Records

/// The attributes of a client that sign-ins and tokens depend on, which are stored as one column.
package struct ClientSettings: RecordPart {
  /// Where browsers may be sent with a response, compared by bytes.
  package let callbackURLs: [String]
  /// Where browsers may be sent after a sign-out, compared by bytes.
  package let logoutURLs: [String]
  /// Origins of pages that may receive a response by `web_message`.
  package let webOrigins: [String]
  /// Origins of pages that may call the endpoints.
  package let corsOrigins: [String]
  /// Whether confidential clients must use PKCE; see `Client.requiresPKCE`.
  package let pkce: PKCE
  package let claimsProfile: ClaimsProfile
  package let isFirstParty: Bool
  /// Whether users who are signed in confirm a sign-in to an app on their device.
  package let confirmsSignIn: Bool
  /// The allowed ways to sign in; empty for all of the app.
  package let connections: Set<Connection>
  /// Whether it may exchange users' passwords for tokens.
  package let allowsPasswordGrant: Bool
  /// Whether it may mail codes, and exchange them for tokens.
  package let allowsEmailCodeGrant: Bool
  /// Claims of its ID tokens.
  package let claims: ClaimMap
  package let backchannelLogoutURL: String?
  /// A note of the operator.
  package let description: String
  /// The JWK Set by which the client may authenticate in place of its secret; nil for none.
  let assertionKeys: JSON?
  package let logoURL: String?
  package let termsURL: String?
  package let privacyURL: String?
  package let nativeApp: NativeApp
  /// The time without use after which a refresh token expires.
  package let refreshTokenLifetime: Duration

  package enum PKCE: String, CaseIterable, Sendable {
    case required
    case optional
  }

  package enum ClaimsProfile: String, CaseIterable, Sendable {
    /// The claims of OpenID Connect.
    case oidc
    /// The claims as Auth0 has them.
    case auth0
  }

  /// The page after a sign-out that names none: the first URL that does not stand for several.
  package var logoutPage: String? { logoutURLs.first { !AllowedOrigin.isForAnyPort($0) } }

  /// Returns whether the client accepts a way of signing in; nil is a way without a connection.
  package func allows(_ connection: Connection?) -> Bool {
    connections.isEmpty || connection.map(connections.contains) == true
  }

  package init(_ read: inout RecordReader) {
    callbackURLs = read.urls(
      "callback_urls",
      "URLs that /authorize may send browsers to, compared as typed, such as "
        + "https://app.example.com/callback or com.example.app://host/callback; http://localhost:* "
        + "stands for each URL there", auth0: "callbacks")
    logoutURLs = read.urls(
      "logout_urls",
      "URLs that browsers may be sent to after a sign-out, compared as typed; http://localhost:* "
        + "stands for each URL there", auth0: "allowed_logout_urls")
    webOrigins = read.origins(
      "web_origins", "origins of pages that may embed /authorize, with response_mode web_message",
      auth0: "web_origins")
    corsOrigins = read.origins(
      "cors_origins", "origins of pages that may call the endpoints", auth0: "allowed_origins")
    pkce = read.choice(
      "pkce", .optional, safe: .required,
      "whether a client with a secret must use PKCE: required or optional; clients without a secret "
        + "always must"
    )
    claimsProfile = read.choice(
      "claims_profile", .oidc, safe: .oidc,
      "which claims its tokens have: oidc, those of OpenID Connect; auth0, those of Auth0"
    )
    isFirstParty = read.flag(
      "first_party", true, safe: false,
      "whether the client belongs to the app's owner, so that APIs may skip the consent of users",
      .auth0("is_first_party"))
    confirmsSignIn = read.flag(
      "confirm_sign_in", true, safe: true,
      "whether signed-in users confirm a sign-in to an app on the device, or to an http callback "
        + "URL, which another program could receive"
    )
    connections = Set(
      read.texts(
        "connections", Connection.rule,
        "ways to sign in that the client accepts: password, email_code, and names of connections; "
          + "empty for all of the app"
      ).map(Connection.init(name:)))
    allowsPasswordGrant = read.flag(
      "password_grant", false, safe: false,
      "whether the client may ask users for their passwords itself and exchange them at /oauth/token; "
        + "only a client of the app's owner"
    )
    allowsEmailCodeGrant = read.flag(
      "email_code_grant", false, safe: false,
      "whether the client may have codes mailed by /passwordless/start and exchange them at "
        + "/oauth/token; only a client of the app's owner"
    )
    claims = ClaimMap(
      read.object(
        "claims", ClaimMap.rule,
        "claims of its ID tokens, each with its source: {\"plan\": \"app_metadata./plan\"}"))
    backchannelLogoutURL = read.url(
      "backchannel_logout_url",
      "URL that is called when a session ends: https, or http on this machine; empty for none",
      .auth0("oidc_logout"), ClientURL.isCallable)
    description = read.text(
      "description", ColumnRule(.text(0...140)), "", "a note on the client, which users do not see",
      .auth0("description"))
    let keys = read.object(
      "assertion_keys",
      ColumnRule(.object) { value in
        value.object?.count == 0 ? nil : IssuerKeys.fault(inKeySet: value)
      },
      "JWK Set with the public keys of the client, with which it may sign assertions in place of "
        + "sending its secret (private_key_jwt)"
    )
    assertionKeys = keys.count == 0 ? nil : .object(keys)
    logoURL = read.url(
      "logo_url", "https URL of the logo on its pages; empty for none", .auth0("logo_uri"))
    termsURL = read.url("terms_url", "https URL of its terms of service; empty for none")
    privacyURL = read.url("privacy_url", "https URL of its privacy policy; empty for none")
    nativeApp = NativeApp(&read)
    refreshTokenLifetime = read.duration(
      "refresh_token_days", .days, 1...3_650, 30,
      "days without use after which a refresh token expires"
    )
  }

  /// Reads stored settings.
  package init(stored: [UInt8]) {
    var reader = RecordReader((try? JSON.parse(stored))?.object)
    self.init(&reader)
  }

  /// The settings of a client that has chosen none.
  package static let defaults = ClientSettings(stored: Array("{}".utf8))
}

extension RecordReader {
  fileprivate mutating func urls(
    _ name: String, _ meaning: String, auth0 other: String
  ) -> [String] {
    let rule = ColumnRule(.texts(atMost: ClientURL.most)) { value in
      ClientURL.fault(in: value).map { ("url", $0) }
    }
    return texts(name, rule, meaning, .auth0(other))
  }

  fileprivate mutating func origins(
    _ name: String, _ meaning: String, auth0 other: String
  ) -> [String] {
    let rule = ColumnRule(.texts(atMost: AllowedOrigin.most)) { value in
      AllowedOrigin.fault(in: value).map { ("origin", $0) }
    }
    return texts(name, rule, meaning, .auth0(other))
  }

  /// Reads a URL; nil for the empty text.
  fileprivate mutating func url(
    _ name: String, _ meaning: String, _ trait: Column.Trait? = nil,
    _ isValid: @escaping @Sendable (String) -> Bool = ClientURL.isSecure
  ) -> String? {
    let rule = ColumnRule.text(
      0...ClientURL.longest, "url", "This setting must be empty, or a URL: \(meaning)."
    ) { $0.isEmpty || isValid($0) }
    let url = value(
      name, rule, "", safe: "", meaning, traits: trait.map { [$0] } ?? [], JSON.string, \.string)
    return url.isEmpty ? nil : url
  }
}
