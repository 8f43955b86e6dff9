package import EventLoop
package import Postgres

/// What every verb of the domain works on: the database, the keys, the pool for hashing.
///
/// One is made for each request, so that the request's time in the database can be told.
@EventLoop package struct Store {
  package let database: Database
  package let keys: Keyring
  package let passwords: PasswordHasher
  package let apps: Apps
  package let mailer: Mailer
  package let external: ExternalTokens
  package let pictures: PictureStudio
  /// Threads for `calculate`.
  let calculator: BlockingPool
  package let meter = Meter()
  package let limits = RateLimits()

  package init(
    database: Database,
    keys: Keyring,
    passwords: PasswordHasher,
    apps: Apps,
    mailer: Mailer,
    external: ExternalTokens,
    pictures: PictureStudio,
    calculator: BlockingPool
  ) {
    self.database = database
    self.keys = keys
    self.passwords = passwords
    self.apps = apps
    self.mailer = mailer
    self.external = external
    self.pictures = pictures
    self.calculator = calculator
  }

  /// Runs a read of bounded cost, on the express lane.
  func read<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) async throws(Failure) -> [Row] {
    try await metered { () async throws(DatabaseError) in
      try await database.read(statement, repeat each values)
    }
  }

  /// Runs one statement that writes, on the exclusive lane.
  func write<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) async throws(Failure) -> [Row] {
    try await metered { () async throws(DatabaseError) in
      try await database.write(statement, repeat each values)
    }
  }

  /// Runs one statement that writes, and undoes it when `check` refuses what it returned.
  ///
  /// - Parameters:
  ///   - statement: as for `write`.
  ///   - values: its parameters.
  ///   - check: nil for none: then it is a statement alone, without a transaction around it.
  /// - Returns: the rows.
  /// - Throws: what `check` throws.
  func write<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value,
    check: (@EventLoop ([Row]) async throws(Failure) -> Void)?
  ) async throws(Failure) -> [Row] {
    guard let check else { return try await write(statement, repeat each values) }
    var refusal: Failure?
    do throws(Failure) {
      return try await transaction { (transaction) async throws(DatabaseError) in
        let rows = try await transaction.run(statement, repeat each values)
        do throws(Failure) {
          try await check(rows)
        } catch {
          refusal = error
          throw DatabaseError(.undone, "the caller undoes its write")
        }
        return rows
      }
    } catch {
      throw refusal ?? error
    }
  }

  /// Runs a read that may take long, or has a large answer, on the search lane.
  func search<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) async throws(Failure) -> [Row] {
    try await metered { () async throws(DatabaseError) in
      try await database.search(statement, repeat each values)
    }
  }

  /// Runs a read of one large value, on the lane for these.
  func fetch<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) async throws(Failure) -> [Row] {
    try await metered { () async throws(DatabaseError) in
      try await database.fetch(statement, repeat each values)
    }
  }

  /// Runs a read that was put together for it, on the search lane.
  ///
  /// - Throws: `.searchTooSlow` when the server ended it.
  func search<Row>(_ statement: ComposedStatement<Row>) async throws(Failure) -> [Row] {
    var isTooSlow = false
    do throws(Failure) {
      return try await metered { () async throws(DatabaseError) in
        do throws(DatabaseError) {
          return try await database.search(statement)
        } catch {
          isTooSlow = error.state == .queryCanceled
          throw error
        }
      }
    } catch {
      throw isTooSlow ? .searchTooSlow : error
    }
  }

  /// Runs statements of one user in a transaction; it may run again after a conflict.
  func transaction<Outcome>(
    _ body: @EventLoop (Transaction) async throws(DatabaseError) -> Outcome
  ) async throws(Failure) -> Outcome {
    try await metered { () async throws(DatabaseError) in try await database.transaction(body) }
  }

  /// The one place where the database's words become the domain's.
  private func metered<Outcome>(
    _ body: @EventLoop () async throws(DatabaseError) -> Outcome
  ) async throws(Failure) -> Outcome {
    let start = EventLoop.now()
    defer { meter.databaseNanoseconds += EventLoop.now() - start }
    do throws(DatabaseError) {
      return try await body()
    } catch {
      throw Failure(error)
    }
  }
}

/// How long one request was in the database.
@EventLoop package final class Meter {
  package fileprivate(set) var databaseNanoseconds: UInt64 = 0

  init() {}
}
