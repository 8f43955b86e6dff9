import Encoding
package import EventLoop
package import JSON
package import Postgres
import RateLimiting
import ReferenceData
package import Runtime

/// Reads and changes profiles.
@EventLoop package enum Profiles {
  /// The members that a user may change, with the greatest length of each in characters.
  package nonisolated static let editable: [String: Int] = [
    "name": 300, "given_name": 150, "family_name": 150, "nickname": 300, "phone": 32,
    "locale": 35, "zone": 64,
  ]

  /// The zones that a form offers; `fault` also accepts old names.
  package nonisolated static var zones: [String] {
    (try? ReferenceLists.ofProcess.get())?.zonesInUse ?? []
  }

  /// Reads the user's profile.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func read(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Profile {
    try await context.first(ProfileQueries.read, user, context.principal).orGone(context)
  }

  /// Adds the same read to a batch; it throws as `read` does.
  package static func addRead(
    of user: UserID, to batch: inout ReadBatch, _ context: RequestContext
  ) -> BatchRead<Profile> {
    let place = batch.add(ProfileQueries.read, user, context.principal)
    return { (results) throws(Failure) in try results.first(place).orGone(context) }
  }

  /// Reads the user's profile as JSON text, which the database makes: the most frequent read.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - folder: the path of pictures, which ends with a slash.
  ///   - context: the context of the request.
  /// - Returns: the text, with the members of `Profile.json`.
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func text(
    of user: UserID, picturesAt folder: String, _ context: RequestContext
  ) async throws(Failure) -> ProfileText {
    let found = try await context.first(ProfileQueries.text, user, context.principal, folder)
    // `orGone` costs a generic call, here in the most frequent read.
    guard let found else { throw context.gone }
    return found
  }

  /// Changes members of the user's profile; null removes one.
  ///
  /// - Throws: `.invalid` with each member that is unknown, read-only, of a wrong type, too long,
  ///   or no locale, zone or phone number; `.preconditionFailed`, `.sessionEnded`,
  ///   `.databaseUnavailable`.
  package static func change(
    _ members: JSONObject, if condition: VersionCondition, of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> Profile {
    let text = try checked(members)
    let versions = condition.allowed.map(NumberArray.init)
    let changed: Profile?
    if let event = Event(changeOf: "profile", of: user, context) {
      changed = try await context.transaction { transaction async throws(Failure) in
        let rows = try await transaction.run(
          ProfileQueries.change, user, context.principal, text, versions
        )
        if !rows.isEmpty { try await event.recordChange(of: user, in: transaction) }
        return rows.first
      }
    } else {
      let principal = context.principal
      changed = try await context.write(ProfileQueries.change, user, principal, text, versions)
        .first
    }
    guard let changed else {
      throw .preconditionFailed(current: try await read(of: user, context).version)
    }
    return changed
  }

  /// Returns the text of valid members of a profile.
  private static func checked(_ members: JSONObject) throws(Failure) -> TextBytes {
    let faults = members.compactMap { name, value in fault(name, value) }
    guard faults.isEmpty else { throw .invalid(faults) }
    return TextBytes(members.serialized())
  }

  /// Changes members of the profile of a locked user, in a transaction.
  ///
  /// - Throws: `.invalid`, `.sessionEnded`, `.notFound`.
  package static func change(
    _ members: JSONObject, of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    _ = try await sendChange(members, of: user, in: transaction)()
  }

  /// Sends the same change, and its event.
  ///
  /// - Returns: a function that waits, and returns the profile.
  /// - Throws: `.invalid`, `.tooManyRequests`; the function `.sessionEnded`, `.notFound`.
  package static func sendChange(
    _ members: JSONObject, of user: UserID, in transaction: Transaction
  ) async throws(Failure) -> @EventLoop () async throws(Failure) -> Profile {
    let context = transaction.context
    let text = try checked(members)
    let sent = transaction.send(ProfileQueries.change, user, context.principal, text, nil)
    let event = Event(changeOf: "profile", of: user, context)
    try await event?.recordChange(of: user, in: transaction)
    return { () async throws(Failure) in try await sent.rows().first.orGone(context) }
  }

  /// Computes changes with `revision` from the current profile, and repeats that after a concurrent
  /// write.
  ///
  /// - Throws: as `change`, and errors of `revision`.
  package static func revise(
    if condition: VersionCondition, of user: UserID, _ context: RequestContext,
    _ revision: @escaping @Sendable (Profile) throws(Failure) -> JSONObject
  ) async throws(Failure) -> Profile {
    try await context.revise("profile", of: user) { () async throws(Failure) in
      let current = try await read(of: user, context)
      try condition.require(current.version)
      let members = try await context.calculate(on: .max) { () throws(Failure) in
        try revision(current)
      }
      let expected = VersionCondition(oneOf: [current.version])
      do throws(Failure) {
        return .done(try await change(members, if: expected, of: user, context))
      } catch .preconditionFailed {
        return .overtaken
      }
    }
  }

  package nonisolated static func fault(_ name: String, _ value: JSON) -> FieldError? {
    let pointer = "/" + JSONPointer.escaped(name)
    guard let limit = editable[name] else {
      return FieldError(
        pointer, "unknown_member", "This member is unknown, or not yours to change."
      )
    }
    if value == .null { return nil }
    guard let text = value.string else {
      return .wrongType(pointer, "a string or null")
    }
    guard !text.isEmpty, text.unicodeScalars.count <= limit else {
      return FieldError(pointer, "length", "This member must have 1 to \(limit) characters.")
    }
    if let fault = DisplayName.fault(in: text, at: pointer) { return fault }
    return rule(name, text).map { FieldError(pointer, name, $0) }
  }

  /// Returns the broken rule of a member's format; nil if it is valid.
  ///
  /// The name of the member is also the code of the fault.
  private nonisolated static func rule(_ name: String, _ text: String) -> String? {
    switch (name, ReferenceLists.ofProcess) {
    case ("phone", _): isE164(text) ? nil : "A phone number must be + and 7 to 15 digits (E.164)."
    case ("locale", .success(let lists)): lists.fault(inLocale: text)
    case ("zone", .success(let lists)): lists.fault(inZone: text)
    case ("locale", .failure(let error)), ("zone", .failure(let error)): error.description
    default: nil
    }
  }

  private nonisolated static func isE164(_ text: String) -> Bool {
    let digits = text.utf8.dropFirst()
    return text.utf8.first == UInt8(ascii: "+") && (7...15).contains(digits.count)
      && digits.allSatisfy(\.isDigit)
  }
}

package enum ProfileQueries {
  /// Returns one row if the session is live.
  ///
  /// Served by the primary keys of sessions and users.
  package static let read = Statement<Profile, UserID, Principal>(
    "profile.read",
    """
    select \(.profile) from users c where \(.isAuthorized)
    """)

  /// Returns one row if the session is live.
  ///
  /// A test compares the text with `Profile.json`. `row_to_json` writes no spaces, as all else does,
  /// and takes half the time of `json_build_object`.
  /// - Parameter 3: the path of pictures.
  static let text = Statement<ProfileText, UserID, Principal, String>(
    "profile.text",
    """
    select row_to_json(p)::text, p.version from (
      select c.user_id as id, c.created_at, c.updated_at, c.version, c.anonymous,
        c.blocked_at is not null as blocked, c.email, c.email_verified, c.name, c.given_name,
        c.family_name, c.nickname, c.phone, c.locale, c.zone,
        coalesce($3::text || c.picture, c.picture_url) as picture
      from users c where \(.isAuthorized)) p
    """)

  /// Returns no row if the session has ended or the version condition failed.
  static let change = Statement<Profile, UserID, Principal, TextBytes, NumberArray?>(
    "profile.change",
    """
    update users c set name = patched($3::jsonb, 'name', c.name),
      given_name = patched($3::jsonb, 'given_name', c.given_name),
      family_name = patched($3::jsonb, 'family_name', c.family_name),
      nickname = patched($3::jsonb, 'nickname', c.nickname),
      phone = patched($3::jsonb, 'phone', c.phone),
      locale = patched($3::jsonb, 'locale', c.locale),
      zone = patched($3::jsonb, 'zone', c.zone),
      version = c.version + 1, updated_at = now()
    where \(.isAuthorized) and ($4::bigint[] is null or c.version = any ($4::bigint[]))
    returning \(.profile)
    """)
}

/// The profile of a user.
package struct Profile: RowDecodable {
  package let id: UserID
  package let createdAt: Timestamp
  package let updatedAt: Timestamp
  package let version: Int
  package let isAnonymous: Bool
  package let isBlocked: Bool
  package let email: String?
  package let isEmailVerified: Bool
  package let name: String?
  package let givenName: String?
  package let familyName: String?
  package let nickname: String?
  package let phone: String?
  package let locale: String?
  package let zone: String?
  /// The name of the picture, for `Pictures.show`.
  package let picture: String?
  /// The URL of a picture elsewhere, which pages do not show; nil if the user has an own one.
  package let pictureURL: String?

  /// The name, or what stands for it in protocols that require one.
  package var shownName: String { name ?? email ?? nickname ?? id.text }

  /// The nickname, or what stands for it in protocols that require one.
  package var shownNickname: String {
    nickname ?? email.map { String($0.prefix { $0 != "@" }) } ?? shownName
  }

  /// Reads the columns of `SQL.profile`.
  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    createdAt = try row.time(1)
    updatedAt = try row.time(2)
    version = try row.int(3)
    isAnonymous = try row.bool(4)
    isBlocked = try row.bool(5)
    email = row.text(ifAny: 6)
    isEmailVerified = try row.bool(7)
    name = row.text(ifAny: 8)
    givenName = row.text(ifAny: 9)
    familyName = row.text(ifAny: 10)
    nickname = row.text(ifAny: 11)
    phone = row.text(ifAny: 12)
    locale = row.text(ifAny: 13)
    zone = row.text(ifAny: 14)
    let shown = row.text(ifAny: 15)
    let isElsewhere = shown?.utf8.contains(UInt8(ascii: ":")) == true
    picture = isElsewhere ? nil : shown
    pictureURL = isElsewhere ? shown : nil
  }
}

extension SQL {
  /// The columns of a profile, of a statement that reads or changes `users c`.
  package static let profile: SQL = """
    c.user_id, c.created_at, c.updated_at, c.version, c.anonymous, c.blocked_at is not null,
      c.email, c.email_verified, c.name, c.given_name, c.family_name, c.nickname, c.phone,
      c.locale, c.zone, coalesce(c.picture, c.picture_url)
    """
}

/// A profile as JSON text.
package struct ProfileText: RowDecodable {
  package let json: [UInt8]
  package let version: Int

  package init(from row: Row) throws(DatabaseError) {
    json = try row.bytes(0)
    version = try row.int(1)
  }
}

extension Profile {
  /// Returns the profile as JSON; `picturePath` returns the path of a picture.
  package func json(picturePath: (String) -> String) -> JSON {
    func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
    return [
      "id": .string(id.text), "created_at": .string(createdAt.text),
      "updated_at": .string(updatedAt.text), "version": .number(JSONNumber(version)),
      "anonymous": .bool(isAnonymous), "blocked": .bool(isBlocked), "email": text(email),
      "email_verified": .bool(isEmailVerified), "name": text(name),
      "given_name": text(givenName), "family_name": text(familyName),
      "nickname": text(nickname), "phone": text(phone), "locale": text(locale),
      "zone": text(zone), "picture": text(picture.map(picturePath) ?? pictureURL),
    ]
  }
}
