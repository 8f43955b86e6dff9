import JSON
import Notation

/// A JWT as it came: its head and its claims have passed our gate, and nothing in it is verified.
struct SignedToken {
  let head: JSONObject
  let claims: JSONObject
  /// What the signature is of.
  let signed: [UInt8]
  let signature: [UInt8]

  /// Reads a token; nil for what is none.
  ///
  /// One token has one text: padding, and bits behind the last byte, are refused.
  /// - Source: RFC 7515 sections 4 and 7.1.
  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let head = Self.object(parts[0]), let claims = Self.object(parts[1]),
      let signature = [UInt8](base64URL: parts[2])
    else { return nil }
    (self.head, self.claims, self.signature) = (head, claims, signature)
    signed = Array(text.utf8[..<parts[1].endIndex])
  }

  private static func object(_ part: Substring) -> JSONObject? {
    [UInt8](base64URL: part).flatMap { (try? JSON.parse($0))?.object }
  }

  /// What its head says that it is signed by; nil when that is no string.
  var algorithm: String? { head["alg"]?.string }
  var keyID: String? { head["kid"]?.string }
}
