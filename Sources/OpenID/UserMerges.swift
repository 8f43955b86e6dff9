import Accounts
import Administration
package import Documents
package import EventLoop
import IdentitySubjects
import Imaging
package import JSON
import Postgres
import RateLimiting
package import Runtime
import Sessions
import Tenancy
import Transfer

/// Merges one user into another, and undoes that for some days.
///
/// It is a link of `UserLinks`, which keeps the other user's data too: documents as the caller
/// chooses, and properties, roles, permissions, consents and members of the profile that the user
/// lacks. Sessions, API keys, passkeys, second factors and the picture of the other user end. Its
/// export stays, encrypted, until the merge cannot be undone any more.
@EventLoop package enum UserMerges {
  /// The days for which a merge can be undone.
  package nonisolated static let days = 7

  /// The treatment of a document that both users have.
  package enum Choice: String, CaseIterable, Sendable {
    /// The document stays as it is.
    case keep
    /// The other user's document replaces it.
    case take
    /// Members that it lacks come from the other user's document.
    case merge
  }

  /// The effect of a merge, done or only tried.
  package struct Report: Sendable {
    /// Nil for a dry run.
    package let id: MergeID?
    /// The user that stays, before the merge.
    package let user: JSON
    /// The user that goes.
    package let other: JSON
    /// The documents of the user after the merge.
    package let documents: JSONObject
  }

  /// Merges a user into another one, in one transaction.
  ///
  /// - Parameters:
  ///   - other: the user who goes.
  ///   - user: the user who stays.
  ///   - choices: what becomes of documents; `.merge` for others.
  ///   - isDry: whether everything is rolled back.
  ///   - context: the context of the request.
  /// - Returns: both users before the merge, and the documents after it.
  /// - Throws: `.mergeNotPossible` with the reason, `.notFound`, `.schemaMismatch`,
  ///   `.documentTooLarge`, `.identityTaken`, `.tooManyRequests`, `.databaseUnavailable`.
  package static func run(
    _ other: UserID, into user: UserID, _ choices: [DocumentKind: Choice], isDry: Bool,
    _ context: RequestContext
  ) async throws(Failure) -> Report {
    guard other != user else { throw .mergeNotPossible("Both users are the same.") }
    if !isDry { try await RateLimits.countChange(of: user, context) }
    return try await context.revise("user", of: user) { () async throws(Failure) in
      let plan = try await MergePlan(other, user, choices, context)
      let id = MergeID()
      var (isRehearsed, isStale) = (false, false)
      do throws(Failure) {
        let picture = try await context.transaction { transaction async throws(Failure) in
          isStale = false
          do throws(Failure) {
            let picture = try await carryOut(plan, of: other, into: user, id, in: transaction)
            isRehearsed = isDry
            // The transaction is rolled back.
            if isDry { throw .mergeNotPossible }
            return picture
          } catch .preconditionFailed {
            isStale = true
            throw .preconditionFailed(current: 0)
          }
        }
        await context.pictures.shelf.forget(picture)
      } catch {
        if isStale { return .overtaken }
        if error.is(.notLinkable) { throw .mergeNotPossible(error.detail) }
        guard isRehearsed else { throw error }
      }
      return .done(plan.report(isDry ? nil : id))
    }
  }

  /// Writes a merge; returns the picture of the user who goes.
  private static func carryOut(
    _ plan: MergePlan, of other: UserID, into user: UserID, _ id: MergeID,
    in transaction: Transaction
  ) async throws(Failure) -> String? {
    let app = transaction.app.id
    let (found, main) = try await UserLinks.parties(other, user, in: transaction)
    guard let main else { throw transaction.context.gone }
    guard let found else { throw .mergeNotPossible("The other user does not exist.") }
    guard !main.isAnonymous || found.isAnonymous else {
      throw .mergeNotPossible("A guest cannot take over a user with identities.")
    }
    try UserLinks.check(found, main)
    guard !plan.weakens else {
      throw .mergeNotPossible(
        "The other user has a second factor, and the user that stays has none.")
    }
    let versions = try await transaction.run(MergeQueries.versions, other)
    guard versions == plan.versionsOfOther else { throw .preconditionFailed(current: 0) }
    try await Identities.requireNoRestore(of: user, in: transaction)
    try await Identities.requireNoRestore(of: other, removed: true, in: transaction)
    try await Properties.take(from: other, for: user, in: transaction)
    guard let line = try await transaction.run(MergeQueries.line, other).first else {
      throw .mergeNotPossible("The other user does not exist.")
    }
    let moved = try await UserLinks.move(found, of: other, to: user, main, in: transaction)
    for write in plan.writes { try await write.run(of: user, in: transaction) }
    let grants = TextBytes(plan.grants.serialized())
    _ = transaction.send(MergeQueries.fill, user, TextBytes(plan.profile.serialized()))
    _ = transaction.send(MergeQueries.addRoles, user, grants)
    _ = transaction.send(MergeQueries.addPermissions, user, grants)
    _ = transaction.send(MergeQueries.addConsents, user, grants)
    var secret = plan.grants.object ?? JSONObject()
    secret["line"] = .string(String(decoding: line.bytes, as: UTF8.self))
    secret["identities"] = .array(JSONArray(moved.map { .string($0.text) }))
    let sealed = try transaction.context.keys.master.sealed(
      JSON.object(secret).serialized(), as: "merge \(id)")
    _ = transaction.send(
      MergeQueries.add, user, id, app, other, BinaryBytes(sealed), .seconds(days * 86_400),
      ServerTime())
    Event(
      "user_merge", of: user, detail: ["from": .string(other.text), "merge_id": .string(id.text)]
    )
    .record(in: transaction)
    return found.picture
  }

  /// Creates a user again who was merged into another one, without its sessions and API keys.
  ///
  /// The user has no password either: the former one may have been replaced since.
  ///
  /// The identities go back to the user; the data that the other one has got stays there too.
  /// - Returns: the user, with its former id.
  /// - Throws: `.notUndoable` if the merge does not exist, was undone or is too old, `.userExists` if
  ///   another user has the id or an address by now, `.schemaMismatch`, `.databaseUnavailable`.
  package static func undo(
    _ id: MergeID, _ context: RequestContext
  ) async throws(Failure) -> UserID {
    let rows = try await context.read(MergeQueries.find, id, context.app.id, on: .search)
    guard let row = rows.first, row.isLive,
      let secret = context.keys.master.opened(row.sealed, as: "merge \(id)")
    else { throw .notUndoable }
    let (kept, line) = try await context.calculate(on: .max) { () throws(Failure) in
      let kept = try Documents.parsed(secret)
      return (kept, try Documents.parsed(Array((kept["line"]?.string ?? "").utf8)))
    }
    let new = try await NewUser(line, context)
    let moved = Set((kept["identities"]?.array ?? []).compactMap(\.string))
    return try await NewUser.repeating { () async throws(Failure) in
      try await context.transaction { transaction async throws(Failure) in
        try await Sessions.lockUser(row.user, in: transaction)
        let taken = try await transaction.run(MergeQueries.remove, row.user, id)
        guard !taken.isEmpty else { throw .notUndoable }
        let party = try await transaction.run(UserLinkQueries.party, row.user, context.app.id).first
        guard let party else { throw .notUndoable }
        for identity in party.identities where moved.contains(identity.id.text) {
          _ = try await UserLinks.detach(identity, of: row.user, party, in: transaction)
        }
        let user = try await new.create(in: transaction)
        // Roles and APIs may be deleted by now.
        let present = Set(try await transaction.run(MergeQueries.grantable, context.app.id))
        var grants = JSONObject([("consents", kept["consents"] ?? [])])
        for (name, key) in [("roles", "id"), ("permissions", "resource_server_id")] {
          let rows = (kept[name]?.array ?? []).filter { present.contains($0[key]?.string ?? "") }
          grants[name] = .array(JSONArray(rows))
        }
        let list = TextBytes(JSON.object(grants).serialized())
        _ = transaction.send(MergeQueries.addRoles, user, list)
        _ = transaction.send(MergeQueries.addPermissions, user, list)
        _ = transaction.send(MergeQueries.addConsents, user, list)
        Event(
          "merge_undo", of: row.user,
          detail: ["user_id": .string(user.text), "merge_id": .string(id.text)]
        ).record(in: transaction)
        return user
      }
    }
  }
}

/// The writes of a merge, computed from both users before its transaction.
private struct MergePlan {
  private let user: JSON
  private let other: JSON
  private let documents: JSONObject
  let writes: [DocumentWrite]
  /// The versions of the other user's documents.
  let versionsOfOther: [String]

  @EventLoop init(
    _ other: UserID, _ user: UserID, _ choices: [DocumentKind: UserMerges.Choice],
    _ context: RequestContext
  ) async throws(Failure) {
    let app = context.app
    let mine = try await context.read(MergeQueries.party, user, app.id, on: .large).first
    guard let mine else { throw context.gone }
    let theirs = try await context.read(MergeQueries.party, other, app.id, on: .large).first
    guard let theirs else { throw .mergeNotPossible("The other user does not exist.") }
    var rules: [DocumentKind: DocumentRule] = [:]
    for kind in DocumentKind.allCases { rules[kind] = try DocumentRule(of: kind, in: app) }
    let computed = try await context.calculate(on: .max) { [rules] () throws(Failure) in
      try Self.compute(
        try Documents.parsed(mine.bytes), try Documents.parsed(theirs.bytes), choices, rules)
    }
    (self.user, self.other, documents) = (computed.user, computed.other, computed.documents)
    writes = computed.texts.map { kind, text, version in
      DocumentWrite(of: kind, text, if: VersionCondition(oneOf: [version]), isChecked: true)
    }
    let stored = computed.other["documents"]?.object ?? JSONObject()
    versionsOfOther = stored.map { name, value in "\(name) \(value["version"]?.text ?? "")" }
      .sorted()
  }

  private struct Computed: Sendable {
    let user: JSON
    let other: JSON
    var documents = JSONObject()
    var texts: [(kind: DocumentKind, text: [UInt8], version: Int)] = []
  }

  private static func compute(
    _ user: JSON, _ other: JSON, _ choices: [DocumentKind: UserMerges.Choice],
    _ rules: [DocumentKind: DocumentRule]
  ) throws(Failure) -> Computed {
    var computed = Computed(user: user, other: other)
    for kind in DocumentKind.allCases {
      let name = kind.rawValue
      let (mine, theirs) = (user["documents"]?[name], other["documents"]?[name])
      let body = mine?["body"]
      var after = body
      if let given = theirs?["body"] {
        switch choices[kind] ?? .merge {
        case .keep: break
        case .take: after = given
        case .merge: after = body.map { $0.filled(from: given) } ?? given
        }
      }
      computed.documents[name] = after
      guard let after, after != body, let rule = rules[kind] else { continue }
      do throws(Failure) {
        computed.texts.append(
          (kind, try rule.text(of: after), mine?["version"]?.number?.int ?? 0))
      } catch {
        throw error.placed { "/\(name)\($0)" }
      }
    }
    return computed
  }

  /// The roles, permissions and consents of the other user.
  var grants: JSON {
    var grants = JSONObject()
    for name in ["roles", "permissions", "consents"] { grants[name] = other[name] ?? [] }
    return .object(grants)
  }

  /// Whether the other user's ways to sign in would need no second factor any more.
  var weakens: Bool {
    func count(_ party: JSON) -> Int { party["second_factors"]?.number?.int ?? 0 }
    return count(other) > 0 && count(user) == 0
  }

  /// The profile of the other user.
  var profile: JSON { other["profile"] ?? [:] }

  func report(_ id: MergeID?) -> UserMerges.Report {
    UserMerges.Report(id: id, user: user, other: other, documents: documents)
  }
}

extension JSON {
  /// Returns the document with members that it lacks from another one; members of both are merged
  /// likewise if they are objects.
  func filled(from other: JSON) -> JSON {
    guard var members = object, let others = other.object else { return self }
    for (name, value) in others {
      members[name] = members[name].map { $0.filled(from: value) } ?? value
    }
    return .object(members)
  }
}

/// A merge that may be undone.
struct StoredMerge: RowDecodable {
  let user: UserID
  let sealed: [UInt8]
  let isLive: Bool

  init(from row: Row) throws(DatabaseError) {
    (user, sealed, isLive) = (try row.id(0), try row.binary(1), try row.bool(2))
  }
}

/// A text of the database that is parsed elsewhere.
struct UnparsedText: RowDecodable {
  let bytes: [UInt8]

  init(from row: Row) throws(DatabaseError) { bytes = try row.bytes(0) }
}

package enum MergeQueries {
  /// Returns a user as the page of a merge shows it.
  static let party = Statement<UnparsedText, UserID, AppID>(
    "merges.party",
    """
    select json_build_object(
      'id', u.user_id, 'anonymous', u.anonymous, 'blocked', u.blocked_at is not null,
      'created_at', u.created_at, 'last_login_at', u.last_login_at,
      'profile', json_build_object(
        'email', u.email, 'email_verified', u.email_verified, 'name', u.name,
        'given_name', u.given_name, 'family_name', u.family_name, 'nickname', u.nickname,
        'phone', u.phone, 'locale', u.locale, 'zone', u.zone, 'picture_url', u.picture_url),
      'documents', (select coalesce(json_object_agg(kind, json_build_object(
          'body', body, 'version', version, 'updated_at', updated_at)), '{}')
        from documents t where t.user_id = $1 and t.deleted_at is null),
      'properties', (select coalesce(json_object_agg(key, value::json order by key), '{}')
        from properties t where t.user_id = $1),
      'identities', (select coalesce(json_agg(json_build_object(
          'provider', provider, 'subject', subject) order by created_at), '[]')
        from identities t where t.user_id = $1 and provider not in ('anonymous', 'api-key')),
      'sessions', (select count(*) from sessions t
        where t.user_id = $1 and t.ended_at is null and t.expires_at > now()),
      'api_keys', (select count(*) from api_keys t where t.user_id = $1),
      'passkeys', (select count(*) from passkeys t where t.user_id = $1),
      'second_factors', (select count(*) from second_factors t
        where t.user_id = $1 and t.confirmed_at is not null),
      'roles', (select coalesce(json_agg(json_build_object(
          'id', role_id, 'name', (select o.name from roles o where o.role_id = t.role_id))
          order by role_id), '[]')
        from user_roles t where t.user_id = $1),
      'permissions', (select coalesce(json_agg(json_build_object(
          'resource_server_id', resource_server_id, 'scope', scope)
          order by resource_server_id, scope), '[]')
        from user_permissions t where t.user_id = $1),
      'consents', (select coalesce(json_agg(json_build_object(
          'client_id', client_id, 'audience', audience, 'scope', scope)
          order by client_id, audience), '[]')
        from consents t where t.user_id = $1))::text
    from users u where u.user_id = $1 and u.app_id = $2
    """)

  /// Returns the versions of a user's documents, each with its name.
  static let versions = Statement<String, UserID>(
    "merges.versions",
    """
    select kind || ' ' || version from documents
    where user_id = $1 and deleted_at is null order by 1
    """)

  /// Returns the line of a user for an import.
  static let line = Statement<UnparsedText, UserID>(
    "merges.line",
    """
    select \(.userLine(of: "$1", withHashes: "false")) from users u where u.user_id = $1
    """)

  /// Fills members of the profile that a user lacks.
  static let fill = Statement<NoRow, UserID, TextBytes>(
    "merges.fill",
    """
    update users set name = coalesce(name, $2::jsonb ->> 'name'),
      given_name = coalesce(given_name, $2::jsonb ->> 'given_name'),
      family_name = coalesce(family_name, $2::jsonb ->> 'family_name'),
      nickname = coalesce(nickname, $2::jsonb ->> 'nickname'),
      phone = coalesce(phone, $2::jsonb ->> 'phone'),
      locale = coalesce(locale, $2::jsonb ->> 'locale'), zone = coalesce(zone, $2::jsonb ->> 'zone'),
      picture_url = coalesce(picture_url, $2::jsonb ->> 'picture_url')
    where user_id = $1
    """)

  /// Returns the ids of the roles and APIs of an app.
  static let grantable = Statement<String, AppID>(
    "merges.grantable",
    """
    select role_id from roles where app_id = $1
    union all
    select resource_server_id from resource_servers where app_id = $1 or app_id is null
    """)

  static let addRoles = Statement<NoRow, UserID, TextBytes>(
    "merges.add_roles",
    """
    insert into user_roles (user_id, role_id)
    select u.user_id, e.row ->> 'id'
    from users u cross join jsonb_array_elements($2::jsonb -> 'roles') as e (row)
    where u.user_id = $1
    on conflict (user_id, role_id) do nothing
    """)

  static let addPermissions = Statement<NoRow, UserID, TextBytes>(
    "merges.add_permissions",
    """
    insert into user_permissions (user_id, resource_server_id, scope)
    select u.user_id, e.row ->> 'resource_server_id', e.row ->> 'scope'
    from users u cross join jsonb_array_elements($2::jsonb -> 'permissions') as e (row)
    where u.user_id = $1
    on conflict (user_id, resource_server_id, scope) do nothing
    """)

  static let addConsents = Statement<NoRow, UserID, TextBytes>(
    "merges.add_consents",
    """
    insert into consents (user_id, client_id, audience, scope)
    select u.user_id, e.row ->> 'client_id', e.row ->> 'audience', e.row ->> 'scope'
    from users u cross join jsonb_array_elements($2::jsonb -> 'consents') as e (row)
    where u.user_id = $1
    on conflict (user_id, client_id, audience) do nothing
    """)

  /// - Parameter 6: the time for which the merge can be undone.
  /// - Parameter 7: the time of the transaction.
  static let add = Statement<
    NoRow, UserID, MergeID, AppID, UserID, BinaryBytes, Duration, ServerTime
  >(
    "merges.add",
    """
    insert into merges (user_id, merge_id, app_id, other_id, sealed, expires_at)
    values ($1, $2, $3, $4, $5, $7::timestamptz + $6::interval)
    """)

  /// Finds a merge on all shards.
  ///
  /// Served by `merges_by_id`.
  static let find = Statement<StoredMerge, MergeID, AppID>(
    "merges.find",
    """
    select user_id, sealed, expires_at > now() from merges where merge_id = $1 and app_id = $2
    """)

  static let remove = Statement<Int, UserID, MergeID>(
    "merges.remove", "delete from merges where user_id = $1 and merge_id = $2 returning 1"
  )
}
