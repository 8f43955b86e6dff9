import Encoding

/// The URL of a receiver.
///
/// It names the address only if its host is one. Names are resolved when a worker connects, and each
/// address is checked when its socket is opened.
package struct ReceiverURL: Sendable {
  package let host: String
  package let port: Int
  /// The address that the host is; nil for a name.
  package let address: IPAddress?

  package static let longest = 2_048

  /// Parses a URL.
  ///
  /// - Parameter text: the URL.
  /// - Throws: `ReceiverURLError` with the rule that it breaks.
  package init(_ text: String) throws(ReceiverURLError) {
    let start = "https://"
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy(\.isVisible) else {
      throw ReceiverURLError("The URL must have at most 2,048 ASCII characters, without spaces.")
    }
    guard text.utf8.starts(with: start.utf8) else {
      throw ReceiverURLError("The URL must begin with https://.")
    }
    guard !text.utf8.contains(UInt8(ascii: "\\")), !text.utf8.contains(UInt8(ascii: "#")) else {
      throw ReceiverURLError("The URL must have no fragment and no backslash.")
    }
    let rest = Array(text.utf8.dropFirst(start.utf8.count))
    let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    guard !authority.contains(UInt8(ascii: "@")) else {
      throw ReceiverURLError("The URL must have no user and no password.")
    }
    let (host, port): (ArraySlice<UInt8>, ArraySlice<UInt8>?)
    if authority.first == UInt8(ascii: "[") {
      guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else {
        throw ReceiverURLError("The address in the URL must end with ].")
      }
      let tail = authority[(end + 1)...]
      guard tail.isEmpty || tail.first == UInt8(ascii: ":") else {
        throw ReceiverURLError("Only a port can follow the address in the URL.")
      }
      (host, port) = (authority[1..<end], tail.isEmpty ? nil : tail.dropFirst())
    } else if let colon = authority.firstIndex(of: UInt8(ascii: ":")) {
      (host, port) = (authority[..<colon], authority[(colon + 1)...])
    } else {
      (host, port) = (authority, nil)
    }
    guard let number = Self.port(port) else {
      throw ReceiverURLError("The port of the URL must be 443, or from 1024 to 65535.")
    }
    self.port = number
    self.host = String(decoding: host, as: UTF8.self)
    address = IPAddress(self.host)
    if authority.first == UInt8(ascii: "[") {
      guard address != nil, host.contains(UInt8(ascii: ":")) else {
        throw ReceiverURLError("The text between brackets must be an IPv6 address.")
      }
    } else if address == nil {
      try Self.checkName(host)
    }
  }

  /// Returns the scheme, host and port of a URL; an empty text if it is no URL of a receiver.
  ///
  /// Operators may put secrets into the path and the query.
  package static func origin(of text: String) -> String {
    guard (try? ReceiverURL(text)) != nil else { return "" }
    let start = "https://"
    let authority = text.utf8.dropFirst(start.utf8.count).prefix {
      $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?")
    }
    return start + String(decoding: authority, as: UTF8.self)
  }

  private static func port(_ digits: ArraySlice<UInt8>?) -> Int? {
    guard let digits else { return 443 }
    guard (1...5).contains(digits.count), digits.allSatisfy(\.isDigit),
      digits.first != UInt8(ascii: "0")
    else { return nil }
    let port = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    return port == 443 || (1_024...65_535).contains(port) ? port : nil
  }

  /// Checks a host that is no address.
  ///
  /// Resolvers read a name whose last label is a number as an address, such as `0x7f000001`.
  private static func checkName(_ host: ArraySlice<UInt8>) throws(ReceiverURLError) {
    let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let isName =
      host.count <= 253
      && labels.allSatisfy { label in
        (1...63).contains(label.count)
          && label.allSatisfy {
            $0.isLetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
          }
      }
    guard isName, let last = labels.last else {
      throw ReceiverURLError("The host of the URL must be a name in ASCII, or an address.")
    }
    let lower = String(decoding: last, as: UTF8.self).lowercased()
    guard !(last.first?.isDigit ?? true), lower != "localhost" else {
      throw ReceiverURLError("The host of the URL must be no number and not this machine.")
    }
  }
}

/// The rule that a URL of a receiver breaks, in a sentence.
package struct ReceiverURLError: Error, Sendable {
  package let rule: String

  init(_ rule: String) { self.rule = rule }
}
