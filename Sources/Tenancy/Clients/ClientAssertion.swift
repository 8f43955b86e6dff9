import EventLoop
import Glibc
import JSON
import Runtime
import WebTokens

/// A token by which a client has proven who it is.
package struct ClientAssertion: Sendable {
  /// Its `jti`.
  package let id: String
  /// How long to remember the id: until the token has expired by the clock of each server.
  package let memory: Duration

  /// How long a token may live, in seconds, with the leeway of the client's clock.
  fileprivate static let longest = 300.0 + leeway
  fileprivate static let leeway = 60.0
}

extension Client {
  /// Returns what a token asserts that proves that its sender is this client.
  ///
  /// The client signs the token with one of its own keys. A token for several servers is refused:
  /// each of them could send it to the others.
  /// - Parameters:
  ///   - text: the token.
  ///   - issuer: the issuer that the token must be for.
  /// - Returns: nil for any other token. The caller checks that the id was not used before.
  /// - Source: RFC 7523 section 3; OpenID Connect Core section 9.
  @EventLoop package func assertion(_ text: String, for issuer: String) -> ClientAssertion? {
    guard let keys = settings.assertionKeys, let assertion = try? ExternalToken(text),
      assertion.issuer?.hasSameBytes(as: id.text) == true,
      assertion.subject.hasSameBytes(as: id.text),
      let audiences = assertion.audiences, audiences.count == 1,
      audiences[0].hasSameBytes(as: issuer),
      let name = assertion.members["jti"]?.string, !name.isEmpty
    else { return nil }
    let now = Double(time(nil))
    guard assertion.expires > now, assertion.expires <= now + ClientAssertion.longest,
      assertion.begins ?? 0 <= now + ClientAssertion.leeway,
      assertion.timeInFuture(from: Int(now + ClientAssertion.leeway)) == nil,
      assertion.token.algorithm?.hasPrefix("HS") == false,
      IssuerKeys(set: keys).verify(assertion.token)
    else { return nil }
    let left = (assertion.expires - now + ClientAssertion.leeway).rounded(.up)
    return ClientAssertion(id: name, memory: .seconds(Int(left)))
  }

  /// Returns the id of the client that a token names, unverified.
  package static func named(by text: String) -> String? { (try? ExternalToken(text))?.subject }
}
