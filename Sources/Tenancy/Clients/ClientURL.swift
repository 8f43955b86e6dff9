import Encoding
package import JSON

/// The rules for URLs of clients.
///
/// These are stored and compared as typed.
package enum ClientURL {
  /// The greatest number of URLs in a list.
  package static let most = 100
  /// In bytes, which are ASCII.
  package static let longest = 2_000

  /// Returns the fault of a list of URLs that browsers are sent to; nil if it is valid.
  package static func fault(in value: JSON) -> String? {
    guard let list = value.array, list.count <= most else {
      return "This setting must be a list of at most \(most) URLs."
    }
    for (index, entry) in list.enumerated() {
      guard let text = entry.string else { return "URL \(index + 1) must be a string." }
      if let reason = reason(against: text) { return "URL \(index + 1): \(reason)" }
    }
    return nil
  }

  /// Returns the rule that a URL breaks; nil if a browser may be sent to it.
  ///
  /// - Source: RFC 3986 sections 2 and 3.1, RFC 8252 section 7, RFC 9700 section 4.1.
  package static func reason(against url: String) -> String? {
    if let reason = textReason(against: url) { return reason }
    guard let (scheme, rest) = parts(of: url) else {
      return "it must begin with a scheme: https://app.example.com/callback or myapp:/callback."
    }
    guard !rest.isEmpty else { return "it must not be only a scheme." }
    if URLScheme.isReserved(scheme) { return "the scheme \(scheme) is refused." }
    guard scheme == "http" || scheme == "https" else { return nil }
    guard let host = host(in: rest) else {
      return "http: and https: need //host, without a user name; a port must be 1 to 65535."
    }
    return scheme == "https" || isLoopback(host)
      ? nil : "only localhost, 127.0.0.1 and [::1] may have http; other hosts must have https."
  }

  /// Returns whether a text is a URL that this server may call: https, or http on this machine.
  package static func isCallable(_ url: String) -> Bool {
    guard reason(against: url) == nil, let (scheme, _) = parts(of: url) else { return false }
    return scheme == "http" || scheme == "https"
  }

  /// Returns whether a text is a URL with https, which pages may show and link.
  static func isSecure(_ url: String) -> Bool {
    reason(against: url) == nil && parts(of: url)?.scheme == "https"
  }

  /// Returns the host of a URL in lower case; nil if the text is no URL with a host.
  static func host(of url: String) -> String? { parts(of: url).flatMap { host(in: $0.rest) } }

  private static func textReason(against url: String) -> String? {
    guard (1...longest).contains(url.utf8.count) else {
      return "a URL must have 1 to \(longest) characters."
    }
    guard url.utf8.allSatisfy(\.isVisible) else {
      return "a URL must be ASCII, without spaces and control characters."
    }
    if url.utf8.contains(UInt8(ascii: "#")) { return "a URL must not have a fragment (#)." }
    return url.utf8.contains(where: "\"<>\\^`{|}".utf8.contains)
      ? "a URL must not contain \" < > \\ ^ ` { | }." : nil
  }

  /// Splits a URL into its scheme in lower case and what follows the colon.
  private static func parts(of url: String) -> (scheme: String, rest: Substring)? {
    guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let scheme = url[..<colon].utf8
    guard let first = scheme.first, first.isLetterOrDigit, !first.isDigit,
      scheme.allSatisfy({ $0.isLetterOrDigit || "+-.".utf8.contains($0) })
    else { return nil }
    return (url[..<colon].lowercased(), url[url.utf8.index(after: colon)...])
  }

  /// Returns the host of an authority; nil if it is malformed.
  ///
  /// - Source: RFC 3986 section 3.2.
  private static func host(in rest: Substring) -> String? {
    guard rest.utf8.starts(with: "//".utf8) else { return nil }
    let authority = rest.utf8.dropFirst(2).prefix { !"/?".utf8.contains($0) }
    guard !authority.contains(UInt8(ascii: "@")) else { return nil }
    let isAddress = authority.first == UInt8(ascii: "[")
    var host = authority
    var port: Substring.UTF8View.SubSequence?
    if let colon = authority.lastIndex(of: UInt8(ascii: ":")),
      !isAddress || authority[..<colon].last == UInt8(ascii: "]")
    {
      host = authority[..<colon]
      port = authority[authority.index(after: colon)...]
    }
    if let port {
      guard port.allSatisfy(\.isDigit), let number = UInt16(Substring(port)), number > 0 else {
        return nil
      }
    }
    let name = isAddress ? host.dropFirst().dropLast() : host
    let isFit = name.allSatisfy { byte in
      isAddress
        ? byte.isHexadecimalDigit || ":.".utf8.contains(byte)
        : byte.isLetterOrDigit || "-._".utf8.contains(byte)
    }
    guard !name.isEmpty, isFit, !isAddress || host.last == UInt8(ascii: "]") else { return nil }
    return Substring(host).lowercased()
  }

  private static func isLoopback(_ host: String) -> Bool {
    ["localhost", "127.0.0.1", "[::1]"].contains(host)
  }
}
