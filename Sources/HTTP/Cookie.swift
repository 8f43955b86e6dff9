/// The `Cookie` and `Set-Cookie` fields.
///
/// - Source: RFC 6265 section 5.4.
package enum Cookie {
  /// 400 days, the longest lifetime that browsers allow.
  package static let longestLifetime = Duration.seconds(34_560_000)

  /// Returns the value of the first cookie with this name in a `Cookie` field.
  package static func value(of name: String, in field: String?) -> String? {
    guard let field else { return nil }
    // Compares bytes: by characters, a combining mark after the name would change the match.
    let start = Array("\(name)=".utf8)
    for pair in field.utf8.split(separator: UInt8(ascii: ";")) {
      let pair = pair.drop { $0 == UInt8(ascii: " ") }
      if pair.starts(with: start) { return String(Substring(pair.dropFirst(start.count))) }
    }
    return nil
  }

  /// Returns whether a `Cookie` field has a cookie whose name begins with this prefix.
  package static func has(nameBeginning: String, in field: String?) -> Bool {
    guard let field else { return false }
    return field.utf8.split(separator: UInt8(ascii: ";")).contains {
      $0.drop { $0 == UInt8(ascii: " ") }.starts(with: nameBeginning.utf8)
    }
  }

  /// Returns the field that sets a cookie which scripts cannot read.
  ///
  /// The name begins with `__Host-`, which binds the cookie to this host. The value has only
  /// letters, digits, hyphens and underscores.
  package static func setting(
    _ name: String, to value: String, for lifetime: Duration, _ sameSite: SameSite
  ) -> String {
    "\(name)=\(value); Path=/; Max-Age=\(lifetime.components.seconds); HttpOnly; Secure; \(sameSite.attributes)"
  }

  /// Returns the field that deletes the cookie of that name with the other `SameSite` attribute.
  ///
  /// Browsers store partitioned and unpartitioned cookies separately, and would send both.
  package static func clearing(_ name: String, besides sameSite: SameSite) -> String {
    let other: SameSite = sameSite == .none ? .lax : .none
    return "\(name)=; Path=/; Max-Age=0; HttpOnly; Secure; \(other.attributes)"
  }

  /// The requests with which browsers send a cookie, by the site of the page.
  ///
  /// - Source: draft-ietf-httpbis-rfc6265bis section 5.6.7;
  ///   draft-cutler-httpbis-partitioned-cookies.
  package enum SameSite: String, CaseIterable, Sendable {
    /// Requests of the cookie's own site.
    case strict
    /// Requests of the cookie's own site, and links from other sites.
    case lax
    /// Requests of any site. Each top-level site has its own cookie.
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
