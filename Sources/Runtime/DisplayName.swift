import Encoding

/// Names that people read, of users and of what operators make.
package enum DisplayName {
  /// Returns the rule that a name breaks; nil if people can read it as it is stored.
  ///
  /// Marks of direction (U+200E, U+200F) are allowed: names in Hebrew and Arabic need them.
  package static func fault(in name: String, at pointer: String) -> FieldError? {
    if name.hasControlCharacters {
      return FieldError(pointer, "control_character", "Control characters are not allowed.")
    }
    if name.unicodeScalars.contains(where: turnsText) {
      let rule =
        "Characters that turn the direction of other text are not allowed (U+202A to U+202E and "
        + "U+2066 to U+2069)."
      return FieldError(pointer, "direction", rule)
    }
    if name.unicodeScalars.allSatisfy(isInvisible) {
      return FieldError(pointer, "blank", "A name must have a character that is visible.")
    }
    return nil
  }

  /// Returns whether a character turns the text around it, which then reads as another text.
  ///
  /// - Source: Unicode Technical Report 36, section 2.9.2; the characters are the embeddings,
  ///   overrides and isolates of Unicode Standard Annex 9.
  private static func turnsText(_ scalar: Unicode.Scalar) -> Bool {
    (0x202a...0x202e).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint
  }
}
