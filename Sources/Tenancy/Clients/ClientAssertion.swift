import EventLoop
import Glibc
import JSON
import Runtime
import WebTokens

extension Client {
  /// Returns whether a token proves that its sender is this client.
  ///
  /// The client signs the token with one of its own keys. A token that lives longer than five
  /// minutes is refused, as the server does not remember which ones were used.
  /// - Parameters:
  ///   - text: the token.
  ///   - audiences: the names of this server, of which the token must have one.
  /// - Returns: false for any other token.
  /// - Source: RFC 7523 section 3.
  @EventLoop package func isProven(by text: String, at audiences: [String]) -> Bool {
    guard let keys = settings.assertionKeys, let assertion = try? ExternalToken(text),
      assertion.issuer?.hasSameBytes(as: id.text) == true,
      assertion.subject.hasSameBytes(as: id.text),
      (assertion.audiences ?? []).contains(where: { named in
        audiences.contains { $0.hasSameBytes(as: named) }
      })
    else { return false }
    let now = Double(time(nil))
    guard assertion.expires > now, assertion.expires <= now + Self.longestAssertion,
      assertion.begins ?? 0 <= now + Self.leeway,
      assertion.timeInFuture(from: Int(now + Self.leeway)) == nil,
      assertion.token.algorithm?.hasPrefix("HS") == false
    else { return false }
    return IssuerKeys(set: keys).verify(assertion.token)
  }

  /// Returns the id of the client that a token names, unverified.
  package static func named(by text: String) -> String? { (try? ExternalToken(text))?.subject }

  /// In seconds, with the leeway of the client's clock.
  private static let longestAssertion = 300.0 + leeway
  private static let leeway = 60.0
}
