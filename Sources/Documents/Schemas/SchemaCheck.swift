package import Runtime
package import EventLoop
import JSON
import JSONSchema
import Postgres

/// A scan of an app's documents of one kind for mismatches with a schema.
///
/// Each page of users is a separate statement, as in `UserExport`.
@EventLoop package struct SchemaCheck {
  private let app: AppID
  private let document: DocumentKind
  private let schema: JSONSchema
  private let context: RequestContext
  private var cursor: UserID?
  private var size = PageSize(16, upTo: 1_024)
  private var isOver = false

  /// The results of one page.
  package struct Page: Sendable {
    /// The number of documents checked.
    package let documents: Int
    package let mismatches: [(user: UserID, faults: [FieldError])]
  }

  /// - Parameters:
  ///   - document: the kind of the documents.
  ///   - app: the app of the documents.
  ///   - text: a schema to try; nil for the app's own.
  ///   - context: the context of the request.
  /// - Throws: `.invalid` with the place in `text`, `.notFound` if the app has no schema for the
  ///   kind, `.databaseUnavailable`.
  package init(
    _ document: DocumentKind, of app: AppID, by text: [UInt8]?, _ context: RequestContext
  ) async throws(Failure) {
    self.app = app
    self.document = document
    self.context = context
    if let text {
      schema = try Schemas.compiled(text)
    } else {
      let schemas = try await Schemas.current(of: app, context)
      guard let schema = try schemas.schema(for: document) else { throw .notFound }
      self.schema = schema
    }
  }

  /// Checks the next page; returns nil at the end.
  ///
  /// - Throws: `.overloaded`, `.databaseUnavailable`.
  package mutating func next() async throws(Failure) -> Page? {
    guard !isOver else { return nil }
    let rows = try await context.search(SchemaQueries.page, app, document, cursor, size.count)
    isOver = rows.count < size.count
    guard let last = rows.last else { return nil }
    cursor = last.user
    var (bytes, documents) = (0, 0)
    var mismatches: [(user: UserID, faults: [FieldError])] = []
    for row in rows {
      guard let body = row.body else { continue }
      bytes += body.count
      documents += 1
      let faults = schema.mismatches(in: try Documents.parsed(body))
      if !faults.isEmpty { mismatches.append((row.user, faults)) }
    }
    size.fit(bytes, in: rows.count)
    return Page(documents: documents, mismatches: mismatches)
  }
}

/// A user, and the document to check.
struct CheckedUser: RowDecodable {
  let user: UserID
  let body: [UInt8]?

  init(from row: Row) throws(DatabaseError) {
    user = UserID(trusted: try row.text(0))
    body = row.isNull(1) ? nil : try row.bytes(1)
  }
}
