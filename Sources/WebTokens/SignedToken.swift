import Encoding
package import JSON

/// A parsed JWT: its header and claims are valid JSON, and nothing is verified.
package struct SignedToken {
  package let head: JSONObject
  package let claims: JSONObject
  /// The signed bytes.
  package let signed: [UInt8]
  package let signature: [UInt8]

  /// Parses a token; returns nil if it is malformed.
  ///
  /// A token has only one valid text: padding and trailing bits are rejected.
  /// - Source: RFC 7515 sections 4 and 7.1.
  package init?(_ text: String) {
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

  /// The algorithm in the header; nil if it is not a string.
  package var algorithm: String? { head["alg"]?.string }
  package var keyID: String? { head["kid"]?.string }
}

/// Checks of the header of an issuer's token.
package enum TokenHead {
  /// Returns the rule that the header breaks; nil if it is valid.
  ///
  /// No critical extension (`crit`, `b64`) is supported: it could change what the signature covers.
  /// `typ` may be absent or `JWT`. An access token (`at+jwt`) states what a program may do, not who
  /// is logging in. Any program with such a token could otherwise log in as the user.
  /// - Source: RFC 7515 section 4.1.11, RFC 7797 section 3, RFC 8725 section 3.11.
  package static func fault(in head: JSONObject) -> String? {
    if let name = ["crit", "b64"].first(where: { head[$0] != nil }) {
      return "its head has \(name), which is not understood"
    }
    guard let type = head["typ"] else { return nil }
    return type.string?.lowercased() == "jwt" || type.string?.lowercased() == "application/jwt"
      ? nil : "its typ is not JWT"
  }
}
