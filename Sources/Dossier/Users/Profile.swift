package import EventLoop
package import JSON
package import Postgres

/// The profile: what an app shows of a user.
@EventLoop package enum Profile {
  /// The members that a user may change, with how many characters each may have.
  ///
  /// The others of `GET /v1/me` are told, not asked.
  package nonisolated static let editable: [String: Int] = [
    "name": 300, "given_name": 150, "family_name": 150, "nickname": 150, "phone": 32,
    "locale": 35, "zone": 64,
  ]

  /// Reads the caller's profile.
  ///
  /// - Throws: `.unauthenticated`, `.unavailable`.
  package static func read(
    of caller: Caller,
    in store: Store
  ) async throws(Failure) -> StoredDocument {
    guard let row = try await store.first(ProfileQueries.read, caller.user, caller.authority),
      let profile = row.document
    else { throw caller.gone }
    return profile
  }

  /// Changes members of the profile by a merge patch: null removes one.
  ///
  /// - Throws: `.invalid` with a pointer for each member that is unknown, not the user's to change,
  ///   of a wrong type, too long, or no locale, zone or phone number; `.versionMoved`, `.unauthenticated`, `.unavailable`.
  package static func merge(
    _ patch: JSON,
    if condition: VersionCondition,
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) -> StoredDocument {
    guard let object = patch.object else {
      throw .invalid([Fault("", "type", "The patch must be an object.")])
    }
    let faults = object.compactMap { name, value in fault(name, value) }
    guard faults.isEmpty else { throw .invalid(faults) }
    let rows = try await context.store.write(
      ProfileQueries.merge,
      caller.user,
      caller.authority,
      TextBytes(patch.serialized()),
      condition.allowed.map(VersionList.init),
      ProgramChange(of: "profile", by: caller, context.origin)
    )
    guard let row = rows.first else { throw caller.gone }
    guard let written = row.document else {
      throw .versionMoved(current: try await read(of: caller, in: context.store).version)
    }
    return written
  }

  /// Changes members of the profile by a JSON Patch, on the version that was read.
  ///
  /// - Throws: as `merge`, and `.patchTestFailed`, `.patchNotApplicable`.
  package static func apply(
    _ patch: JSONPatch,
    if condition: VersionCondition,
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) -> StoredDocument {
    for _ in 0..<16 {
      let current = try await read(of: caller, in: context.store)
      guard condition.allows(current.version) else {
        throw .versionMoved(current: current.version)
      }
      let change = try await context.store.calculate(on: .max) { () throws(Failure) in
        let before = try Documents.parsed(current.body)
        return difference(before, try Documents.patched(before, by: patch, limit: 16_384))
      }
      do throws(Failure) {
        return try await merge(
          change,
          if: VersionCondition(oneOf: [current.version]),
          of: caller,
          context
        )
      } catch .versionMoved {
        continue
      }
    }
    throw .overloaded(retryAfter: 1)
  }

  /// The merge patch that makes `after` of `before`.
  private nonisolated static func difference(_ before: JSON, _ after: JSON) -> JSON {
    var patch = JSONObject()
    for (name, value) in before.object ?? JSONObject() where after[name] != value {
      patch[name] = after[name] ?? .null
    }
    for (name, value) in after.object ?? JSONObject() where before[name] == nil {
      patch[name] = value
    }
    return .object(patch)
  }

  nonisolated static func fault(_ name: String, _ value: JSON) -> Fault? {
    let pointer = "/" + JSONPointer.escaped(name)
    guard let limit = editable[name] else {
      return Fault(pointer, "unknown_member", "This member is unknown, or not yours to change.")
    }
    if value == .null { return nil }
    guard let text = value.string else {
      return Fault(pointer, "type", "This member must be a string or null.")
    }
    guard !text.isEmpty, text.unicodeScalars.count <= limit else {
      return Fault(pointer, "length", "This member must have 1 to \(limit) characters.")
    }
    guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
      return Fault(pointer, "control_character", "Control characters are not allowed.")
    }
    return rule(name, text).map { Fault(pointer, name, $0) }
  }

  /// What is wrong with a member that has a rule of its own, for people; its code is its name.
  private nonisolated static func rule(_ name: String, _ text: String) -> String? {
    switch (name, ReferenceLists.ofProcess) {
    case ("phone", _): isE164(text) ? nil : "A phone number is + and 7 to 15 digits (E.164)."
    case ("locale", .success(let lists)): lists.fault(inLocale: text)
    case ("zone", .success(let lists)): lists.fault(inZone: text)
    case ("locale", .failure(let error)), ("zone", .failure(let error)): error.description
    default: nil
    }
  }

  private nonisolated static func isE164(_ text: String) -> Bool {
    let digits = text.utf8.dropFirst()
    return text.utf8.first == UInt8(ascii: "+") && (7...15).contains(digits.count)
      && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}

package enum ProfileQueries {
  /// One row when the session counts.
  ///
  /// Served by the primary keys of sessions and users.
  static let read = Statement<DocumentRow, UserID, Authority>(
    "profile.read",
    "select profile_of(c), c.version from caller($1, $2) c"
  )

  /// One row when the session counts, with nulls when the version was none of those asked for.
  static let merge = Statement<
    DocumentRow, UserID, Authority, TextBytes, VersionList?, ProgramChange?
  >(
    "profile.merge",
    """
    with c as (select user_id from caller($1, $2)), changed as (
      update users u set
        name = case when p ? 'name' then p ->> 'name' else u.name end,
        given_name = case when p ? 'given_name' then p ->> 'given_name' else u.given_name end,
        family_name = case when p ? 'family_name' then p ->> 'family_name' else u.family_name end,
        nickname = case when p ? 'nickname' then p ->> 'nickname' else u.nickname end,
        phone = case when p ? 'phone' then p ->> 'phone' else u.phone end,
        locale = case when p ? 'locale' then p ->> 'locale' else u.locale end,
        zone = case when p ? 'zone' then p ->> 'zone' else u.zone end,
        version = u.version + 1, updated_at = now()
      from c, (select $3::jsonb) as patch (p)
      where u.user_id = c.user_id
        and ($4::bigint[] is null or u.version = any ($4::bigint[]))
      returning profile_of(u) as body, u.version, u.user_id, u.app_id
    )
    select w.body, w.version, record_change(w.user_id, w.app_id, $5::jsonb)
    from c left join changed w on true
    """
  )

  package static let all: [any PreparedStatement] = [read, merge]
}
