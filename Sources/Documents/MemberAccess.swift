package import EventLoop
package import JSON
package import Runtime

/// The members that users read and write in documents of one kind, in an app that limits them.
///
/// Users write only what they also read. So a patch, an operator or a filter of a user works on the
/// visible members, and finds out nothing about the others, which stay as they are.
package struct MemberAccess: Sendable {
  private let readable: MemberSelection
  private let writable: MemberSelection

  /// Returns the limits of the principal; nil for back ends, and without limits.
  ///
  /// - Parameters:
  ///   - document: the kind of the document.
  ///   - own: members that the protocol adds, such as an id. Each user may read and write them.
  ///   - context: the context of the request.
  @EventLoop package init?(
    to document: DocumentKind, adding own: [String] = [], _ context: RequestContext
  ) {
    guard context.principal.user != nil else { return nil }
    self.init(to: document, adding: own, in: context.app)
  }

  /// Returns the limits of users; nil if the app has none.
  package init?(to document: DocumentKind, adding own: [String] = [], in app: App) {
    let settings = app.documentSettings
    let readable = settings.readable(document)
    let writable = settings.writable(document)
    guard !readable.isAll || !writable.isAll else { return nil }
    self.readable = readable.including(own)
    self.writable = writable.intersection(readable).including(own)
  }

  /// Returns the members of a document that the user may read.
  package func visible(in document: JSON) -> JSON {
    .object(readable.visible(in: document.object ?? JSONObject()))
  }

  /// Returns a stored document with the members that the user may read.
  func visible(in document: StoredDocument) throws(Failure) -> StoredDocument {
    guard !readable.isAll else { return document }
    let visible = visible(in: try Documents.parsed(document.body))
    return StoredDocument(body: visible.serialized(), version: document.version)
  }

  /// Returns the document that a user's version of the visible members leads to.
  ///
  /// - Parameters:
  ///   - after: the visible members after the change.
  ///   - before: the stored document; nil for none.
  /// - Returns: the whole document.
  /// - Throws: `.memberNotWritable`.
  package func result(of after: JSON, on before: JSON?) throws(Failure) -> JSON {
    let stored = before?.object ?? JSONObject()
    let visible = JSON.object(readable.visible(in: stored))
    try writable.requireOnlyChanges(from: visible, to: after)
    return .object(try readable.restored(after.object ?? JSONObject(), from: stored))
  }

  /// Returns a document that is a member of a user.
  ///
  /// - Throws: as `result(of:on:)`, with pointers into the user, such as `/metadata/plan`.
  package func result(
    ofMember after: JSON, on before: JSON?, of document: DocumentKind
  ) throws(Failure) -> JSON {
    do throws(Failure) { return try result(of: after, on: before) } catch {
      throw error.placed { "/\(document.rawValue)\($0)" }
    }
  }

  /// Returns an edit of the visible members as one of the whole document.
  ///
  /// - Throws: `.memberNotWritable`.
  func result(of edit: DocumentEdit, on before: JSON?) throws(Failure) -> DocumentEdit {
    switch edit {
    case .keep: return .keep
    case .put(let after): return .put(try result(of: after, on: before))
    case .remove:
      let rest = try result(of: [:], on: before)
      return rest.object?.count == 0 ? .remove : .put(rest)
    }
  }
}

extension Optional<MemberAccess> {
  /// Returns a stored document as the user may read it.
  ///
  /// - Throws: `.overloaded`.
  @EventLoop package func visible(
    in document: StoredDocument, _ context: RequestContext
  ) async throws(Failure) -> StoredDocument {
    guard let self else { return document }
    return try await context.calculate(on: document.body.count) { () throws(Failure) in
      try self.visible(in: document)
    }
  }
}
