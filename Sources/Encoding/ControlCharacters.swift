extension StringProtocol {
  /// Whether the text has control characters, such as the end of a line.
  package var hasControlCharacters: Bool {
    unicodeScalars.contains { $0.properties.generalCategory == .control }
  }
}
