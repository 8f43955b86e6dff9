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

  /// Whether the name of a cookie in a `Cookie` field begins so.
  package static func has(nameBeginning: String, in field: String?) -> Bool {
    guard let field else { return false }
    return field.utf8.split(separator: UInt8(ascii: ";")).contains {
      $0.drop { $0 == UInt8(ascii: " ") }.starts(with: nameBeginning.utf8)
    }
  }

  /// The field that sets a cookie which no script can read.
  ///
  /// Its name begins with `__Host-`, which binds it to this host; its value has letters, digits,
  /// hyphens and underscores only.
  package static func setting(
    _ name: String,
    to value: String,
    for lifetime: Duration,
    _ sameSite: SameSite
  ) -> String {
    "\(name)=\(value); Path=/; Max-Age=\(lifetime.components.seconds); HttpOnly; Secure; \(sameSite.attributes)"
  }

  /// The field that takes away the cookie of that name which browsers keep in the other way, by site
  /// or not: they would go on sending both.
  package static func clearing(_ name: String, besides sameSite: SameSite) -> String {
    let other: SameSite = sameSite == .none ? .lax : .none
    return "\(name)=; Path=/; Max-Age=0; HttpOnly; Secure; \(other.attributes)"
  }

  /// With requests of whose pages browsers send a cookie.
  ///
  /// - Source: draft-ietf-httpbis-rfc6265bis section 5.6.7; draft-cutler-httpbis-partitioned-cookies.
  package enum SameSite: String, CaseIterable, Sendable {
    /// Those of its own site.
    case strict
    /// Those of its own site, and where a link leads to it.
    case lax
    /// Of any site, but for each site at the top of a window another cookie.
    case none

    fileprivate var attributes: String {
      switch self {
      case .strict: "SameSite=Strict"
      case .lax: "SameSite=Lax"
      case .none: "SameSite=None; Partitioned"
      }
    }
  }
}
