import EventLoop
import Postgres
import Runtime

/// The work on one search index: stores the values of all documents, or deletes them.
///
/// The work is cut into ranges of user ids, and each range is one statement. The row of the index
/// has the ranges that are begun and those that are finished. So connections and processes share
/// the work, and a process continues where a killed one stopped.
///
/// The first phase locks no documents, so no request waits for it. It may therefore store the value
/// of a document that a request changes at the same time. When all these requests have ended, a
/// second phase compares the values with the documents, and corrects those that differ. A request
/// that begins later sees the stored value, and replaces it itself.
@EventLoop final class SearchIndexBuild {
  private let index: SearchIndex
  private let connections: Int
  private let database: Database
  private let progress: @EventLoop @Sendable (SearchIndexProgress) -> Void
  private let claims = KeyedMutex()
  /// The most users of a range.
  private let mostUsers: Int
  /// The users of the next range: fewer after a time-out, and then slowly more again.
  private var size: Int
  private var ownUsers = 0
  private var hasFailed = false

  /// - Parameters:
  ///   - index: the index.
  ///   - connections: the number of ranges to work on at once.
  ///   - size: the users of a range. 2,000 documents of usual size take 20 ms.
  ///   - database: the database of the index.
  ///   - progress: is called after each range.
  init(
    _ index: SearchIndex, connections: Int, size: Int = 2_000, in database: Database,
    _ progress: @escaping @EventLoop @Sendable (SearchIndexProgress) -> Void
  ) {
    (self.index, self.connections, self.database) = (index, connections, database)
    (mostUsers, self.size) = (size, size)
    self.progress = progress
  }

  /// Works on the index until it is complete or deleted.
  func run() async throws(DatabaseError) {
    let settle = IndexBuildQueries.settle
    while let work = try await database.write(settle, index.id, ServerTime()).first {
      while try await database.write(IndexBuildQueries.isSettled, work.visibleSince).first != true {
        await EventLoop.sleep(for: .milliseconds(50))
      }
      try await run(work)
    }
  }

  private func run(_ work: IndexWork) async throws(DatabaseError) {
    ownUsers = 0
    let tasks = (0..<connections).map { _ in
      EventLoop.task { [self] in await runRanges(of: work) }
    }
    var failure: DatabaseError?
    for task in tasks {
      let error = await task.value
      failure = failure ?? error
    }
    if let failure { throw failure }
    // All ranges are begun. The processes that have begun the rest may have been killed.
    for range in try await database.write(IndexBuildQueries.open, index.id, work.phase.rawValue) {
      try await run(try await users(of: range, work.app)[...], work)
      try await finish(range, work)
    }
    let end =
      switch work.phase {
      case .fill: IndexBuildQueries.startCheck
      case .check: IndexBuildQueries.complete
      case .clear: IndexBuildQueries.drop
      }
    _ = try await database.write(end, index.id)
  }

  /// Works on ranges until all are begun; returns an error that ended this.
  private func runRanges(of work: IndexWork) async -> DatabaseError? {
    do throws(DatabaseError) {
      while !hasFailed {
        let range = try await claims.inTurn(on: "") { () async throws(DatabaseError) in
          try await claim(work)
        }
        guard let range else { return nil }
        try await run(range.users[...], work)
        try await finish(range.range, work)
        size = min(mostUsers, size + size / 4 + 1)
      }
      return nil
    } catch {
      hasFailed = true
      return error
    }
  }

  /// Begins the next range; returns nil if all are begun.
  private func claim(
    _ work: IndexWork
  ) async throws(DatabaseError) -> (range: IndexRange, users: [UserID])? {
    let phase = work.phase.rawValue
    while let place = try await database.write(IndexBuildQueries.place, index.id, phase).first {
      let count = size
      let users = try await database.write(IndexBuildQueries.users, work.app, place, count)
      let next = users.count < count ? nil : users.last?.text
      let range = IndexRange(after: place, through: next ?? IndexRange.end, users: users.count)
      let claimed = try await database.write(
        IndexBuildQueries.claim, index.id, phase, place, next, range.text
      )
      if !claimed.isEmpty { return (range, users) }
    }
    return nil
  }

  /// Returns the users of a range.
  private func users(of range: IndexRange, _ app: AppID) async throws(DatabaseError) -> [UserID] {
    var found: [UserID] = []
    var place = range.after
    while true {
      let users = try await database.write(IndexBuildQueries.users, app, place, size)
      found += users.prefix { $0.text <= range.through }
      guard users.count == size, let last = users.last?.text, last < range.through else {
        return found
      }
      place = last
    }
  }

  /// Works on users, all at once, or in parts if that fails.
  private func run(_ users: ArraySlice<UserID>, _ work: IndexWork) async throws(DatabaseError) {
    var attempt = 1
    while true {
      do throws(DatabaseError) {
        return try await runAtOnce(users, work)
      } catch {
        // Large documents take longer, and a request may have locked one of the users.
        let isSlow = error.state == .queryCanceled || error.isConflict
        if isSlow, users.count > 1 { break }
        // A locked user is free in seconds. A user who was deleted meanwhile has no document now.
        guard isSlow || error.state == .foreignKeyViolation, attempt < 20 else { throw error }
        attempt += 1
      }
    }
    let count = (users.count + 3) / 4
    size = min(size, count)
    for start in stride(from: users.startIndex, to: users.endIndex, by: count) {
      try await run(users[start..<min(start + count, users.endIndex)], work)
    }
  }

  private func runAtOnce(
    _ users: ArraySlice<UserID>, _ work: IndexWork
  ) async throws(DatabaseError) {
    let ids = TextArray(users.map(\.text))
    let path = TextArray(index.names)
    let kind = index.kind.rawValue
    switch work.phase {
    case .fill:
      _ = try await database.write(
        IndexBuildQueries.fill, ids, index.document, index.id, path, kind
      )
    case .check:
      let differing = try await database.write(
        IndexBuildQueries.differing, ids, index.document, index.id, path, kind
      )
      for user in differing { try await correct(user) }
    case .clear:
      _ = try await database.write(IndexBuildQueries.clear, ids, index.id)
    }
  }

  /// Stores the value of one user's document again.
  private func correct(_ user: UserID) async throws(DatabaseError) {
    try await database.transaction { (transaction) async throws(DatabaseError) in
      let found = try await transaction.run(IndexBuildQueries.building, index.id).first
      guard let indexes = found else { return }
      // Its writers wait, and then see the value.
      _ = transaction.send(IndexBuildQueries.lockDocument, user, index.document)
      SearchValues.send(of: index.document, user, indexes, in: transaction)
    }
  }

  private func finish(_ range: IndexRange, _ work: IndexWork) async throws(DatabaseError) {
    let users = try await database.write(
      IndexBuildQueries.finish, index.id, work.phase.rawValue, range.text, range.users
    )
    ownUsers += range.users
    guard let users = users.first else { return }
    progress(SearchIndexProgress(phase: work.phase, users: users, ownUsers: ownUsers))
  }
}

/// How far the work on an index has come.
package struct SearchIndexProgress: Sendable {
  package let phase: SearchIndexPhase
  /// The users who are finished in this phase, also by other processes.
  package let users: Int
  /// The users whom this process has finished in this phase.
  package let ownUsers: Int
}

/// A phase of the work on an index.
package enum SearchIndexPhase: String, Sendable {
  /// Values are added.
  case fill
  /// Values of documents that were written meanwhile are corrected.
  case check
  /// Values are deleted.
  case clear
}

/// The work to do on an index.
struct IndexWork: RowDecodable {
  let app: AppID
  let phase: SearchIndexPhase
  /// Transactions that begin later see the state of the index.
  let visibleSince: String

  init(from row: Row) throws(DatabaseError) {
    app = try row.id(0)
    guard let phase = SearchIndexPhase(rawValue: try row.text(1)) else {
      throw DatabaseError(.unexpectedColumn, "an index in an unknown phase")
    }
    self.phase = phase
    visibleSince = try row.text(2)
  }
}

/// A range of users.
struct IndexRange: RowDecodable {
  /// The user before the first; empty for the first range.
  let after: String
  /// The last user, or `end`.
  let through: String
  /// The most users that it had when it was begun.
  let users: Int

  /// Greater than all ids.
  static let end = "g"

  /// The range as `open_ranges` stores it.
  var text: String { "\(after)-\(through)-\(users)" }

  init(after: String, through: String, users: Int) {
    (self.after, self.through, self.users) = (after, through, users)
  }

  init(from row: Row) throws(DatabaseError) {
    let parts = try row.text(0).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, let users = Int(parts[2]) else {
      throw DatabaseError(.unexpectedColumn, "an unknown range of an index")
    }
    self.init(after: String(parts[0]), through: String(parts[1]), users: users)
  }
}

package enum IndexBuildQueries {
  /// Returns the work to do on an index, and since when transactions see its state; no row if
  /// nothing is left to do.
  ///
  /// The first process that sees the state records the time, which is later than its commit. The
  /// removal of an index begins at the first user.
  static let settle = Statement<IndexWork, IndexID, ServerTime>(
    "search_indexes.settle",
    """
    update search_indexes set visible_since = coalesce(visible_since, $2::timestamptz),
      phase = case when state = 'removing' then 'clear' else phase end,
      claimed_to = case when state = 'removing' and phase <> 'clear' then '' else claimed_to end,
      open_ranges = case when state = 'removing' and phase <> 'clear' then '{}' else open_ranges end,
      finished_users = case when state = 'removing' and phase <> 'clear' then 0
        else finished_users end
    where index_id = $1 and state <> 'ready'
    returning app_id, phase, visible_since
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

  /// Returns the last user of the ranges that are begun; no row if all are, or the phase is over.
  static let place = Statement<String, IndexID, String>(
    "search_indexes.place",
    """
    select claimed_to from search_indexes
    where index_id = $1 and phase = $2 and state <> 'ready' and claimed_to is not null
    """)

  /// Returns the next users of an app, of all shards.
  ///
  /// Served by `users_by_app`.
  static let users = Statement<UserID, AppID, String, Int>(
    "search_indexes.users",
    """
    select user_id from users where app_id = $1 and user_id > $2
    order by user_id limit $3::bigint
    """)

  /// Begins a range, unless another process has begun it.
  ///
  /// - Parameters:
  ///   - 3: the user before the range.
  ///   - 4: the last user; nil for the last range.
  ///   - 5: the range.
  static let claim = Statement<Int, IndexID, String, String, String?, String>(
    "search_indexes.claim",
    """
    update search_indexes set claimed_to = $4, open_ranges = array_append(open_ranges, $5)
    where index_id = $1 and phase = $2 and state <> 'ready' and claimed_to = $3
    returning 1
    """)

  /// Returns the ranges that are begun and not finished.
  static let open = Statement<IndexRange, IndexID, String>(
    "search_indexes.open",
    """
    select unnest(open_ranges) from search_indexes
    where index_id = $1 and phase = $2 and state <> 'ready'
    """)

  /// Stores that a range is finished, and returns the number of finished users.
  static let finish = Statement<Int, IndexID, String, String, Int>(
    "search_indexes.finish",
    """
    update search_indexes set open_ranges = array_remove(open_ranges, $3),
      finished_users = finished_users + case when $3 = any (open_ranges) then $4::bigint else 0 end
    where index_id = $1 and phase = $2
    returning finished_users
    """)

  /// Adds the values of users' documents, on all shards, unless the phase is over.
  ///
  /// A value that a request has stored is newer, and stays. A document with a list inside the path
  /// has a row too: a member of its elements may match.
  ///
  /// The users are an array and no range, since the users of a small app are far apart.
  /// - Parameters:
  ///   - 4: the path of the index.
  ///   - 5: the kind of its values.
  static let fill = Statement<NoRow, TextArray, DocumentKind, IndexID, TextArray, String>(
    "search_indexes.fill",
    """
    insert into search_values (user_id, index_id, text_value, number_value, boolean_value)
    select d.user_id, $3, n.text_value, n.number_value, n.boolean_value
    from documents d
    \(.indexed("$4::text[]", "$5::text"))
    where d.user_id = any ($1::text[]) and d.kind = $2
      and (f.type <> 'null' or \(.isInsideList("$4::text[]")))
      and exists (
        select 1 from search_indexes i
        where i.index_id = $3 and i.state = 'building' and i.phase = 'fill')
    on conflict (user_id, index_id) do nothing
    """)

  /// Returns the users whose value is not that of their document, of all shards.
  ///
  /// Its parameters are those of `fill`.
  static let differing = Statement<UserID, TextArray, DocumentKind, IndexID, TextArray, String>(
    "search_indexes.differing",
    """
    select d.user_id
    from documents d
    left join search_values v on v.user_id = d.user_id and v.user_id = any ($1::text[])
      and v.index_id = $3
    \(.indexed("$4::text[]", "$5::text"))
    where d.user_id = any ($1::text[]) and d.kind = $2
      and (v.user_id is not null, v.text_value, v.number_value, v.boolean_value) is distinct from (
        f.type is not null and f.type <> 'null' or \(.isInsideList("$4::text[]")),
        n.text_value, n.number_value, n.boolean_value)
    """)

  /// Deletes the values of users, on all shards.
  static let clear = Statement<NoRow, TextArray, IndexID>(
    "search_indexes.clear",
    "delete from search_values where user_id = any ($1::text[]) and index_id = $2"
  )

  /// Returns an index as `SearchValueQueries.indexes` does; no row unless it is being built.
  static let building = Statement<String, IndexID>(
    "search_indexes.building",
    """
    select jsonb_build_array(
      jsonb_build_object('index_id', index_id, 'path', to_jsonb(path), 'kind', kind))
    from search_indexes where index_id = $1 and state = 'building'
    """)

  /// Locks a document, so that its writers wait, and then see the value and replace it.
  static let lockDocument = Statement<NoRow, UserID, DocumentKind>(
    "search_indexes.lock_document",
    "select 1 from documents where user_id = $1 and kind = $2 for share"
  )

  /// Begins the check, if all values are added.
  ///
  /// Requests that began earlier may have read documents before their values were added, so the
  /// check waits for their end.
  static let startCheck = Statement<NoRow, IndexID>(
    "search_indexes.start_check",
    """
    update search_indexes
    set phase = 'check', visible_since = null, claimed_to = '', finished_users = 0
    where index_id = $1 and state = 'building' and phase = 'fill' and claimed_to is null
      and open_ranges = '{}'
    """)

  /// Marks an index as ready, if all values are checked.
  static let complete = Statement<NoRow, IndexID>(
    "search_indexes.complete",
    """
    update search_indexes set state = 'ready'
    where index_id = $1 and state = 'building' and phase = 'check' and claimed_to is null
      and open_ranges = '{}'
    """)

  /// Deletes an index that is being removed, if all values are deleted.
  static let drop = Statement<NoRow, IndexID>(
    "search_indexes.drop",
    """
    delete from search_indexes
    where index_id = $1 and state = 'removing' and phase = 'clear' and claimed_to is null
      and open_ranges = '{}'
    """)
}
