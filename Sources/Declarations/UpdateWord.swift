/// The outcome of an update.
package enum UpdateWord: String, CaseIterable, Sendable {
  case created
  case updated
  /// The update matched, and did not change the document.
  case unchanged
  case noMatch = "no_match"
  case noDocument = "no_document"
}
