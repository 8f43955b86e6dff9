import Crypto
import Encoding
package import JSON
package import WebTokens

/// The rules that the ID token of a sign-in must keep.
///
/// The caller verifies the signature, since only it has the keys.
/// - Source: OpenID Connect Core section 3.1.3.7; RFC 8725 section 3.
package struct IDTokenRules: Sendable {
  private let provider: Provider
  private let audiences: [String]
  private let nonce: NonceRule
  private let accessToken: String?

  /// The nonce that a token must have.
  package enum NonceRule: Sendable {
    /// The nonce of our own request; a token of an issuer without nonces needs none.
    case exactly(String)
    /// The nonce of an app, or its SHA-256 in hexadecimal, which apps send to Apple.
    case valueOrHash(String)
    /// The app uses none.
    case unused
  }

  /// The tolerated difference of the clocks, in seconds.
  private static let leeway = 60

  /// - Parameters:
  ///   - provider: the issuer.
  ///   - audiences: the client ids that a token may be for: that of the connection, and for tokens
  ///     of native apps also theirs.
  ///   - nonce: the nonce.
  ///   - accessToken: the access token of the same answer; nil if it has none.
  package init(
    _ provider: Provider, audiences: [String], nonce: NonceRule, accessToken: String?
  ) {
    (self.provider, self.audiences) = (provider, audiences)
    (self.nonce, self.accessToken) = (nonce, accessToken)
  }

  /// Parses an ID token, whose signature the caller then verifies.
  ///
  /// - Throws: `.invalidIDToken` with the rule that it breaks.
  package static func parse(_ text: String) throws(OpenIDClientError) -> SignedToken {
    guard text.utf8.count <= TokenResponse.tokenLimit, let token = SignedToken(text) else {
      throw .invalidIDToken(rule: "it is not a JWT of at most \(TokenResponse.tokenLimit) bytes")
    }
    if let fault = TokenHead.fault(in: token.head) ?? algorithmFault(of: token) {
      throw .invalidIDToken(rule: fault)
    }
    return token
  }

  /// Returns the rule that the algorithm of a token breaks; nil if a public key can verify it.
  static func algorithmFault(of token: SignedToken) -> String? {
    token.algorithm.map(algorithms.contains) ?? false ? nil : "its alg is not one of a public key"
  }

  private static let algorithms: Set<String> = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    "Ed25519",
  ]

  /// Verifies the claims of a token, whose signature is valid.
  ///
  /// - Parameters:
  ///   - token: the parsed token.
  ///   - now: the time in seconds since 1970.
  /// - Returns: its claims.
  /// - Throws: `.invalidIDToken` with the rule that it breaks.
  package func verify(_ token: SignedToken, now: Int) throws(OpenIDClientError) -> IDTokenClaims {
    let claims = token.claims
    let issuer = try issuer(of: claims)
    try verifyAudience(of: claims)
    try verifyTimes(of: claims, now: now)
    // Section 2.4 of Back-Channel Logout: such a token may have all that an ID token must have.
    guard claims["events"]?[LogoutToken.event] == nil else {
      throw .invalidIDToken(rule: "it is a logout token")
    }
    try verifyNonce(of: claims)
    try verifyHash(in: claims, token.algorithm)
    guard let subject = claims["sub"]?.string, ProfileText.isSubject(subject) else {
      throw .invalidIDToken(rule: "its sub is not a text of 1 to 255 bytes")
    }
    return IDTokenClaims(
      issuer: issuer, subject: subject, members: claims,
      authenticatedAt: try time("auth_time", in: claims).map { min($0, now) },
      methods: claims["amr"]?.array?.prefix(20).compactMap(\.string) ?? [],
      sessionID: Self.sessionID(in: claims)
    )
  }

  /// Returns the session at the issuer; nil if the claims name none.
  static func sessionID(in claims: JSONObject) -> String? {
    claims["sid"]?.string.flatMap { ProfileText.isSubject($0) ? $0 : nil }
  }

  func issuer(of claims: JSONObject) throws(OpenIDClientError) -> String {
    let tenant = provider.preset.places[.tenant]?.lazy.compactMap { $0.value(in: claims)?.string }
      .first
    if let stated = claims["iss"]?.string {
      if let issuer = provider.canonicalIssuer(stated, tenant: tenant) { return issuer }
      guard !provider.isOfOtherTenant(stated, tenant) else { throw .tenantNotAllowed }
    }
    throw .invalidIDToken(rule: "its iss is not the issuer")
  }

  func verifyAudience(of claims: JSONObject) throws(OpenIDClientError) {
    let stated = claims["aud"]
    let named = stated?.array ?? stated.map { [$0] } ?? []
    let texts = named.compactMap(\.string)
    guard texts.count == named.count, texts.contains(where: isOurs) else {
      throw .invalidIDToken(rule: "its aud is not the client")
    }
    // A token of an app's SDK may name the app as its party, and this client as its audience.
    let mayNameApp = if case .exactly = nonce { false } else { true }
    guard texts.count > 1 || claims["azp"] != nil && !mayNameApp else { return }
    guard let party = claims["azp"]?.string, isOurs(party) else {
      let rule = texts.count > 1 ? "it has several audiences, and its azp" : "its azp"
      throw .invalidIDToken(rule: "\(rule) is not the client")
    }
  }

  func verifyTimes(of claims: JSONObject, now: Int) throws(OpenIDClientError) {
    guard let expires = try time("exp", in: claims), try time("iat", in: claims) != nil else {
      throw .invalidIDToken(rule: "it lacks exp or iat")
    }
    guard expires > now - Self.leeway else {
      throw .invalidIDToken(rule: "its exp is in the past")
    }
    for name in ["iat", "nbf", "auth_time"] {
      guard try time(name, in: claims) ?? 0 <= now + Self.leeway else {
        throw .invalidIDToken(rule: "its \(name) is in the future")
      }
    }
  }

  private func isOurs(_ audience: String) -> Bool {
    audiences.contains { $0.hasSameBytes(as: audience) }
  }

  /// Returns a time of the claims in whole seconds; nil if the claim is missing.
  func time(_ name: String, in claims: JSONObject) throws(OpenIDClientError) -> Int? {
    guard let claim = claims[name], claim != .null else { return nil }
    guard let seconds = claim.number?.double, (0...1e15).contains(seconds) else {
      throw .invalidIDToken(rule: "its \(name) is no time")
    }
    return Int(seconds)
  }

  private func verifyNonce(of claims: JSONObject) throws(OpenIDClientError) {
    let stated = claims["nonce"]?.string
    let isRight =
      switch nonce {
      case .exactly(let nonce):
        stated.map(nonce.hasSameBytes) ?? !provider.preset.usesNonce
      case .valueOrHash(let nonce):
        stated?.hasSameBytes(as: nonce) ?? false
          || stated?.hasSameBytes(as: Self.hash(nonce)) ?? false
      case .unused: true
      }
    guard isRight else { throw .invalidIDToken(rule: "its nonce is not that of the request") }
  }

  private static func hash(_ nonce: String) -> String {
    String(hexadecimal: Array(SHA256.hash(data: Array(nonce.utf8))))
  }

  /// - Source: OpenID Connect Core section 3.1.3.6.
  private func verifyHash(in claims: JSONObject, _ algorithm: String?) throws(OpenIDClientError) {
    guard let stated = claims["at_hash"], let accessToken else { return }
    let token = Array(accessToken.utf8)
    let hash: [UInt8] =
      switch algorithm?.suffix(3) {
      case "256": Array(SHA256.hash(data: token))
      case "384": Array(SHA384.hash(data: token))
      default: Array(SHA512.hash(data: token))
      }
    guard let text = stated.string,
      text.hasSameBytes(as: Array(hash.prefix(hash.count / 2)).base64URL)
    else { throw .invalidIDToken(rule: "its at_hash is not that of the access token") }
  }
}

/// The claims of a verified ID token.
package struct IDTokenClaims: Sendable {
  /// The issuer as it is in identities.
  package let issuer: String
  package let subject: String
  /// All claims, as the issuer stated them.
  package let members: JSONObject
  /// When the issuer last authenticated the user, in seconds since 1970; nil if it does not say.
  package let authenticatedAt: Int?
  /// How it did: the values of `amr`.
  package let methods: [String]
  /// The session at the issuer, for its sign-out; nil if the token names none.
  package let sessionID: String?
}
