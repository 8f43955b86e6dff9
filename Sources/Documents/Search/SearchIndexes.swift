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

  /// The users or values of one batch, which blocks writers of these documents for tens of
  /// milliseconds.
  private static let batch = 500

  /// Finishes the work on an index: indexes all documents, or deletes all values.
  ///
  /// Several processes may run it at once; each continues the unfinished work of others.
  /// - Parameters:
  ///   - index: an index that is being built or removed.
  ///   - database: the database of the index.
  ///   - progress: receives the number of finished users or values after each batch.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func finish(
    _ index: SearchIndex, in database: Database, progress: @EventLoop (Int) -> Void = { _ in }
  ) async throws(Failure) {
    do throws(DatabaseError) {
      let since = try await database.write(SearchIndexQueries.settle, index.id, ServerTime()).first
      guard let since else { return }
      while try await database.write(SearchIndexQueries.isSettled, since).first != true {
        await EventLoop.sleep(for: .milliseconds(50))
      }
      var (done, size) = (0, batch)
      while true {
        do throws(DatabaseError) {
          let result =
            index.state == .removing
            ? try await clear(index.id, size, in: database)
            : try await build(index.id, size, in: database)
          done += result?.count ?? 0
          progress(done)
          guard let result, !result.isLast else { return }
        } catch {
          // Large documents take longer: use smaller batches.
          guard error.state == .queryCanceled, size > 1 else { throw error }
          size /= 4
        }
      }
    } catch {
      throw Failure(error)
    }
  }

  /// Indexes the documents of the next users; returns nil if another process has finished.
  private static func build(
    _ index: IndexID, _ count: Int, in database: Database
  ) async throws(DatabaseError) -> IndexBatch? {
    try await database.transaction { engine async throws(DatabaseError) in
      let found = try await engine.run(SearchIndexQueries.lockBuilding, index).first
      guard let found else { return nil }
      let (app, document) = (found.app, found.document)
      let users = try await engine.run(
        SearchIndexQueries.users, app, found.builtTo, document, count
      )
      for user in users where user.hasDocument {
        _ = engine.send(SearchIndexQueries.lockDocument, user.user, document)
        SearchValues.send(of: document, user.user, found.indexes, in: engine)
      }
      let last = users.last?.user.text ?? found.builtTo
      // In a transaction of its own, after the values can be seen on all nodes.
      let isLast = users.isEmpty
      _ = try await engine.run(SearchIndexQueries.advance, index, last, isLast)
      return IndexBatch(count: users.count, isLast: isLast)
    }
  }

  /// Deletes values of an index, and the index after its last value.
  @EventLoop private static func clear(
    _ index: IndexID, _ count: Int, in database: Database
  ) async throws(DatabaseError) -> IndexBatch {
    for page in SearchIndexQueries.valued {
      let users = try await database.write(page, index, count).sorted { $0.text < $1.text }
      guard !users.isEmpty else { continue }
      let calls = users.map { PendingQuery(SearchIndexQueries.clear, $0, index) }
      _ = try await database.answers(to: calls, on: .exclusive)
      return IndexBatch(count: users.count, isLast: false)
    }
    _ = try await database.write(SearchIndexQueries.drop, index)
    return IndexBatch(count: 0, isLast: true)
  }

  /// Finishes the work on the indexes of all apps.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func finishAll(in database: Database) async throws(Failure) {
    let unfinished: [SearchIndex]
    do throws(DatabaseError) {
      unfinished = try await database.read(SearchIndexQueries.unfinished)
    } catch {
      throw Failure(error)
    }
    for index in unfinished { try await finish(index, in: database) }
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

/// The result of one batch of work on an index.
struct IndexBatch {
  /// The number of users indexed, or of values deleted.
  let count: Int
  let isLast: Bool
}

/// An index that is being built.
struct BuildingIndex: RowDecodable {
  let app: AppID
  let document: DocumentKind
  /// The last user whose documents are indexed; empty before the first.
  let builtTo: String
  /// The index, as `SearchValueQueries.indexes` returns it.
  let indexes: String

  init(from row: Row) throws(DatabaseError) {
    app = try row.id(0)
    document = try row.documentKind(1)
    builtTo = try row.text(2)
    indexes = try row.text(3)
  }
}

struct UserToIndex: RowDecodable {
  let user: UserID
  let hasDocument: Bool

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    hasDocument = try row.bool(1)
  }
}

extension SQL {
  /// The select of a `SearchIndex`, without a condition.
  fileprivate static let searchIndexes: SQL = """
    select id, document_kind, path, kind, state, created_at from search_index_records
    """

  fileprivate static func valued(_ condition: SQL) -> SQL {
    "select user_id from search_values where index_id = $1 and \(condition) limit $2::bigint"
  }
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

  /// Returns since when transactions see the state of an index; no row if the work is finished.
  ///
  /// The first process that sees the state records the time, which is later than its commit.
  static let settle = Statement<String, IndexID, ServerTime>(
    "search_indexes.settle",
    """
    update search_indexes set visible_since = coalesce(visible_since, $2::timestamptz)
    where index_id = $1 and state <> 'ready' returning visible_since
    """)

  /// Returns whether all transactions of the programs that began before a time have ended.
  ///
  /// Transaction ids prove nothing in a distributed database: a transaction that writes on another
  /// node has none here. But all begin here.
  static let isSettled = Statement<Bool, String>(
    "search_indexes.is_settled",
    """
    select not exists (
      select 1 from pg_stat_activity
      where datname = current_database() and usename = session_user and pid <> pg_backend_pid()
        and xact_start <= $1::timestamptz)
    """)

  /// Locks an index that is being built; returns no row if another process has finished.
  static let lockBuilding = Statement<BuildingIndex, IndexID>(
    "search_indexes.lock_building",
    """
    select app_id, document_kind, built_to,
      jsonb_build_array(jsonb_build_object('index_id', index_id, 'path', to_jsonb(path), 'kind', kind))
    from search_indexes where index_id = $1 and state = 'building' for update
    """)

  /// Returns the next users of an app, and whether each has a document of the kind.
  static let users = Statement<UserToIndex, AppID, String, DocumentKind, Int>(
    "search_indexes.users",
    """
    select u.user_id, d.user_id is not null
    from users u
    left join documents d on d.user_id = u.user_id and d.kind = $3 and d.deleted_at is null
    where u.app_id = $1 and u.user_id > $2 order by u.user_id limit $4::bigint
    """)

  /// Locks a document, so that its writers wait, and then see the index and update its values.
  static let lockDocument = Statement<NoRow, UserID, DocumentKind>(
    "search_indexes.lock_document",
    """
    select 1 from documents where user_id = $1 and kind = $2 and deleted_at is null for share
    """)

  /// - Parameter 2: the last user whose documents are indexed.
  static let advance = Statement<NoRow, IndexID, String, Bool>(
    "search_indexes.advance",
    """
    update search_indexes
    set built_to = $2, state = case when $3::boolean then 'ready' else state end
    where index_id = $1
    """)

  /// Return users with values at an index, of all shards: a statement for each index of the table.
  static let valued: [Statement<UserID, IndexID, Int>] = [
    Statement("search_indexes.texts", .valued("text_value is not null")),
    Statement("search_indexes.numbers", .valued("number_value is not null")),
    Statement("search_indexes.booleans", .valued("boolean_value is not null")),
    Statement(
      "search_indexes.others",
      .valued("text_value is null and number_value is null and boolean_value is null")
    ),
  ]

  static let clear = Statement<NoRow, UserID, IndexID>(
    "search_indexes.clear", "delete from search_values where user_id = $1 and index_id = $2"
  )

  /// Deletes an index without values.
  static let drop = Statement<NoRow, IndexID>(
    "search_indexes.drop", "delete from search_indexes where index_id = $1 and state = 'removing'"
  )
}
