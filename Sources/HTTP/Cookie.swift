/// Cookies as a client sends them.
///
/// - Source: RFC 6265 section 5.4.
package enum Cookie {
  /// The value of the first cookie of a name in a `Cookie` field.
  package static func value(of name: String, in field: String?) -> String? {
    guard let field else { return nil }
    // By bytes, as who set it compares: a mark that joins the character before it is no part of it.
    let start = Array("\(name)=".utf8)
    for pair in field.utf8.split(separator: UInt8(ascii: ";")) {
      let pair = pair.drop { $0 == UInt8(ascii: " ") }
      if pair.starts(with: start) { return String(Substring(pair.dropFirst(start.count))) }
    }
    return nil
  }

  /// The field that sets a cookie which no script can read and no other site can send.
  ///
  /// Its name begins with `__Host-`, which binds it to this host; its value has letters, digits,
  /// hyphens and underscores only.
  package static func setting(_ name: String, to value: String, for seconds: Int) -> String {
    "\(name)=\(value); Path=/; Max-Age=\(seconds); HttpOnly; Secure; SameSite=Strict"
  }
}
