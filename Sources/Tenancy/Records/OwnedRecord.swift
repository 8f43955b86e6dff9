package import EventLoop
package import JSON
import Postgres
package import Records
package import Runtime

/// A record with the rules of the domain, and with the verbs that operators have for it.
///
/// The verbs have defaults: a record replaces those that do more.
package protocol OwnedRecord: Record {
  /// The error if the app has a record with the key or with another unique column.
  static var taken: Failure { get }
  /// The error if the app has no record with the key.
  static var missing: Failure { get }
  /// Returns the key of a new record: a new id, or the attribute that is its name.
  static func key(of new: JSONObject) -> String
  /// Returns the faults of a changed record that concern several columns.
  static func faults(
    in record: Self, _ change: RecordChange, of stored: Stored<Self>?
  ) -> [ColumnFault]

  /// Checks a record by what the transaction that writes it reads, such as the others of its app.
  ///
  /// A record of the operator has no app.
  /// - Throws: `.invalid`, `.databaseUnavailable`.
  @EventLoop static func check(
    _ record: Self, _ key: String, in app: AppID?, _ transaction: Transaction
  ) async throws(Failure)
  /// Returns the secrets of a new or changed record.
  @EventLoop static func secrets(
    of record: Self, _ patch: JSONObject, _ key: String, in app: AppID?, isNew: Bool,
    _ context: RequestContext
  ) throws(Failure) -> RecordSecrets
  /// Writes what follows from a change, in its transaction.
  @EventLoop static func settle(_ before: Stored<Self>, in transaction: Transaction)

  /// Returns a record with its extra members.
  @EventLoop static func find(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> Stored<Self>
  @EventLoop static func create(
    _ members: JSONObject, in app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> Stored<Self>
  @EventLoop static func change(
    _ key: String, of app: AppID?, by patch: RecordPatch, if condition: VersionCondition,
    _ context: RequestContext
  ) async throws(Failure) -> Stored<Self>
  @EventLoop static func delete(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure)
}

/// The secrets that a change gives to a record.
package struct RecordSecrets: Sendable {
  /// Sealed or hashed bytes by the name of their column; nil removes those of a column.
  package var stored: [String: [UInt8]?] = [:]
  /// A secret that the server has made, which the response has.
  package var shown: String?

  package init() {}
}

/// A merge patch of a record.
package struct RecordPatch: Sendable {
  package let members: JSONObject
  /// The objects that it replaces instead of merging.
  package let replaced: Set<String>

  package init(_ members: JSONObject, replacing replaced: Set<String> = []) {
    (self.members, self.replaced) = (members, replaced)
  }
}

extension OwnedRecord {
  package static var missing: Failure { .notFound }

  package static func key(of new: JSONObject) -> String { ID<Self>().text }

  package static func faults(
    in record: Self, _ change: RecordChange, of stored: Stored<Self>?
  ) -> [ColumnFault] { [] }

  @EventLoop package static func check(
    _ record: Self, _ key: String, in app: AppID?, _ transaction: Transaction
  ) async throws(Failure) {}

  @EventLoop package static func secrets(
    of record: Self, _ patch: JSONObject, _ key: String, in app: AppID?, isNew: Bool,
    _ context: RequestContext
  ) throws(Failure) -> RecordSecrets { RecordSecrets() }

  @EventLoop package static func settle(_ before: Stored<Self>, in transaction: Transaction) {}

  @EventLoop package static func find(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> Stored<Self> {
    try await table.find(key, of: app, context)
  }

  @EventLoop package static func create(
    _ members: JSONObject, in app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> Stored<Self> {
    try await table.create(members, in: app, context)
  }

  @EventLoop package static func change(
    _ key: String, of app: AppID?, by patch: RecordPatch, if condition: VersionCondition,
    _ context: RequestContext
  ) async throws(Failure) -> Stored<Self> {
    try await table.change(key, of: app, by: patch, if: condition, context)
  }

  @EventLoop package static func delete(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure) {
    try await table.delete(key, of: app, context)
  }
}

@EventLoop extension RecordTable where R: OwnedRecord {
  /// Returns the records of all apps, or of one, in the order of the table.
  ///
  /// - Throws: `.databaseUnavailable`.
  package func list(
    of app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> [Stored<R>] {
    try await context.read(statements.list, app?.text, on: .large)
  }

  /// Returns a record of any app, or of one.
  ///
  /// - Throws: the error `missing` of the record, `.databaseUnavailable`.
  package func find(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> Stored<R> {
    try requireStorable(key)
    guard let found = try await context.first(statements.show, app?.text, key) else {
      throw R.missing
    }
    return found
  }

  /// Returns the change that a patch makes, which is checked but for the other records.
  ///
  /// - Throws: `.invalid` with every fault.
  nonisolated package func checked(
    _ patch: RecordPatch, of stored: Stored<R>? = nil
  ) throws(Failure) -> (change: RecordChange, record: R) {
    let change = shape.change(of: stored?.chosen, by: patch.members, replacing: patch.replaced)
    var reader = RecordReader(change.after)
    let record = R(&reader)
    let faults = change.faults + R.faults(in: record, change, of: stored)
    guard faults.isEmpty else { throw .invalid(faults.map(FieldError.init)) }
    return (change, record)
  }

  /// Creates a record.
  ///
  /// - Returns: the record, with a secret that was made for it.
  /// - Throws: `.invalid` with every fault, the error `taken` of the record, `.databaseUnavailable`.
  package func create(
    _ members: JSONObject, in app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> Stored<R> {
    let (change, record) = try checked(RecordPatch(members))
    let key = R.key(of: members)
    let secrets = try R.secrets(of: record, members, key, in: app, isNew: true, context)
    let row = row(of: change.after, secrets: secrets.stored)
    var made = try await context.transaction { transaction async throws(Failure) in
      try await R.check(record, key, in: app, transaction)
      try await transaction.send(statements.insert, app?.text, key, row).rows(duplicate: R.taken)
      note(.create, key, change.audited, in: transaction, app)
      return try await transaction.run(statements.show, app?.text, key)
    }.first.orUnforeseen("a record that was made")
    made.newSecret = secrets.shown
    return made
  }

  /// Changes a record, and increments the version even if no value differs.
  ///
  /// - Throws: `.invalid` with every fault, `.preconditionFailed`, the errors `missing` and `taken` of
  ///   the record, `.databaseUnavailable`.
  package func change(
    _ key: String, of app: AppID?, by patch: RecordPatch, if condition: VersionCondition,
    _ context: RequestContext
  ) async throws(Failure) -> Stored<R> {
    try requireStorable(key)
    return try await context.transaction { transaction async throws(Failure) in
      let found = try await transaction.run(statements.lock, app?.text, key)
      guard let before = found.first else { throw R.missing }
      try condition.require(before.version)
      let (change, record) = try checked(patch, of: before)
      let app = before.appID
      try await R.check(record, key, in: app, transaction)
      let secrets = try R.secrets(of: record, patch.members, key, in: app, isNew: false, context)
      let row = row(of: change.after, secrets: secrets.stored)
      try await transaction.send(statements.change, app?.text, key, row).rows(duplicate: R.taken)
      R.settle(before, in: transaction)
      var detail = change.audited
      detail["before"] = .object(change.auditedBefore)
      note(.change, key, detail, in: transaction, app)
      return try await transaction.run(statements.show, app?.text, key)
    }.first.orUnforeseen("a record that was changed")
  }

  /// Deletes a record.
  ///
  /// - Throws: the error `missing` of the record, `.databaseUnavailable`.
  package func delete(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure) {
    try requireStorable(key)
    try await context.transaction { transaction async throws(Failure) in
      let found = try await transaction.run(statements.lock, app?.text, key)
      guard let before = found.first else { throw R.missing }
      _ = transaction.send(statements.delete, app?.text, key)
      let shown = RecordChange.shown(before.chosen)
      note(.delete, key, JSONObject([("before", .object(shown))]), in: transaction, before.appID)
    }
  }

  /// Returns the other records of an app, to which none can be added until the transaction ends.
  ///
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  package func others(
    than key: String, in app: AppID, _ transaction: Transaction
  ) async throws(Failure) -> [Stored<R>] {
    try await transaction.lockApp(app)
    return try await transaction.run(statements.list, app.text)
      .filter { !$0.key.hasSameBytes(as: key) }
  }

  /// Refuses a key with NUL, which PostgreSQL cannot store.
  ///
  /// - Throws: the error `missing` of the record.
  func requireStorable(_ key: String) throws(Failure) {
    guard !key.utf8.contains(0) else { throw R.missing }
  }

  private func note(
    _ act: RecordAct, _ key: String, _ detail: JSONObject, in transaction: Transaction,
    _ app: AppID?
  ) {
    let noun = R.words.parameter
    var all = JSONObject([("\(noun)_id", .string(key))])
    for (name, value) in detail { all[name] = value }
    Event("\(noun)_\(act.rawValue)", detail: .object(all))
      .record(in: transaction, app: app ?? .deployment)
  }
}

extension Stored {
  /// The id of its app; nil for a record of the operator.
  package var appID: AppID? { app.isEmpty ? nil : AppID(trusted: app) }
}

private enum RecordAct: String {
  case create, change, delete
}

extension Transaction {
  /// Locks an app until the end, so that what it owns changes one after the other.
  ///
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package func lockApp(_ app: AppID) async throws(Failure) {
    guard try await run(RecordQueries.lockApp, app).first != nil else { throw .unknownApp }
  }
}

package enum RecordQueries {
  static let lockApp = Statement<String, AppID>(
    "records.lock_app", "select app_id from apps where app_id = $1 for no key update")
}
