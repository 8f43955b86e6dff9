import Encoding

/// A code, with what its issuer compares with the request for it.
///
/// An app or a browser sends these texts. Some issuers answer other characters than those of the
/// standards with an internal error, which looks like an outage. So such a text is not sent on.
package struct CodeGrant: Sendable {
  let code: String
  let redirectURI: String?
  let verifier: String?

  /// The greatest length of a code in bytes.
  static let codeLimit = 4_096

  /// Checks the texts of a grant.
  ///
  /// - Parameters:
  ///   - code: the code of the callback, or of an SDK.
  ///   - redirectURI: the redirect URI of the request for the code; nil if it had none.
  ///   - verifier: the secret of the code challenge; nil if the request for the code had none.
  /// - Throws: `.invalidGrant` with the rule that a text breaks.
  package init(
    _ code: String, redirectURI: String? = nil, verifier: String? = nil
  ) throws(OpenIDClientError) {
    guard Self.isCode(code) else {
      throw .invalidGrant(rule: "it is not 1 to \(Self.codeLimit) printable characters of ASCII")
    }
    guard redirectURI?.utf8.allSatisfy(\.isVisible) != false else {
      throw .invalidGrant(rule: "its redirect_uri has other characters than a URL")
    }
    guard verifier.map(Self.isVerifier) != false else {
      throw .invalidGrant(rule: "its code_verifier is not 43 to 128 unreserved characters")
    }
    (self.code, self.redirectURI, self.verifier) = (code, redirectURI, verifier)
  }

  /// - Source: RFC 6749 appendix A.11.
  static func isCode(_ text: String) -> Bool {
    (1...codeLimit).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isVisible || $0 == UInt8(ascii: " ") }
  }

  /// - Source: RFC 7636 section 4.1.
  private static func isVerifier(_ text: String) -> Bool {
    (43...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isLetterOrDigit || "-._~".utf8.contains($0) }
  }
}
