import Encoding
import JSON
import OpenIDClient
import WebTokens

/// Issuers, tokens and answers of the tests.
enum Fixtures {
  static let issuer = "https://issuer.example"
  static let now = 1_800_000_000
  static let credentials = ClientCredentials(id: "client", secret: .text("secret"))

  static func settings(issuer: String? = nil, tenants: [String] = []) -> ProviderSettings {
    var settings = ProviderSettings()
    (settings.issuer, settings.tenants) = (issuer, tenants)
    return settings
  }

  /// Returns a discovery document; a change to nil removes a member.
  static func document(
    _ issuer: String = issuer, _ changes: [String: JSON?] = [:]
  ) -> [UInt8] {
    var document: [String: JSON] = [
      "issuer": .string(issuer), "authorization_endpoint": "https://issuer.example/authorize",
      "token_endpoint": "https://issuer.example/token", "jwks_uri": "https://issuer.example/keys",
      "userinfo_endpoint": "https://issuer.example/userinfo",
    ]
    for (name, value) in changes { document[name] = value }
    return JSON.object(JSONObject(document.map { ($0.key, $0.value) })).serialized()
  }

  /// Returns an issuer of a preset, with a discovery document if the preset needs one.
  static func provider(
    _ preset: ProviderPreset = .oidc, issuer: String? = nil, _ changes: [String: JSON?] = [:]
  ) throws -> Provider {
    let settings = settings(issuer: issuer ?? (preset.issuer == nil ? Self.issuer : nil))
    guard let stated = settings.issuer ?? preset.issuer, preset.isDiscovered else {
      return try Provider(preset, settings, nil)
    }
    let metadata = try ProviderMetadata(document(stated, changes), of: preset, settings)
    return try Provider(preset, settings, metadata)
  }

  /// Returns a token, whose signature nothing here verifies; a change to nil removes a claim.
  static func token(
    _ changes: [String: JSON?] = [:], head: String = #"{"alg":"RS256","typ":"JWT"}"#
  ) throws -> SignedToken {
    var claims: [String: JSON] = [
      "iss": .string(issuer), "sub": "ada", "aud": "client", "nonce": "n",
      "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 600)),
    ]
    for (name, value) in changes { claims[name] = value }
    let object = JSON.object(JSONObject(claims.map { ($0.key, $0.value) }))
    return try IDTokenRules.parse(text(head, object))
  }

  static func text(_ head: String, _ claims: JSON) -> String {
    "\(Array(head.utf8).base64URL).\(claims.serialized().base64URL).c2ln"
  }

  static func json(_ text: String) throws -> JSON { try JSON.parse(Array(text.utf8)) }
}
