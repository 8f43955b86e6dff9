package import Runtime
package import EventLoop

/// The read and write permissions of documents, for every route and export.
extension DocumentKind {
  private var readScope: String {
    self == .appMetadata ? Scopes.readAppMetadata : Scopes.readUsers
  }

  private var updateScope: String {
    self == .appMetadata ? Scopes.updateAppMetadata : Scopes.updateUsers
  }

  /// Refuses users hidden app metadata, and API clients documents that their scopes do not cover.
  ///
  /// The same permission covers the versions of a document.
  @EventLoop package func requireReadable(_ context: RequestContext) throws(Failure) {
    guard isReadable(context) else { throw .insufficientScope(readScope) }
  }

  @EventLoop package func isReadable(_ context: RequestContext) -> Bool {
    context.principal.user != nil
      ? self != .appMetadata || context.app.documentSettings.isAppMetadataReadable
      : context.principal.scopes.contains(readScope)
  }

  /// Refuses users all app metadata, and API clients documents that their scopes do not cover.
  @EventLoop package func requireWritable(_ context: RequestContext) throws(Failure) {
    let isWritable =
      context.principal.user != nil
      ? self != .appMetadata : context.principal.scopes.contains(updateScope)
    guard isWritable else { throw .insufficientScope(updateScope) }
  }
}
