package import Runtime
package import EventLoop
import Postgres

/// The rows that follow from a write of a document, in its transaction.
///
/// They are a stored version and search values. The lock of the document orders the writers.
@EventLoop package struct DocumentTraces {
  private let document: DocumentKind
  private let user: UserID
  private let app: App
  private let actor: String

  package init(of document: DocumentKind, _ user: UserID, in app: App, by principal: Principal) {
    self.document = document
    self.user = user
    self.app = app
    actor = principal.name
  }

  /// Whether a write needs a transaction, as far as the worker knows the indexes of the app.
  var areExpected: Bool {
    app.documentSettings.versionsKept > 0 || app.indexedDocuments.kinds.contains(document)
  }

  /// Sends the read of the indexes on documents of this kind.
  func sendIndexes(in transaction: Transaction) -> Sent<String> {
    transaction.send(SearchValueQueries.indexes, app.id, document)
  }

  /// Returns the indexes on documents of a kind; nil for none.
  package static func indexes(
    of document: DocumentKind, in app: App, _ transaction: Transaction
  ) async throws(Failure) -> String? {
    try await transaction.run(SearchValueQueries.indexes, app.id, document).first
  }

  /// Sends the rows that follow from a version.
  ///
  /// - Parameters:
  ///   - version: the version that was written.
  ///   - indexes: the indexes on documents of this kind; nil for none.
  ///   - transaction: the transaction.
  package func send(_ version: Int, _ indexes: String?, in transaction: Transaction) {
    let kept = app.documentSettings.versionsKept
    if kept > 0 {
      _ = transaction.send(DocumentHistoryQueries.keep, user, document, app.id, actor, kept)
      _ = transaction.send(DocumentHistoryQueries.trim, user, document, version - kept)
    }
    if let indexes { SearchValues.send(of: document, user, indexes, in: transaction.engine) }
  }
}
