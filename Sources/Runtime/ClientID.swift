import Encoding

/// The id of a client: one as other resources have it, or the one that it had at another server.
///
/// Tokens repeat it as their audience, so it is compared by its bytes. It is unique in the
/// deployment.
/// - Source: RFC 6749 section 2.2, whose characters it limits to those that a path and a name of a
///   principal can contain.
package struct ClientID: Identifier {
  package let text: String

  package init(trusted text: String) { self.text = text }

  /// Creates a new id.
  package init() { text = ObjectIDSource.next() }

  /// Parses a client's text; returns nil if it breaks `rule`.
  package init?(_ text: some StringProtocol) {
    guard let first = text.utf8.first, first.isLetterOrDigit, text.utf8.count <= Self.longest,
      text.utf8.allSatisfy({ $0.isLetterOrDigit || Self.marks.contains($0) })
    else { return nil }
    self.text = String(text)
  }

  package static let rule =
    "An id must have 1 to \(longest) letters, digits and - . _ ~, and begin with a letter or a digit."
  package static let pattern = "^[A-Za-z0-9][A-Za-z0-9._~-]{0,\(longest - 1)}$"

  /// The account page, which signs its user in as a client does; no client may have this id.
  package static let pages = ClientID(trusted: String(repeating: "0", count: 24))

  private static let longest = 64
  private static let marks = Array("-._~".utf8)
}
