/// Who may read and write which documents, whatever route or export leads there.
extension DocumentClass {
  private var readScope: String {
    self == .appMetadata ? Scopes.readAppMetadata : Scopes.readUsers
  }

  private var updateScope: String {
    self == .appMetadata ? Scopes.updateAppMetadata : Scopes.updateUsers
  }

  /// Refuses users the app metadata that their app does not let them read, and programs what they
  /// have no scope for.
  ///
  /// The versions of a document are read by the same right.
  func requireReadable(by caller: Caller, in app: App) throws(Failure) {
    guard isReadable(by: caller, in: app) else { throw .forbidden(scope: readScope) }
  }

  func isReadable(by caller: Caller, in app: App) -> Bool {
    switch caller.authority {
    case .session: self != .appMetadata || app.settings.isAppMetadataReadable
    case .program: caller.scopes.contains(readScope)
    }
  }

  /// Refuses users the app metadata, and programs what they have no scope for.
  func requireWritable(by caller: Caller) throws(Failure) {
    let isWritable =
      switch caller.authority {
      case .session: self != .appMetadata
      case .program: caller.scopes.contains(updateScope)
      }
    guard isWritable else { throw .forbidden(scope: updateScope) }
  }
}
