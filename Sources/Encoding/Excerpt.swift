extension String {
  /// Returns the text, or its first bytes and an ellipsis.
  ///
  /// Responses quote client input only up to this length. So no input makes a response much longer
  /// than usual.
  package func excerpt(_ bytes: Int) -> String {
    guard utf8.count > bytes else { return self }
    var end = utf8.index(utf8.startIndex, offsetBy: bytes)
    while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
    return String(self[..<end]) + "\u{2026}"
  }
}
