internal import Encoding

/// A path of this server, optionally with a query and a fragment.
///
/// It begins with one slash, so a browser never takes it for the address of another host.
package struct LocalPath: Sendable, Hashable {
  package let text: String

  /// Checks a path; nil if it could leave this server or has a character that no URL has.
  package init?(_ text: String) {
    guard text.utf8.first == UInt8(ascii: "/"), text.utf8.dropFirst().first != UInt8(ascii: "/"),
      text.utf8.allSatisfy(URLCharacters.contains), !Self.hasDotSegment(text)
    else { return nil }
    self.text = text
  }

  /// Whether a browser would shorten the path, as it does with `/a/../b`.
  private static func hasDotSegment(_ text: String) -> Bool {
    let path = text.prefix { $0 != "?" && $0 != "#" }.lowercased().replacing("%2e", with: ".")
    return path.split(separator: "/").contains { $0 == "." || $0 == ".." }
  }
}

/// The target of a link or of a redirect.
///
/// Only these targets exist: paths of this server, `https`, `http` to this machine, registered
/// schemes of native apps, secrets of authenticators, and mail addresses. So no value from outside
/// becomes a script.
package struct Destination: Sendable, Hashable {
  package let text: String
  /// The origin of an `http` or `https` URL; nil for other targets.
  package let origin: Origin?

  package init(_ path: LocalPath) {
    text = path.text
    origin = nil
  }

  /// Checks a URL; nil unless it is `https`, or `http` to this machine.
  package init?(url: String) {
    guard url.utf8.allSatisfy(URLCharacters.contains), let origin = Origin(url: url) else {
      return nil
    }
    text = url
    self.origin = origin
  }

  /// Checks a URL of a native app; nil unless it has the scheme.
  ///
  /// - Parameters:
  ///   - url: the redirect URI.
  ///   - scheme: a scheme that a client has registered, in lower case. Schemes with which browsers
  ///     run code or open files are never accepted.
  /// - Source: RFC 8252 section 7.1.
  package init?(url: String, registeredScheme scheme: String) {
    let bytes = Array(scheme.utf8)
    guard let first = bytes.first, first.isLetterOrDigit, !first.isDigit,
      bytes.allSatisfy({ ($0.isLetterOrDigit && !$0.isUpperCase) || "+-.".utf8.contains($0) }),
      scheme != "http", scheme != "https", !URLScheme.isReserved(scheme),
      url.prefix(bytes.count).lowercased().utf8.elementsEqual(bytes),
      url.utf8.dropFirst(bytes.count).first == UInt8(ascii: ":"),
      url.utf8.count > bytes.count + 1,
      url.utf8.allSatisfy(URLCharacters.contains)
    else { return nil }
    text = url
    origin = nil
  }

  /// Checks the URI of an authenticator's secret; nil for any other scheme.
  ///
  /// - Source: Key Uri Format of Google Authenticator.
  init?(otpauth uri: String) {
    guard uri.utf8.starts(with: "otpauth://totp/".utf8),
      uri.utf8.allSatisfy(URLCharacters.contains)
    else { return nil }
    text = uri
    origin = nil
  }

  /// Checks a mail address, such as that of the support.
  package init?(mailTo address: String) {
    let parts = address.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    let isClean = address.utf8.allSatisfy { $0.isLetterOrDigit || "@._+-".utf8.contains($0) }
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), isClean else { return nil }
    text = "mailto:\(address)"
    origin = nil
  }
}

extension Destination {
  /// The URL or the email address as people read it.
  package var shown: String { String(text.trimmingPrefix("mailto:")) }
}

/// The scheme, host and port of an `https` URL, or of an `http` URL to this machine.
///
/// - Source: RFC 6454 section 4.
package struct Origin: Sendable, Hashable {
  /// The origin as a browser writes it, but with the port that the URL has.
  package let text: String
  /// The host, without the port.
  package let host: String

  /// Reads the origin of a URL; nil for other schemes, for a user name, and for a malformed host.
  package init?(url: String) {
    let isSecure = url.utf8.starts(with: "https://".utf8)
    guard isSecure || url.utf8.starts(with: "http://".utf8) else { return nil }
    let rest = url.utf8.dropFirst(isSecure ? 8 : 7)
    let authority = rest.prefix { !"/?#".utf8.contains($0) }
    let isBracketed = authority.first == UInt8(ascii: "[")
    let length: Int
    if isBracketed {
      guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else { return nil }
      length = authority.distance(from: authority.startIndex, to: end) + 1
      let isAddress = authority.dropFirst().prefix(length - 2).allSatisfy {
        $0.isHexadecimalDigit || $0 == UInt8(ascii: ":")
      }
      guard isAddress, length > 2 else { return nil }
    } else {
      length = authority.prefix { $0.isLetterOrDigit || "-.".utf8.contains($0) }.count
      guard length > 0 else { return nil }
    }
    let port = authority.dropFirst(length)
    guard port.isEmpty || (port.first == UInt8(ascii: ":") && port.count <= 6) else { return nil }
    guard port.dropFirst().allSatisfy(\.isDigit), port.count != 1 else { return nil }
    let host = String(decoding: authority.prefix(length), as: UTF8.self).lowercased()
    guard isSecure || ["127.0.0.1", "[::1]", "localhost"].contains(host) else { return nil }
    self.host = host
    text = "\(isSecure ? "https" : "http")://\(host)\(String(decoding: port, as: UTF8.self))"
  }
}

/// The characters of a URL after percent-encoding.
enum URLCharacters {
  static func contains(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "-._~:/?#[]@!$&'()*+,;=%".utf8.contains(byte)
  }
}
