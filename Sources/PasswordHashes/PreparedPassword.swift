// The standard library compares texts by this form, and offers it to no one else by name.
@_spi(_Unicode) import Swift

extension String {
  /// The form of a password that is checked and hashed.
  ///
  /// Devices write the same letter in different ways: composed, or as a base and a mark. The form is
  /// composed (NFC), and every space is U+0020. Unlike the standard, it keeps control characters and
  /// letters that Unicode has not assigned yet: refusing them would lock out users who have them.
  ///
  /// - Source: RFC 8265 section 4.2, OpaqueString.
  package var preparedPassword: String {
    // Most passwords are ASCII.
    guard utf8.contains(where: { $0 >= 0x80 }) else { return self }
    var spaced = UnicodeScalarView()
    for scalar in unicodeScalars {
      spaced.append(scalar.properties.generalCategory == .spaceSeparator ? " " : scalar)
    }
    var prepared = UnicodeScalarView()
    for scalar in String(spaced)._nfc { prepared.append(scalar) }
    return String(prepared)
  }
}
