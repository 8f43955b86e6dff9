import EventLoop

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
  @EventLoop func requireReadable(_ context: RequestContext) throws(Failure) {
    guard isReadable(context) else { throw .forbidden(scope: readScope) }
  }

  @EventLoop func isReadable(_ context: RequestContext) -> Bool {
    context.principal.user != nil
      ? self != .appMetadata || context.app.settings.isAppMetadataReadable
      : context.principal.scopes.contains(readScope)
  }

  /// Refuses users the app metadata, and programs what they have no scope for.
  @EventLoop func requireWritable(_ context: RequestContext) throws(Failure) {
    let isWritable =
      context.principal.user != nil
      ? self != .appMetadata : context.principal.scopes.contains(updateScope)
    guard isWritable else { throw .forbidden(scope: updateScope) }
  }
}
