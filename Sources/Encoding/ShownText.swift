extension Unicode.Scalar {
  /// Whether it turns the text around it, which then reads as another text.
  ///
  /// - Source: Unicode Technical Report 36, section 2.9.2; the characters are the embeddings,
  ///   overrides and isolates of Unicode Standard Annex 9.
  package var turnsText: Bool {
    (0x202a...0x202e).contains(value) || (0x2066...0x2069).contains(value)
  }

  /// Whether people see nothing of it alone.
  package var isInvisible: Bool {
    properties.isWhitespace || properties.isDefaultIgnorableCodePoint
  }

  /// Whether it is printed on its line, and neither controls a terminal nor the text around it.
  package var isPrinted: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }
}
