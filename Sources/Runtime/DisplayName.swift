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
    if name.unicodeScalars.contains(where: \.turnsText) {
      let rule =
        "Characters that turn the direction of other text are not allowed (U+202A to U+202E and "
        + "U+2066 to U+2069)."
      return FieldError(pointer, "direction", rule)
    }
    if name.unicodeScalars.allSatisfy(\.isInvisible) {
      return FieldError(pointer, "blank", "A name must have a character that is visible.")
    }
    return nil
  }
}
