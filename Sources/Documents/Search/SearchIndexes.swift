package import Runtime
import Tenancy
import EventLoop
import JSON
package import Postgres

/// The declared search indexes on paths of an app's documents.
package enum SearchIndexes {
  /// The most indexes of an app: every write of a document looks up each.
  package static let limit = 32

  /// Declares an index; `finish` then indexes the existing documents.
  ///
  /// - Parameters:
  ///   - path: the path as filters spell it, such as `metadata.theme`.
  ///   - kind: the kind of its values: `text`, `number` or `boolean`.
  ///   - app: the name of the app.
  ///   - context: the context of the request.
  /// - Returns: the index; the existing one if it is still being built.
  /// - Throws: `.invalid`, `.indexExists`, `.tooManyIndexes`, `.unknownApp`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func add(
    _ path: String, kind: String, to app: String, _ context: RequestContext
  ) async throws(Failure) -> SearchIndex {
    let (document, names) = try check(path, kind)
    let id = try await Apps.record(of: app, context).id
    return try await context.transaction { transaction async throws(Failure) in
      // Serializes declarations of one app, for the limit.
      _ = transaction.send(AppsAdministrationQueries.lock, app)
      let all = try await transaction.run(SearchIndexQueries.list, id)
      if let same = all.first(where: { $0.isOn(document, names) }) {
        guard same.kind.rawValue == kind, same.state == .building else { throw .indexExists }
        return same
      }
      guard all.count < limit else { throw .tooManyIndexes(limit: limit) }
      let index = IndexID()
      _ = transaction.send(SearchIndexQueries.add, id, index, document, TextArray(names), kind)
      Event("index_add", detail: ["path": .string(path), "kind": .string(kind)]).record(
        in: transaction, app: id
      )
      let made = try await transaction.run(SearchIndexQueries.find, id, index)
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
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package static func list(
    of app: String, _ context: RequestContext
  ) async throws(Failure) -> [SearchPath] {
    let declared = try await all(of: app, context)
    return ProfileMember.allCases.filter(\.isIndexed).map(SearchPath.member)
      + declared.map(SearchPath.declared)
  }

  /// Returns the declared indexes.
  ///
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package static func all(
    of app: String, _ context: RequestContext
  ) async throws(Failure) -> [SearchIndex] {
    let id = try await Apps.record(of: app, context).id
    return try await context.read(SearchIndexQueries.list, id)
  }

  /// Returns the index on a path, as filters spell it.
  ///
  /// - Throws: `.notFound`, `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package static func index(
    on path: String, of app: String, _ context: RequestContext
  ) async throws(Failure) -> SearchIndex {
    let all = try await all(of: app, context)
    guard let (document, names) = try? Filter.path(path),
      let index = all.first(where: { $0.isOn(document, names) })
    else { throw .notFound }
    return index
  }

  /// Marks an index for removal; `finish` then deletes its values.
  ///
  /// - Throws: `.notFound`, `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package static func remove(
    _ index: IndexID, from app: String, _ context: RequestContext
  ) async throws(Failure) {
    let id = try await Apps.record(of: app, context).id
    try await context.act("index_remove") { transaction async throws(Failure) in
      let found = try await transaction.run(SearchIndexQueries.find, id, index).first
      _ = transaction.send(SearchIndexQueries.remove, id, index)
      return found
    } recording: { removed in
      (id, ["path": .string(removed.path)])
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
