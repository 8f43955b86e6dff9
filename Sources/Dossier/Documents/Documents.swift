import EventLoop
package import JSON
import Postgres

/// The JSON documents of a user.
///
/// Every user has each of them from the start: before the first write, and after a deletion, it is
/// `{}` in version 0.
package enum DocumentClass: String, CaseIterable, Sendable, Bindable {
  case metadata
  case appMetadata = "app_metadata"
  case customData = "custom_data"

  /// In bytes, as the database writes it; the constraint `documents_size` says the same.
  package var limit: Int { self == .customData ? 1_048_576 : 65_536 }

  /// As paths and people call it.
  package var pathName: String {
    switch self {
    case .metadata: "metadata"
    case .appMetadata: "app-metadata"
    case .customData: "custom-data"
    }
  }

  package init?(pathName: String) {
    guard let document = Self.allCases.first(where: { $0.pathName == pathName }) else { return nil }
    self = document
  }

  package func appendText(to bytes: inout [UInt8]) -> Bool { rawValue.appendText(to: &bytes) }
}

/// A document as it is stored.
package struct StoredDocument: Sendable {
  /// JSON text, as the database wrote it.
  package let body: [UInt8]
  package let version: Int

  /// A document of which nothing is stored.
  static let empty = StoredDocument(body: Array("{}".utf8), version: 0)

  package init(body: [UInt8], version: Int) {
    self.body = body
    self.version = version
  }
}

/// What must hold of the stored version before a write.
package struct VersionCondition: Sendable, Equatable {
  /// One of these; any, or none at all, when nil.
  package var oneOf: [Int]?
  /// There must be a document.
  package var mustExist = false
  /// There must not be one.
  package var mustNotExist = false

  package init(oneOf: [Int]? = nil, mustExist: Bool = false, mustNotExist: Bool = false) {
    self.oneOf = oneOf
    self.mustExist = mustExist
    self.mustNotExist = mustNotExist
  }

  /// Of a change that is made to what is there and to nothing else: the versions that it may have; any
  /// when nil.
  var allowed: [Int]? { mustNotExist ? [] : oneOf }

  /// Whether that version, which is there, may be changed.
  func allows(_ version: Int) -> Bool { allowed?.contains(version) ?? true }

  /// Whether what is stored in that version, or is not there, may be changed or made.
  func allows(ifAny version: Int?) -> Bool {
    guard let version else { return !mustExist && (oneOf?.contains(0) ?? true) }
    return allows(version)
  }

  /// Whether a document of which nothing is stored may be written.
  ///
  /// It has version 0 and counts as there, and also as absent for `mustNotExist`.
  var allowsFirst: Bool { oneOf?.contains(0) ?? true }
}

/// How a write makes the new document of the old; sizes are about how long the text is.
package enum DocumentChange: Sendable {
  case replace(JSON, size: Int)
  /// RFC 7396, done by the database.
  case merge(JSON, size: Int)
  /// RFC 6902, done here on the version that was read, and tried again when that has moved.
  case patch(JSONPatch)
}

package enum Documents {
  /// Reads a document: `{}` in version 0 where nothing is stored.
  ///
  /// - Throws: `.forbidden`, `.notFound` for no such user, `.unauthenticated`, `.unavailable`.
  @EventLoop package static func read(
    _ document: DocumentClass,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> StoredDocument {
    try await stored(document, of: user, context) ?? .empty
  }

  /// Reads what is stored of a document; nil for nothing.
  ///
  /// - Throws: as `read`.
  @EventLoop package static func stored(
    _ document: DocumentClass,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> StoredDocument? {
    try document.requireReadable(context)
    return try await load(document, of: user, context)
  }

  /// Loads a document without checking the caller's rights; nil if it does not exist.
  ///
  /// A large document is read on the lane for large answers, of which each user has a share.
  @EventLoop private static func load(
    _ document: DocumentClass,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> StoredDocument? {
    let principal = context.principal
    guard let row = try await context.first(DocumentsQueries.read, user, principal, document) else {
      throw context.gone
    }
    switch row {
    case .absent: return nil
    case .here(let stored): return stored
    case .large: break
    }
    let rows = try await context.fetch(DocumentsQueries.fetch, user, principal, document)
    guard let row = rows.first else { throw context.gone }
    return row.item
  }

  /// Writes a document: atomically, whatever others write meanwhile.
  ///
  /// - Parameters:
  ///   - document: which.
  ///   - change: what to do.
  ///   - condition: what must hold of the version stored.
  ///   - user: the user.
  ///   - context: of the call; where its app has a schema for the class, the new document must fit.
  /// - Returns: the new document.
  /// - Throws: `.forbidden`, `.versionMoved`, `.invalid` for keys, `.schemaMismatch`,
  ///   `.documentTooLarge`, `.patchTestFailed`, `.patchNotApplicable`, `.unauthenticated`.
  @EventLoop package static func write(
    _ document: DocumentClass,
    _ change: DocumentChange,
    if condition: VersionCondition,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> StoredDocument {
    let rule = try DocumentRule(of: document, in: context.app)
    switch change {
    case .replace(let body, let size):
      let cost = rule.schema == nil ? size : .max
      let text = try await context.calculate(on: cost) { () throws(Failure) in
        try rule.text(of: body)
      }
      return try await DocumentWrite(of: document, text, isMerge: false, if: condition)
        .run(of: user, context)
    case .merge(let patch, let size):
      let (text, objects) = try await context.calculate(on: size) { () throws(Failure) in
        (try rule.text(ofPatch: patch), patch.extent.objects)
      }
      // What the database makes of it would be held against a schema too late.
      if rule.schema == nil, objects <= mergedObjects {
        return try await DocumentWrite(of: document, text, isMerge: true, if: condition)
          .run(of: user, context)
      }
      return try await rewrite(by: rule, if: condition, of: user, context) {
        (before) throws(Failure) in before.merging(patch)
      }
    case .patch(let patch):
      return try await rewrite(by: rule, if: condition, of: user, context) {
        (before) throws(Failure) in
        try patched(before, by: patch, limit: document.limit)
      }
    }
  }

  /// Objects of a patch that the database merges, which takes some microseconds for each; where
  /// there are more, they are merged here.
  private static let mergedObjects = 1_000

  /// The version that stood in the way of a write, whose view may be older: this looks again.
  @EventLoop static func version(
    of document: DocumentClass,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> Int {
    let current = try await context.read(
      DocumentsQueries.version,
      user,
      context.principal,
      document
    )
    return current.first ?? 0
  }

  /// Makes the new document of the stored one, here, and tries again when that has moved.
  ///
  /// `change` is given nil when there is no document, and returns nil to write nothing.
  @EventLoop static func revise(
    _ document: DocumentClass,
    if condition: VersionCondition,
    of user: UserID,
    _ context: RequestContext,
    _ change: @EventLoop (StoredDocument?) async throws(Failure) -> [UInt8]?
  ) async throws(Failure) -> StoredDocument? {
    try await repeating(document, of: user, context) { () async throws(Failure) in
      try await revised(document, if: condition, of: user, context, change)
    }
  }

  /// What has become of a change that is made on the version that was read.
  package enum Revision<Outcome> {
    case done(Outcome)
    /// Another has written a version since this one was read.
    case overtaken
  }

  /// Reads a document, changes it and writes it by `body`, again when another was faster.
  ///
  /// Those whom another has overtaken go on one after another, so that many who meet all come to an
  /// end; others than these are in other workers, or come anew.
  /// - Throws: what `body` throws, `.overloaded`.
  @EventLoop package static func repeating<Outcome>(
    _ document: DocumentClass,
    of user: UserID,
    _ context: RequestContext,
    _ body: @EventLoop () async throws(Failure) -> Revision<Outcome>
  ) async throws(Failure) -> Outcome {
    if case .done(let outcome) = try await body() { return outcome }
    let name = "\(user) \(document.rawValue)"
    return try await context.dependencies.revisions.inTurn(on: name) { () async throws(Failure) in
      for attempt in 0..<16 {
        if case .done(let outcome) = try await body() { return outcome }
        await EventLoop.sleep(for: .milliseconds(Int.random(in: 0...(1 + attempt * 4))))
      }
      throw .overloaded(retryAfter: .seconds(1))
    }
  }

  @EventLoop private static func revised(
    _ document: DocumentClass,
    if condition: VersionCondition,
    of user: UserID,
    _ context: RequestContext,
    _ change: @EventLoop (StoredDocument?) async throws(Failure) -> [UInt8]?
  ) async throws(Failure) -> Revision<StoredDocument?> {
    let stored = try await load(document, of: user, context)
    let version = stored?.version ?? 0
    guard stored == nil ? condition.allowsFirst : condition.allows(version) else {
      throw .versionMoved(current: version)
    }
    guard let body = try await change(stored) else { return .done(nil) }
    let expected = VersionCondition(oneOf: [version])
    do throws(Failure) {
      return .done(
        try await DocumentWrite(of: document, body, isMerge: false, if: expected)
          .run(of: user, context)
      )
    } catch .versionMoved {
      return .overtaken
    }
  }

  /// Deletes a document, which is `{}` in version 0 from then on.
  ///
  /// - Throws: `.forbidden`, `.versionMoved`, `.notFound` for no such user, `.unauthenticated`,
  ///   `.unavailable`.
  @EventLoop package static func delete(
    _ document: DocumentClass,
    if condition: VersionCondition,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    try document.requireWritable(context)
    let rows = try await context.write(
      DocumentsQueries.delete,
      user,
      context.principal,
      document,
      condition.allowed.map(VersionList.init),
      context.principal.name,
      DataChange(of: document.pathName, context)
    )
    guard let isDeleted = rows.first else { throw context.gone }
    // Where nothing is stored, nothing is to be done.
    guard !isDeleted, condition.allowed != nil else { return }
    let current = try await version(of: document, of: user, context)
    guard current == 0, condition.allowsFirst else { throw .versionMoved(current: current) }
  }
}
