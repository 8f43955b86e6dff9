/// The sender or the recipient of a message.
package struct MailAddress: Sendable, Equatable {
  /// `ada@example.com`, in ASCII.
  package let address: String
  /// The display name; any text of one line.
  package let name: String?

  /// Creates an address without a check; `MailMessage` checks it and reports the field.
  ///
  /// - Parameters:
  ///   - address: the address.
  ///   - name: the display name; an empty one counts as nil.
  package init(_ address: String, name: String? = nil) {
    self.address = address
    self.name = name == "" ? nil : name
  }

  /// The part after the `@`.
  var domain: Substring { address.split(separator: "@").last ?? "" }

  /// Returns the error in an address; nil if it is valid.
  ///
  /// It accepts less than the grammar. It refuses quoted local parts and address literals. It
  /// refuses non-ASCII characters too, since few relays support them; write an internationalised
  /// domain in its `xn--` form. It accepts domains of one label, for relays in a private network.
  /// - Source: RFC 5321 §4.1.2 (`Dot-string`), §4.5.3.1 (64 and 255 bytes; 254 with its
  ///   brackets).
  package static func fault(in address: String) -> MailMessageError.Reason? {
    let bytes = Array(address.utf8)
    if bytes.isEmpty { return .empty }
    if bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) { return .controlCharacter }
    if bytes.contains(where: { $0 > 0x7f }) { return .notASCII }
    if bytes.count > 254 { return .tooLong(limit: 254) }
    let parts = bytes.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard parts.count == 2 else { return .malformed }
    if parts[0].count > 64 { return .tooLong(limit: 64) }
    return isDotString(parts[0]) && isHostName(parts[1]) ? nil : .malformed
  }

  /// Returns the error in a name, which has one line of at most 400 bytes; nil if it is valid.
  package static func fault(inName name: String) -> MailMessageError.Reason? {
    MailMessage.faultInLine(name, limit: 400)
  }

  /// Returns whether the bytes are atoms with single dots between them.
  package static func isDotString(_ bytes: some Collection<UInt8>) -> Bool {
    let symbols = Array("!#$%&'*+-/=?^_`{|}~".utf8)
    return bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy {
      !$0.isEmpty && $0.allSatisfy { isAlphanumeric($0) || symbols.contains($0) }
    }
  }

  /// Returns whether the bytes are labels of letters, digits and inner hyphens.
  private static func isHostName(_ bytes: some Collection<UInt8>) -> Bool {
    let hyphen = UInt8(ascii: "-")
    return bytes.count <= 253
      && bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy {
        (1...63).contains($0.count) && $0.first != hyphen && Array($0).last != hyphen
          && $0.allSatisfy { isAlphanumeric($0) || $0 == hyphen }
      }
  }

  /// Returns whether a client may introduce itself by a name: a host name, or `[192.0.2.1]`.
  ///
  /// - Source: RFC 5321 §4.1.1.1, §4.1.3.
  package static func isClientName(_ name: String) -> Bool {
    guard name.utf8.first == UInt8(ascii: "["), name.utf8.last == UInt8(ascii: "]") else {
      return isHostName(name.utf8) && IPAddress(name) == nil
    }
    let address = name.dropFirst().dropLast()
    return IPAddress(String(address.hasPrefix("IPv6:") ? address.dropFirst(5) : address)) != nil
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
    default: false
    }
  }
}
