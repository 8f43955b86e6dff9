internal import Crypto
import EventLoop
package import JSON
import Postgres
import RateLimiting
package import Runtime

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
    for (user, set) in sets {
      if !set.removed.isEmpty {
        let removed = TextArray(set.removed.map(\.text))
        _ = transaction.send(PropertyQueries.remove, user, removed, set.floor)
      }
      if !set.written.isEmpty {
        let written = TextBytes(set.rows.serialized())
        _ = transaction.send(PropertyQueries.write, user, written)
      }
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

extension Properties {
  /// Moves the properties of an anonymous user to the user of the request.
  ///
  /// A value that the user of the request has stays, and the limit on their number holds. The
  /// anonymous user has none afterwards, so no other user can get them.
  /// - Parameters:
  ///   - guest: the anonymous user, in a live session.
  ///   - user: the user of the request.
  ///   - equality: when a key of one user is that of the other.
  ///   - context: the context of the request.
  /// - Throws: `.sessionEnded` if one of the sessions has ended, or the first user is not anonymous;
  ///   `.databaseUnavailable`.
  @EventLoop package static func move(
    from guest: Principal, to user: UserID, equating equality: KeyEquality,
    _ context: RequestContext
  ) async throws(Failure) {
    guard let anonymous = guest.user, anonymous != user else { return }
    try await context.transaction { transaction async throws(Failure) in
      var floors: [UserID: Int] = [:]
      // In the order of ids, so that two concurrent moves do not deadlock.
      for one in [anonymous, user].sorted(by: { $0.text < $1.text }) {
        let locked =
          one == user
          ? try await transaction.run(PropertyQueries.lock, user, context.principal)
          : try await transaction.run(PropertyQueries.lockAnonymous, anonymous, guest)
        floors[one] = try locked.first.orGone(context)
      }
      var source = try await set(of: anonymous, floors[anonymous] ?? 0, in: transaction)
      guard !source.properties.isEmpty else { return }
      var target = try await set(of: user, floors[user] ?? 0, in: transaction)
      try target.apply(.merge(source.missing(in: target, equality)))
      try source.apply(.removeAll)
      try await write(target, of: user, in: transaction)
      try await write(source, of: anonymous, in: transaction)
    }
  }
}

extension Properties {
  /// Writes the properties of a user that another one lacks for that one, as many as fit in.
  ///
  /// The transaction has locked both, and deletes the user who has them.
  @EventLoop package static func take(
    from other: UserID, for user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    let locked = try await transaction.run(PropertyQueries.lock, user, transaction.principal)
    let source = try await set(of: other, 0, in: transaction)
    var target = try await set(
      of: user, locked.first.orGone(transaction.context), in: transaction)
    let missing = source.missing(in: target, .bytes)
    guard missing.count > 0 else { return }
    try target.apply(.merge(missing))
    try await write(target, of: user, in: transaction)
  }
}

extension PropertySet {
  /// Returns the properties that another set lacks, in the order of keys, as many as fit in.
  fileprivate func missing(in other: PropertySet, _ equality: KeyEquality) -> JSONObject {
    let own = properties.values.sorted { ByteString($0.key) < ByteString($1.key) }
      .map { ($0.key, $0.value) }
    guard case .merge(let spelled) = other.spelled(.merge(JSONObject(own)), equality) else {
      return JSONObject()
    }
    let missing = spelled.filter { other.properties[ByteString($0.key)] == nil }
    let room = max(0, Self.limit - other.properties.count)
    return JSONObject(missing.prefix(room).map { ($0.key, $0.value) })
  }
}

/// A property; nil in a row without one.
struct PropertyRow: RowDecodable {
  let property: Property?

  init(from row: Row) throws(DatabaseError) {
    guard !row.isNull(0) else {
      property = nil
      return
    }
    property = Property(key: try row.text(0), value: try row.json(1), version: try row.int(2))
  }
}

package enum PropertyQueries {
  /// Returns at least one row if the session is live.
  ///
  /// Served by the primary key.
  static let read = Statement<PropertyRow, UserID, Principal>(
    "properties.read",
    """
    select p.key, p.value, p.version
    from users c left join properties p on p.user_id = $1
    where \(.isAuthorized) order by p.key
    """)

  /// Locks the user's properties; returns no row if the session has ended.
  static let lock = Statement<Int, UserID, Principal>(
    "properties.lock",
    """
    select c.property_version_floor from users c where \(.isAuthorized) for no key update of c
    """)

  /// Locks the properties of an anonymous user, as `lock`; returns no row for any other user.
  static let lockAnonymous = Statement<Int, UserID, Principal>(
    "properties.lock_anonymous",
    """
    select c.property_version_floor from users c where c.anonymous and \(.isAuthorized)
    for no key update of c
    """)

  static let stored = Statement<PropertyRow, UserID>(
    "properties.stored", "select key, value, version from properties where user_id = $1"
  )

  /// Deletes keys.
  ///
  /// - Parameter 3: the floor after the deletion.
  static let remove = Statement<NoRow, UserID, TextArray, Int>(
    "properties.remove",
    """
    with removed as (delete from properties where user_id = $1 and key = any ($2::text[]))
    update users set property_version_floor = $3::bigint where user_id = $1 and property_version_floor <> $3::bigint
    """)

  /// Writes keys with their new versions.
  static let write = Statement<NoRow, UserID, TextBytes>(
    "properties.write",
    """
    insert into properties (user_id, key, value, version)
    select u.user_id, w.key, w.value, w.version
    from users u
    cross join jsonb_to_recordset($2::jsonb) as w (key text, value text, version bigint)
    where u.user_id = $1
    on conflict (user_id, key) do update
    set value = excluded.value, version = excluded.version, updated_at = excluded.updated_at
    """)
}

extension Failure {
  package static let versionConflict = Failure("version_conflict", .conflict)
    .titled("The stored property does not have the expected version.")
    .remedied(
      "Ask the user which value to keep. Then repeat the request with keep=new or keep=old, or "
        + "with current_version in If-Match."
    )
  package static let tooManyProperties = Failure("property_limit", .conflict)
    .titled("The user would have too many properties.")
    .remedied("Remove properties first. Store larger data in custom data.")

  /// Returns the error for a property that is absent, or whose version the client did not name.
  package static func versionConflict(key: String, _ stored: Property?, expected: [Int]) -> Failure
  {
    .versionConflict(
      members: [
        ("key", .string(key)), ("value", stored?.value ?? .null),
        ("current_version", .number(JSONNumber(stored?.version ?? 0))),
        ("expected_versions", .array(expected.map { .number(JSONNumber($0)) })),
      ]
    )
  }
}
