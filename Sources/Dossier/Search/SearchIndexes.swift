import EventLoop
import JSON
package import Postgres

/// The paths of an app's documents that can be searched by, as operators declare them.
package enum SearchIndexes {
  /// Of an app: each is looked up at every write of a document.
  package static let limit = 32

  /// Declares an index; what was stored before is covered when `finish` has been at it.
  ///
  /// - Parameters:
  ///   - path: as filters spell it, `metadata.theme`.
  ///   - kind: of the values: `text`, `number` or `boolean`.
  ///   - app: the name of the app.
  ///   - context: the context of the request.
  /// - Returns: the index; one that is being built where it was declared before.
  /// - Throws: `.invalid`, `.indexExists`, `.tooManyIndexes`, `.unknownApp`, `.unavailable`.
  @EventLoop package static func add(
    _ path: String,
    kind: String,
    to app: String,
    _ context: RequestContext
  ) async throws(Failure) -> SearchIndex {
    let (document, names) = try check(path, kind)
    let id = try await Apps.record(of: app, context).id
    return try await context.transaction { transaction async throws(Failure) in
      // Those who declare follow one another, so that there are never too many.
      _ = try await transaction.run(AppsAdministrationQueries.lock, app)
      let all = try await transaction.run(SearchIndexQueries.list, id)
      if let same = all.first(where: { $0.document == document && $0.names == names }) {
        guard same.kind.rawValue == kind, same.state == .building else { throw .indexExists }
        return same
      }
      guard all.count < limit else { throw .tooManyIndexes(limit: limit) }
      let index = IndexID()
      _ = try await transaction.run(
        SearchIndexQueries.add,
        id,
        index,
        document,
        TextArray(names),
        kind
      )
      try await Event("index_add", detail: ["path": .string(path), "kind": .string(kind)]).record(
        in: transaction,
        app: id,
        context
      )
      let made = try await transaction.run(SearchIndexQueries.find, id, index)
      return try made.first.orUnforeseen("an index that was declared")
    }
  }

  private static func check(
    _ path: String,
    _ kind: String
  ) throws(Failure) -> (DocumentClass, [String]) {
    var faults: [Fault] = []
    if !["text", "number", "boolean"].contains(kind) {
      faults.append(Fault("/kind", "choice", "A kind is text, number or boolean."))
    }
    do throws(FilterError) {
      let read = try Filter.path(path)
      if faults.isEmpty { return read }
    } catch {
      let detail =
        ProfileMember(rawValue: path) == nil
        ? error.detail : "Members of the profile are indexed by the schema, or not at all."
      faults.append(Fault("/path", error.rule.rawValue, detail))
    }
    throw .invalid(faults)
  }

  /// What can be searched by: members of the profile, and what was declared.
  ///
  /// - Throws: `.unknownApp`, `.unavailable`.
  @EventLoop package static func list(
    of app: String,
    _ context: RequestContext
  ) async throws(Failure) -> [SearchPath] {
    let declared = try await all(of: app, context)
    return ProfileMember.allCases.filter(\.isIndexed).map(SearchPath.member)
      + declared.map(SearchPath.declared)
  }

  /// What was declared.
  ///
  /// - Throws: `.unknownApp`, `.unavailable`.
  @EventLoop package static func all(
    of app: String,
    _ context: RequestContext
  ) async throws(Failure) -> [SearchIndex] {
    let id = try await Apps.record(of: app, context).id
    return try await context.read(SearchIndexQueries.list, id)
  }

  /// The index on a path, as filters spell it.
  ///
  /// - Throws: `.notFound`, `.unknownApp`, `.unavailable`.
  @EventLoop package static func index(
    on path: String,
    of app: String,
    _ context: RequestContext
  ) async throws(Failure) -> SearchIndex {
    let all = try await all(of: app, context)
    guard let (document, names) = try? Filter.path(path),
      let index = all.first(where: { $0.document == document && $0.names == names })
    else { throw .notFound }
    return index
  }

  /// Ends the use of an index; its values go when `finish` is at it.
  ///
  /// - Throws: `.notFound`, `.unknownApp`, `.unavailable`.
  @EventLoop package static func remove(
    _ index: IndexID,
    from app: String,
    _ context: RequestContext
  ) async throws(Failure) {
    let id = try await Apps.record(of: app, context).id
    try await context.act("index_remove") { transaction async throws(Failure) in
      let found = try await transaction.run(SearchIndexQueries.find, id, index).first
      _ = try await transaction.run(SearchIndexQueries.remove, id, index)
      return found
    } recording: { removed in
      (id, ["path": .string(removed.path)])
    }
  }

  // MARK: The work

  /// Users, or values, of one batch: some tens of milliseconds, for which writers of these documents
  /// wait.
  private static let batch = 500

  /// Does what is left to do for an index: looks at all documents, or removes all values.
  ///
  /// Any number may be at it; what one leaves undone another goes on with.
  /// - Parameters:
  ///   - index: being built or removed.
  ///   - database: where.
  ///   - progress: told after each batch how many users, or values, are done.
  /// - Throws: `.unavailable`.
  @EventLoop package static func finish(
    _ index: SearchIndex,
    in database: Database,
    progress: @EventLoop (Int) -> Void = { _ in }
  ) async throws(Failure) {
    do throws(DatabaseError) {
      while true {
        let settled = try await database.write(SearchIndexQueries.settle, index.id).first
        guard let settled else { return }
        if settled { break }
        await EventLoop.sleep(for: .milliseconds(50))
      }
      let statement =
        index.state == .removing ? SearchIndexQueries.clear : SearchIndexQueries.build
      var (done, size) = (0, batch)
      while true {
        do throws(DatabaseError) {
          let result = try await database.write(statement, index.id, size).first
          done += result?.count ?? 0
          progress(done)
          guard let result, !result.isLast else { return }
        } catch {
          // Large documents take longer: fewer at a time then.
          guard error.state == .queryCanceled, size > 1 else { throw error }
          size /= 4
        }
      }
    } catch {
      throw Failure(error)
    }
  }

  /// Does what others left undone, for all apps.
  ///
  /// - Throws: `.unavailable`.
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
