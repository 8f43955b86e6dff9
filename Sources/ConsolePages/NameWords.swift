/// The words of names that programs use, such as `failures_per_ip`.
package enum NameWords {
  /// Words that people write in another way.
  private static let initials = [
    "api": "API", "apis": "APIs", "cors": "CORS", "id": "ID", "ids": "IDs", "ip": "IP",
    "jwks": "JWKS", "jwt": "JWT", "mfa": "MFA", "mails": "emails", "mail": "email",
    "pkce": "PKCE", "rp": "RP", "uri": "URI", "uris": "URIs", "url": "URL", "urls": "URLs",
  ]

  /// Returns a part of an id by which people distinguish things.
  ///
  /// The server's ids begin with their time. Those of one process end equally, so the end says nothing.
  package static func short(_ id: String) -> String { String(id.dropFirst(5).prefix(8)) }

  /// Returns a name as a label, such as “Failures per IP”.
  package static func label(_ name: String) -> String {
    let words = name.split { $0 == "_" || $0 == "-" }.map { initials[String($0)] ?? String($0) }
      .joined(separator: " ")
    return words.prefix(1).uppercased() + words.dropFirst()
  }
}
