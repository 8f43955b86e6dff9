package import Runtime
import EventLoop
import JSON

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
