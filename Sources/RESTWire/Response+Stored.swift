import Dossier
import HTTP

extension Response {
  /// A document with its version.
  init(_ status: Status, _ stored: StoredDocument) {
    self.init(status, json: stored.body, tag: EntityTag(stored.version))
  }
}
