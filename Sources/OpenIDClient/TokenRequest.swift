import Crypto
import Encoding
import JSON

/// The id of a client at an issuer, and its secret.
package struct ClientCredentials: Sendable {
  package let id: String
  package let secret: ClientSecret

  package init(id: String, secret: ClientSecret) { (self.id, self.secret) = (id, secret) }
}

package enum ClientSecret: Sendable {
  /// A public client, which relies on its code challenge.
  case none
  case text(String)
  /// A private key, which signs a secret for each request.
  case key(ClientSecretKey)
}

/// A private key that signs client secrets.
///
/// - Source: Apple, "Creating a client secret".
package struct ClientSecretKey: Sendable {
  private let key: P256.Signing.PrivateKey
  private let keyID: String
  private let teamID: String

  /// How long a secret is valid, in seconds: a request takes less, and clocks differ.
  private static let lifetime = 300

  /// Reads a key.
  ///
  /// - Parameters:
  ///   - pem: the private key of the curve P-256, as PKCS #8 in PEM.
  ///   - keyID: the id of the key at the issuer.
  ///   - teamID: the id of the operator's team at the issuer.
  /// - Throws: `.invalidClientSecret` with the rule that it breaks.
  package init(pem: String, keyID: String, teamID: String) throws(OpenIDClientError) {
    guard pem.utf8.count <= 4_096, let key = try? P256.Signing.PrivateKey(pemRepresentation: pem)
    else {
      throw .invalidClientSecret(rule: "it is no private key of the curve P-256 as PKCS #8 in PEM")
    }
    for (name, id) in [("key_id", keyID), ("team_id", teamID)] {
      guard (1...64).contains(id.utf8.count), id.utf8.allSatisfy(\.isLetterOrDigit) else {
        throw .invalidClientSecret(rule: "its \(name) is not 1 to 64 letters and digits")
      }
    }
    (self.key, self.keyID, self.teamID) = (key, keyID, teamID)
  }

  /// Returns the secret for a request that begins now.
  ///
  /// - Parameters:
  ///   - clientID: the client: a services id, or the bundle id of an app.
  ///   - issuer: the issuer.
  ///   - now: the time in seconds since 1970.
  /// - Returns: a token that is valid for 5 minutes.
  /// - Throws: `.invalidClientSecret` if it cannot be signed.
  package func secret(
    for clientID: String, at issuer: String, now: Int
  ) throws(OpenIDClientError) -> String {
    let head: JSON = ["alg": "ES256", "kid": .string(keyID), "typ": "JWT"]
    let claims: JSON = [
      "iss": .string(teamID), "iat": .number(JSONNumber(now)),
      "exp": .number(JSONNumber(now + Self.lifetime)), "aud": .string(issuer),
      "sub": .string(clientID),
    ]
    let signed = "\(head.serialized().base64URL).\(claims.serialized().base64URL)"
    guard let signature = try? key.signature(for: Array(signed.utf8)) else {
      throw .invalidClientSecret(rule: "its key cannot sign")
    }
    return "\(signed).\(Array(signature.rawRepresentation).base64URL)"
  }
}

/// A form for an endpoint at which a client authenticates.
package struct TokenRequest: Sendable {
  package let url: String
  package let form: String
  /// The credentials of a field `Authorization`; nil if the form has them.
  ///
  /// The sender encodes both parts as RFC 6749 section 2.3.1 says.
  package let basic: (user: String, password: String)?

  /// The request that exchanges a code for tokens.
  ///
  /// - Parameters:
  ///   - grant: the code.
  ///   - credentials: the client.
  ///   - provider: the issuer.
  ///   - now: the time in seconds since 1970.
  /// - Throws: `.invalidClientSecret`, `.invalidSettings` if the secret is not of the issuer's kind.
  /// - Source: RFC 6749 section 4.1.3; RFC 7636 section 4.5.
  package init(
    exchanging grant: CodeGrant, _ credentials: ClientCredentials, at provider: Provider, now: Int
  ) throws(OpenIDClientError) {
    var form = [("grant_type", "authorization_code"), ("code", grant.code)]
    if let uri = grant.redirectURI { form.append(("redirect_uri", uri)) }
    if let verifier = grant.verifier { form.append(("code_verifier", verifier)) }
    try self.init(provider.tokenURL, form, credentials, at: provider, now: now)
  }

  /// The request that revokes a refresh token; nil if the issuer has no endpoint for it.
  ///
  /// - Throws: as `init(exchanging:)`.
  /// - Source: RFC 7009 section 2.1.
  package init?(
    revoking token: String, _ credentials: ClientCredentials, at provider: Provider, now: Int
  ) throws(OpenIDClientError) {
    guard let url = provider.revocationURL else { return nil }
    let form = [("token", token), ("token_type_hint", "refresh_token")]
    try self.init(url, form, credentials, at: provider, now: now)
  }

  private init(
    _ url: String, _ members: [(String, String)], _ credentials: ClientCredentials,
    at provider: Provider, now: Int
  ) throws(OpenIDClientError) {
    var form: [(name: String, value: String)] = members.map { ($0.0, $0.1) }
    switch (credentials.secret, provider.authentication) {
    case (.none, .basic), (.none, .post):
      (basic, form) = (nil, form + [("client_id", credentials.id)])
    case (.text(let secret), .basic): basic = (credentials.id, secret)
    case (.text(let secret), .post):
      (basic, form) = (nil, form + [("client_id", credentials.id), ("client_secret", secret)])
    case (.key(let key), .signedSecret):
      let secret = try key.secret(for: credentials.id, at: provider.issuer, now: now)
      (basic, form) = (nil, form + [("client_id", credentials.id), ("client_secret", secret)])
    case (.key, .basic), (.key, .post):
      throw .invalidSettings(rule: "its client_secret is a key, which this issuer does not use")
    case (.none, .signedSecret), (.text, .signedSecret):
      throw .invalidSettings(rule: "its client_secret is no key, which this issuer demands")
    }
    (self.url, self.form) = (url, FormBody.text(form))
  }
}
