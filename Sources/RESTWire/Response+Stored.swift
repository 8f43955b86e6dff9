import Documents
import HTTP

extension Response {
  /// Returns a response with a document and its version.
  init(_ status: Status, _ stored: StoredDocument) {
    self.init(status, json: stored.body, tag: EntityTag(stored.version))
  }
}
