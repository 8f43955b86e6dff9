import JSON

/// The head of an issuer's token: what it says that the token is.
enum TokenHead {
  /// Which rule the head breaks; nil when it breaks none.
  ///
  /// Nothing that must be understood (`crit`) is: a token that asks for more than a signature over
  /// its payload, as `b64` does, is another one to who knows the word. `typ` may be absent or `JWT`.
  /// An access token (`at+jwt`) says what a program may do and not who is there: any program that
  /// was given one could log in as the user.
  /// - Source: RFC 7515 section 4.1.11, RFC 7797 section 3, RFC 8725 section 3.11.
  static func fault(in head: JSONObject) -> String? {
    if let name = ["crit", "b64"].first(where: { head[$0] != nil }) {
      return "its head has \(name), which is not understood"
    }
    guard let type = head["typ"] else { return nil }
    return type.string?.lowercased() == "jwt" || type.string?.lowercased() == "application/jwt"
      ? nil : "its typ is not JWT"
  }
}
