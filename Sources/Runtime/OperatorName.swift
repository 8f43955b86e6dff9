import Encoding

/// Names that operators give to apps and issuers.
package enum OperatorName {
  /// Returns the rule that the name of an app or an issuer breaks; nil if it is valid.
  ///
  /// The name is also part of a path.
  package static func fault(in name: String) -> FieldError? {
    let bytes = Array(name.utf8)
    let isFit =
      (1...63).contains(bytes.count) && bytes.first != UInt8(ascii: "-")
      && bytes.allSatisfy { byte in
        byte == UInt8(ascii: "-") || byte.isLetterOrDigit && !byte.isUpperCase
      }
    guard !isFit else { return nil }
    let rule = "A name must have 1 to 63 of a-z, 0-9 and -, and not begin with -."
    return FieldError("/name", "name", rule)
  }

  /// Returns the rule that a display label breaks; nil if it is valid.
  package static func labelFault(in label: String) -> FieldError? {
    let isFit =
      (1...100).contains(label.unicodeScalars.count)
      && !label.hasControlCharacters
    let rule = "A name must have 1 to 100 characters in one line."
    guard isFit else { return FieldError("/name", "length", rule) }
    return DisplayName.fault(in: label, at: "/name")
  }
  package static let descriptionRule =
    "A description must be a text of at most 500 characters in one line."

  /// Returns whether a text can be the description of a role or a scope.
  package static func isDescription(_ text: String) -> Bool {
    (0...500).contains(text.unicodeScalars.count)
      && !text.hasControlCharacters
  }
}
