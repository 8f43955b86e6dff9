package import JSON

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
