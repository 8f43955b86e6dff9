import EventLoop
import JSON
package import Postgres
package import Runtime
import Tenancy

/// The declared search indexes on paths of an app's documents.
package enum SearchIndexes {
  /// The most indexes of an app: every write of a document looks up each.
  package static let limit = 32

  /// Declares an index; `finish` then indexes the existing documents.
  ///
  /// - Parameters:
  ///   - path: the path as filters spell it, such as `metadata.theme`.
  ///   - kind: the kind of its values: `text`, `number` or `boolean`.
  ///   - app: the app.
  ///   - context: the context of the request.
  /// - Returns: the index; the existing one if it is still being built.
  /// - Throws: `.invalid`, `.indexExists`, `.tooManyIndexes`, `.unknownApp`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func add(
    _ path: String, kind: String, to app: AppID, _ context: RequestContext
  ) async throws(Failure) -> SearchIndex {
    let (document, names) = try check(path, kind)
    return try await context.transaction { transaction async throws(Failure) in
      // Serializes declarations of one app, for the limit.
      try await transaction.lockApp(app)
      let all = try await transaction.run(SearchIndexQueries.list, app)
      if let same = all.first(where: { $0.isOn(document, names) }) {
        guard same.kind.rawValue == kind, same.state == .building else { throw .indexExists }
        return same
      }
      guard all.count < limit else { throw .tooManyIndexes(limit: limit) }
      let index = IndexID()
      _ = transaction.send(SearchIndexQueries.add, app, index, document, TextArray(names), kind)
      Event("index_add", detail: ["path": .string(path), "kind": .string(kind)]).record(
        in: transaction, app: app
      )
      let made = try await transaction.run(SearchIndexQueries.find, app, index)
      return try made.first.orUnforeseen("an index that was declared")
    }
  }

  private static func check(
    _ path: String, _ kind: String
  ) throws(Failure) -> (DocumentKind, [String]) {
    var faults: [FieldError] = []
    if !["text", "number", "boolean"].contains(kind) {
      faults.append(FieldError("/kind", "choice", "A kind must be text, number or boolean."))
    }
    do throws(FilterError) {
      let read = try Filter.path(path)
      if faults.isEmpty { return read }
    } catch {
      let detail =
        ProfileMember(rawValue: path) == nil
        ? error.detail : "Members of the profile are indexed by the schema, or not at all."
      faults.append(FieldError("/path", error.rule.rawValue, detail))
    }
    throw .invalid(faults)
  }

  /// Returns the searchable paths: indexed members of the profile, and declared indexes.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func list(
    of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> [SearchPath] {
    let declared = try await all(of: app, context)
    return ProfileMember.allCases.filter(\.isIndexed).map(SearchPath.member)
      + declared.map(SearchPath.declared)
  }

  /// Returns the declared indexes.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func all(
    of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> [SearchIndex] {
    try await context.read(SearchIndexQueries.list, app)
  }

  /// Returns the index on a path, as filters spell it.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func index(
    on path: String, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> SearchIndex {
    let all = try await all(of: app, context)
    guard let (document, names) = try? Filter.path(path),
      let index = all.first(where: { $0.isOn(document, names) })
    else { throw .notFound }
    return index
  }

  /// Marks an index for removal; `finish` then deletes its values.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func remove(
    _ index: IndexID, from app: AppID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.act("index_remove") { transaction async throws(Failure) in
      let found = try await transaction.run(SearchIndexQueries.find, app, index).first
      _ = transaction.send(SearchIndexQueries.remove, app, index)
      return found
    } recording: { removed in
      (app, ["path": .string(removed.path)])
    }
  }

  // MARK: Building and removal

  /// The work of this process on indexes that requests have declared or removed.
  private static let works = KeyedMutex()

  /// Finishes the work on an index: indexes all documents, or deletes all values.
  ///
  /// Several processes may run it at once; they share the work, and continue that of others.
  /// - Parameters:
  ///   - index: an index that is being built or removed.
  ///   - connections: the number of ranges to work on at once.
  ///   - database: the database of the index.
  ///   - progress: is called after each range.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func finish(
    _ index: SearchIndex, connections: Int = 1, in database: Database,
    progress: @escaping @EventLoop @Sendable (SearchIndexProgress) -> Void = { _ in }
  ) async throws(Failure) {
    do throws(DatabaseError) {
      try await SearchIndexBuild(index, connections: connections, in: database, progress).run()
    } catch {
      throw Failure(error)
    }
  }

  /// Finishes the work on the indexes of all apps, one range after another.
  ///
  /// A process does this once at a time, since requests use the same connections.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func finishAll(in database: Database) async throws(Failure) {
    try await works.inTurn(on: "") { () async throws(Failure) in
      let unfinished: [SearchIndex]
      do throws(DatabaseError) {
        unfinished = try await database.read(SearchIndexQueries.unfinished)
      } catch {
        throw Failure(error)
      }
      for index in unfinished { try await finish(index, in: database) }
    }
  }
}

/// A declared search index on a path of an app's documents.
package struct SearchIndex: RowDecodable {
  package let id: IndexID
  package let document: DocumentKind
  package let names: [String]
  package let kind: FilterValue.Kind
  package let state: State
  /// Nil for an index that is not stored.
  package let createdAt: Timestamp?

  package enum State: String, Sendable {
    /// Existing documents are being indexed.
    case building
    case ready
    case removing
  }

  package init(from row: Row) throws(DatabaseError) {
    id = IndexID(trusted: try row.text(0))
    document = try row.documentKind(1)
    guard let names = try row.json(2).array?.compactMap(\.string),
      let kind = FilterValue.Kind(rawValue: try row.text(3)),
      let state = State(rawValue: try row.text(4))
    else { throw DatabaseError(.unexpectedColumn, "an index of an unknown kind or state") }
    (self.names, self.kind, self.state) = (names, kind, state)
    createdAt = try row.time(5)
  }

  /// Creates an index that is not stored.
  package init(path: String, kind: FilterValue.Kind) throws(FilterError) {
    id = IndexID()
    (document, names) = try Filter.path(path)
    (self.kind, state, createdAt) = (kind, .ready, nil)
  }

  /// Returns whether the index is on a path, compared by bytes as in the database.
  func isOn(_ document: DocumentKind, _ names: [String]) -> Bool {
    self.document == document && self.names.elementsEqual(names) { $0.hasSameBytes(as: $1) }
  }

  /// The path as filters spell it.
  package var path: String { Filter.spelled(document, names) }
}

/// A path that searches can use.
package enum SearchPath: Sendable {
  /// A member of the profile.
  case member(ProfileMember)
  /// A path with a declared index.
  case declared(SearchIndex)
}

extension SQL {
  /// The select of a `SearchIndex`, without a condition.
  fileprivate static let searchIndexes: SQL = """
    select id, document_kind, path, kind, state, created_at from search_index_records
    """
}

package enum SearchIndexQueries {
  /// Served by the primary key.
  static let list = Statement<SearchIndex, AppID>(
    "search_indexes.list",
    """
    \(.searchIndexes) where app_id = $1 order by id
    """)

  static let unfinished = Statement<SearchIndex>(
    "search_indexes.unfinished",
    """
    \(.searchIndexes) where state <> 'ready' order by id
    """)

  /// Violates `search_indexes_path` if the path already has an index.
  static let add = Statement<NoRow, AppID, IndexID, DocumentKind, TextArray, String>(
    "search_indexes.add",
    """
    insert into search_indexes (app_id, index_id, document_kind, path, kind)
    values ($1, $2, $3, $4::text[], $5)
    """)

  static let find = Statement<SearchIndex, AppID, IndexID>(
    "search_indexes.find",
    """
    \(.searchIndexes) where app_id = $1 and id = $2
    """)

  static let remove = Statement<NoRow, AppID, IndexID>(
    "search_indexes.remove",
    """
    update search_indexes set state = 'removing',
      visible_since = case when state = 'removing' then visible_since end
    where app_id = $1 and index_id = $2
    """)
}
