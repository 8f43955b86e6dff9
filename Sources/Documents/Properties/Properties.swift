internal import Crypto
package import Runtime
import EventLoop
package import JSON
import Postgres
import Sessions

/// Properties: a few small values of a user, by key.
package enum Properties {
  /// Returns the user's properties, sorted by key.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  @EventLoop package static func read(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [Property] {
    var batch = ReadBatch()
    let read = addRead(of: user, to: &batch, context)
    return try read(await context.read(batch))
  }

  /// Adds the same read to a batch; it throws as `read` does.
  @EventLoop package static func addRead(
    of user: UserID, to batch: inout ReadBatch, _ context: RequestContext
  ) -> BatchRead<[Property]> {
    let place = batch.add(PropertyQueries.read, user, context.principal)
    return { (results) throws(Failure) in
      let rows: [PropertyRow] = try results.rows(place)
      guard !rows.isEmpty else { throw context.gone }
      return rows.compactMap(\.property)
    }
  }

  /// Returns a number that changes whenever a property changes.
  ///
  /// The same keys in the same versions have the same values, since no version of a key is reused.
  package static func state(of properties: [Property]) -> Int {
    var hash = SHA256()
    for property in properties {
      hash.update(
        data: Array("\(property.key.utf8.count):\(property.key)\(property.version);".utf8)
      )
    }
    // 48 bits, which a JavaScript number can hold.
    return hash.finalize().prefix(6).reduce(0) { $0 << 8 | Int($1) }
  }

  /// Changes the user's properties, all or nothing.
  ///
  /// Writers of one user run one after another, so that its limits always hold.
  /// - Returns: all properties after the change, sorted by key.
  /// - Throws: `.invalid`, `.versionConflict`, `.notFound`, `.tooManyProperties`, `.sessionEnded`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func apply(
    _ change: PropertyChange, of user: UserID, equating equality: KeyEquality = .bytes,
    _ context: RequestContext
  ) async throws(Failure) -> [Property] {
    // A refused change takes no connection of writers.
    try check(change, context)
    return try await context.transaction { transaction async throws(Failure) in
      try await apply(change, of: user, equating: equality, in: transaction)
    }
  }

  /// Does as `apply`, in a transaction.
  @EventLoop @discardableResult package static func apply(
    _ change: PropertyChange, of user: UserID, equating equality: KeyEquality,
    in transaction: Transaction
  ) async throws(Failure) -> [Property] {
    let context = transaction.context
    try check(change, context)
    let locked = transaction.send(PropertyQueries.lock, user, context.principal)
    let stored = transaction.send(PropertyQueries.stored, user)
    let floor = try await locked.rows().first.orGone(context)
    var set = PropertySet(try await stored.rows().compactMap(\.property), floor: floor)
    try set.apply(set.spelled(change, equality))
    try await write(set, of: user, in: transaction)
    return set.properties.sorted { $0.key < $1.key }.map(\.value)
  }

  @EventLoop private static func check(
    _ change: PropertyChange, _ context: RequestContext
  ) throws(Failure) {
    let faults = faults(in: change, context.app.documentSettings.propertyStringLength)
    guard faults.isEmpty else { throw .invalid(faults) }
    guard change.count <= PropertySet.changeLimit else {
      throw .tooManyProperties(limit: PropertySet.limit)
    }
  }

  /// Returns the properties of a locked user.
  @EventLoop static func set(
    of user: UserID, _ floor: Int, in transaction: Transaction
  ) async throws(Failure) -> PropertySet {
    let stored = try await transaction.run(PropertyQueries.stored, user)
    return PropertySet(stored.compactMap(\.property), floor: floor)
  }

  /// Sends what has changed, and its event.
  @EventLoop static func write(
    _ set: PropertySet, of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    send([(user, set)], in: transaction)
    let event = Event(changeOf: "properties", of: user, transaction.context)
    try await event?.recordChange(of: user, in: transaction)
  }

  /// Sends what has changed in the properties of users.
  @EventLoop package static func send(
    _ sets: [(user: UserID, set: PropertySet)], in transaction: Transaction
  ) {
    for (user, set) in sets where !set.removed.isEmpty || !set.written.isEmpty {
      let removed = TextArray(set.removed.map(\.text))
      let written = TextBytes(set.rows.serialized())
      _ = transaction.send(PropertyQueries.remove, user, removed, set.floor)
      _ = transaction.send(PropertyQueries.write, user, written)
    }
  }

  /// Replaces all properties of users, for `send`.
  ///
  /// - Parameters:
  ///   - properties: the users, whom the transaction has locked, and their new properties. The floor
  ///     is the greatest version of a deleted property, or nil for a user who is about to be made.
  ///   - transaction: the transaction.
  /// - Returns: the users with their properties.
  /// - Throws: `.tooManyProperties`, `.databaseUnavailable`.
  @EventLoop package static func replaced(
    _ properties: [(user: UserID, floor: Int?, by: JSONObject)], in transaction: Transaction
  ) async throws(Failure) -> [(user: UserID, set: PropertySet)] {
    let reads = properties.map { one in
      one.floor.map { _ in transaction.send(PropertyQueries.stored, one.user) }
    }
    var sets: [(user: UserID, set: PropertySet)] = []
    for ((user, floor, object), read) in zip(properties, reads) {
      let stored = try await read?.rows() ?? []
      var set = PropertySet(stored.compactMap(\.property), floor: floor ?? 0)
      try set.apply(.replace(object))
      sets.append((user, set))
    }
    return sets
  }

  private static func faults(in change: PropertyChange, _ stringLimit: Int) -> [FieldError] {
    switch change {
    case .replace(let object): PropertySet.faults(in: object, stringLimit: stringLimit)
    case .merge(let object):
      PropertySet.faults(in: object, stringLimit: stringLimit, allowsNull: true)
    case .set(let key, let value, _):
      [
        PropertySet.keyFault(key, ""),
        PropertySet.valueFault(value, "/value", stringLimit),
      ].compactMap(\.self)
    case .remove, .removeAll: []
    }
  }
}

extension PropertyChange {
  /// The number of members that a client sent.
  fileprivate var count: Int {
    switch self {
    case .replace(let object), .merge(let object): object.count
    case .set, .remove: 1
    case .removeAll: 0
    }
  }
}

extension PropertySet {
  /// The written properties as input of the statement; values are text, which keeps their spelling.
  fileprivate var rows: JSON {
    .array(
      written.compactMap { properties[$0] }.map { property in
        [
          "key": .string(property.key),
          "value": .string(String(decoding: property.value.serialized(), as: UTF8.self)),
          "version": .number(JSONNumber(property.version)),
        ]
      }
    )
  }
}
