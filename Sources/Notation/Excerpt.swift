extension String {
  /// The text, or as much of its beginning as has so many bytes, and an ellipsis.
  ///
  /// What clients send is told back by no more than this, whatever it is: no answer is much longer
  /// than what everybody gets.
  package func excerpt(_ bytes: Int) -> String {
    guard utf8.count > bytes else { return self }
    var end = utf8.index(utf8.startIndex, offsetBy: bytes)
    while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
    return String(self[..<end]) + "\u{2026}"
  }
}
