internal import Crypto
import Encoding
package import JSON
import Runtime
import WebTokens

/// A token of an external issuer, parsed but not verified.
struct ExternalToken {
  let token: SignedToken
  /// Nil if the token has no `iss`.
  let issuer: String?
  let subject: String
  /// The audiences of the token: one, or a list that may be empty; nil if it has no `aud`.
  let audiences: [String]?
  /// Seconds since 1970, possibly with a fraction.
  let expires: Double
  /// Seconds since 1970, possibly with a fraction; nil if the token has no `nbf`.
  let begins: Double?

  /// All claims, as JSON within our limits.
  var members: JSONObject { token.claims }

  /// Parses a token.
  ///
  /// - Throws: `.invalidExternalToken` with the rule that it breaks.
  /// - Source: RFC 7519 sections 2 and 4.1.
  init(_ text: String) throws(Failure) {
    guard text.utf8.count <= 16_384, let token = SignedToken(text),
      let subject = token.claims["sub"]?.string,
      let expires = token.claims["exp"]?.number?.double
    else { throw .invalidExternalToken(rule: "it is not a JWT with sub and exp") }
    if let fault = TokenHead.fault(in: token.head) { throw .invalidExternalToken(rule: fault) }
    (self.token, self.subject, self.expires) = (token, subject, expires)
    // A claim that is present but not a string is wrong, not missing.
    issuer = token.claims["iss"]?.string
    guard issuer != nil || token.claims["iss"] == nil else {
      throw .invalidExternalToken(rule: "its iss is not a string")
    }
    begins = token.claims["nbf"]?.number?.double
    guard begins != nil || token.claims["nbf"] == nil else {
      throw .invalidExternalToken(rule: "its nbf is no number")
    }
    guard let audience = token.claims["aud"] else {
      audiences = nil
      return
    }
    let listed = audience.array ?? [audience]
    let texts = listed.compactMap(\.string)
    audiences = texts
    guard texts.count == listed.count else {
      throw .invalidExternalToken(rule: "its aud is neither a string nor a list of strings")
    }
  }

  /// Returns whether the claim `nonce` is a nonce, or its SHA-256 in lower-case hexadecimal.
  ///
  /// An app on Apple's devices sends Apple the hash, so that only the app knows the nonce.
  /// - Source: OpenID Connect Core section 3.1.3.7.
  func isMeant(for nonce: String) -> Bool {
    guard let claim = members["nonce"]?.string, !nonce.isEmpty else { return false }
    return claim.hasSameBytes(as: nonce)
      || claim.hasSameBytes(as: String(hexadecimal: SHA256.hash(data: Array(nonce.utf8))))
  }

  /// Returns which of `iat` and `auth_time` is later than a time; nil if neither is.
  ///
  /// Both claims date past events. A token from the future would count as fresh for long. An
  /// attacker may make one, or an issuer whose clock is wrong.
  func timeInFuture(from latest: Int) -> String? {
    ["iat", "auth_time"].first { (members[$0]?.number?.double ?? 0) > Double(latest) }
  }

  /// Returns when the issuer last authenticated the user, from `auth_time`; nil if it has none.
  ///
  /// The result is 0 if the claim is no positive number, and never later than `now`.
  /// - Source: OpenID Connect Core section 2.
  func authenticatedAt(_ now: Int) -> Int? { time("auth_time", now) }

  /// Returns when a sign-in by the token took place, from `auth_time` or else `iat`; nil for now.
  ///
  /// `iat` bounds the age of the proof. It does not prove that the user took part.
  /// - Source: RFC 7519 section 4.1.6.
  func signedInAt(_ now: Int) -> Int? { time("auth_time", now) ?? time("iat", now) }

  private func time(_ name: String, _ now: Int) -> Int? {
    guard let claim = members[name] else { return nil }
    guard let seconds = claim.number?.double, seconds > 0 else { return 0 }
    return seconds < Double(now) ? Int(seconds) : now
  }
}

/// The claims of an issuer's token that an identity keeps, as texts by their names here.
///
/// They show what the issuer last stated. They prove nothing: an address among them is not the
/// address of the user.
package struct IdentityClaims: Sendable {
  package private(set) var values = JSONObject()
  /// The names of the operator for which the token has no claim.
  package internal(set) var absent: [String] = []

  /// In bytes, as JSON: with the profile of a link, an exported identity can be imported.
  private static let limit = 2_000
  private static let valueLimit = 1_000
  package static let countLimit = 50

  package init() {}

  /// Adds a claim, unless its name is invalid, it is too long, or is no text, number or boolean.
  package mutating func add(_ name: String, _ claim: JSON?) {
    guard Self.isName(name) else { return }
    let text: String
    switch claim {
    case .string(let value): text = value
    case .number(let value): text = value.text
    case .bool(let value): text = value ? "true" : "false"
    case .null, .array, .object, nil: return
    }
    guard (1...Self.valueLimit).contains(text.utf8.count) else { return }
    var values = values
    values[name] = .string(text)
    guard values.count <= Self.countLimit,
      JSON.object(values).serialized().count <= Self.limit
    else { return }
    self.values = values
  }

  /// Returns whether a claim may have this name: one of a property in code, except `id`.
  package static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && text != "id"
      && text.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
  }
}
