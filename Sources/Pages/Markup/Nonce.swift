internal import Encoding

/// A random value that permits one inline script of one response.
///
/// - Source: Content Security Policy Level 3 section 2.3.1.
package struct Nonce: Sendable, Hashable {
  /// Letters, digits, hyphens and underscores.
  package let text: String

  /// Encodes random bytes; nil for fewer than 16, which an attacker could guess.
  package init?(bytes: [UInt8]) {
    guard bytes.count >= 16 else { return nil }
    text = bytes.base64URL
  }
}
