import Accounts
import Encoding
package import EventLoop
import IdentitySubjects
package import JSON
import Outbound
package import Postgres
package import Records
package import Runtime
import Sessions
package import Tenancy

/// An administrator of the console, as owners see one.
///
/// Its user belongs to the app of administrators, and has the same id.
package struct AdministratorRecord: OwnedRecord {
  package let email: String
  package let role: AdministratorRole
  /// The apps in which the role holds; nil for all.
  package let apps: [AppID]?
  /// The networks from which the administrator may call; empty for all.
  package let networks: [String]
  package let isDisabled: Bool
  /// The system user whose commands events name as this administrator's; empty for none.
  package let systemUser: String

  package init(_ read: inout RecordReader) {
    email = read.requiredText(
      "email", ColumnRule(.text(3...254)), "the address by which the administrator signs in",
      .immutable, .example("grace@example.org"))
    role = read.choice(
      "role", .viewer, safe: .viewer,
      "what the administrator may do: viewer reads, but no documents; support also reads documents, and "
        + "helps users to sign in; admin changes users and apps; owner also keys and secrets, and with all "
        + "apps the apps and the administrators themselves",
      .required, .example("support"))
    let ids = read.texts(
      "app_ids",
      .texts(atMost: 100, "id", "An id of an app must have 24 hexadecimal digits in lower case.") {
        AppID($0)?.text.hasSameBytes(as: $0) == true
      },
      "the ids of the apps in which the role holds; empty for all", .listed)
    networks = read.texts(
      "networks",
      .texts(atMost: 100, "network", "A network must be written in CIDR, such as 192.0.2.0/24.") {
        IPNetwork($0) != nil
      },
      "the networks from which the administrator may use the console; empty for all")
    // Lists that cannot be read must not widen what the administrator may do.
    let isReadable = read.misfits.isEmpty
    apps = isReadable ? (ids.isEmpty ? nil : ids.map(AppID.init(trusted:))) : []
    isDisabled = read.flag(
      "disabled", false, safe: true, "whether the administrator is refused", .listed)
    systemUser = read.text(
      "system_user",
      .text(
        0...CommandLinePerson.longest, "name",
        "A system user must have at most 64 of a-z, A-Z, 0-9, and . _ @ + -."
      ) { $0.isEmpty || CommandLinePerson(named: $0) != nil },
      "",
      "the system user whose commands the audit log shows as those of the administrator; empty for "
        + "none. It grants nothing")
  }

  package static let words = RecordWords(
    command: "administrator", type: "Administrator", one: "administrator", many: "administrators",
    app: .nothing, "A person who may use the console.",
    consequence: "The next request of the administrator is refused. The audit log keeps the id.")

  package static let table = RecordTable<AdministratorRecord>(
    "administrators", key: "user_id",
    own: [.text("email"), .text("role")],
    order: "r.created_at, r.user_id",
    .init(
      list: "administrators.list", show: "administrators.show", lock: "administrators.lock",
      insert: "administrators.create", change: "administrators.change",
      delete: "administrators.delete"))

  /// Whether it is an owner of all apps who may sign in; one such administrator always stays.
  fileprivate var isLastingOwner: Bool { role == .owner && apps == nil && !isDisabled }
}

extension Stored<AdministratorRecord> {
  package var id: UserID { UserID(trusted: key) }

  /// Returns the administrator of a session.
  ///
  /// - Parameter isRecent: whether the session has authenticated within the last minutes.
  /// - Returns: the administrator.
  package func administrator(isRecent: Bool) -> Administrator {
    Administrator(
      id, record.role, apps: record.apps, networks: record.networks, isRecent: isRecent)
  }
}

// MARK: Rules

extension AdministratorRecord {
  package static var taken: Failure { .administratorExists }

  /// Checks that an owner of all apps stays, and that no administrator changes the own role.
  @EventLoop package static func check(
    _ record: AdministratorRecord, _ key: String, in app: AppID?, _ transaction: Transaction
  ) async throws(Failure) {
    let others = try await table.others(than: key, in: .operators, transaction)
    let stored = try await transaction.run(table.statements.show, nil, key).first?.record
    try requireOwner(instead: stored, by: record, among: others)
    try record.requireOwnSystemUser(among: others)
    let isOwn = transaction.principal.administrator?.id.text.hasSameBytes(as: key) == true
    guard !isOwn || record.role == stored?.role && record.apps == stored?.apps else {
      throw .ownRole
    }
  }

  /// Checks that an owner of all apps stays after a change or a deletion.
  ///
  /// The app of administrators is locked, so changes run one after the other.
  /// - Throws: `.lastOwner`.
  private static func requireOwner(
    instead stored: AdministratorRecord?, by record: AdministratorRecord?,
    among others: [Stored<AdministratorRecord>]
  ) throws(Failure) {
    guard stored?.isLastingOwner == true, record?.isLastingOwner != true else { return }
    guard others.contains(where: { $0.record.isLastingOwner }) else { throw .lastOwner }
  }

  /// Checks that no other administrator has the same system user.
  ///
  /// - Throws: `.invalid`.
  private func requireOwnSystemUser(
    among others: [Stored<AdministratorRecord>]
  ) throws(Failure) {
    let isTaken = others.contains { $0.record.systemUser.hasSameBytes(as: systemUser) }
    guard !systemUser.isEmpty, isTaken else { return }
    throw .invalid([
      FieldError("/system_user", "taken", "Another administrator has this system user.")
    ])
  }

  /// Creates an administrator with a user of the same id, who cannot sign in before a link is used.
  ///
  /// - Throws: `.invalid`, `.administratorExists`, `.databaseUnavailable`.
  @EventLoop package static func create(
    _ members: JSONObject, in app: AppID?, _ context: RequestContext
  ) async throws(Failure) -> Stored<AdministratorRecord> {
    let (change, record) = try table.checked(RecordPatch(members))
    let context = try await context.inAppOfAdministrators()
    // An administrator of one machine may have an address without mail.
    let isLocal = record.email.hasSuffix("@localhost")
    try EmailAddress.check(
      isLocal ? record.email.dropLast(9) + "example.com" : record.email, context)
    let address = try await EmailAddress(record.email, context)
    let (user, app) = (UserID(), context.app.id)
    return try await context.transaction { transaction async throws(Failure) in
      if !record.systemUser.isEmpty {
        let others = try await table.others(than: user.text, in: .operators, transaction)
        try record.requireOwnSystemUser(among: others)
      }
      let identity = IdentityID()
      let taken = transaction.send(
        SubjectQueries.takeAddress, app, address.key, user, identity, ServerTime(), false)
      _ = transaction.send(
        UsersQueries.create, user, app, false, TextBytes(JSONObject().serialized()),
        EmailAddress.canonical(record.email))
      _ = transaction.send(
        CredentialRowQueries.addIdentity, user, identity, app, .email, address.key)
      try await taken.rows(undone: .administratorExists)
      try await transaction.send(
        table.statements.insert, app.text, user.text, table.row(of: change.after)
      ).rows(duplicate: .administratorExists)
      note("administrator_create", user, change.audited, in: transaction)
      return try await transaction.run(table.statements.show, nil, user.text)
    }.first.orUnforeseen("an administrator who was made")
  }

  /// Changes an administrator, and ends the sessions of one who is disabled.
  ///
  /// - Throws: as `RecordTable.change`; `.lastOwner`, `.ownRole`.
  @EventLoop package static func change(
    _ key: String, of app: AppID?, by patch: RecordPatch, if condition: VersionCondition,
    _ context: RequestContext
  ) async throws(Failure) -> Stored<AdministratorRecord> {
    let context = try await context.inAppOfAdministrators()
    let changed = try await table.change(key, of: nil, by: patch, if: condition, context)
    if changed.record.isDisabled {
      try await context.transaction { transaction async throws(Failure) in
        _ = transaction.send(SessionsQueries.lockUser, changed.id)
        try await Sessions.end(.all, of: changed.id, "blocked", in: transaction)
      }
    }
    return changed
  }

  /// Deletes an administrator with its user.
  ///
  /// - Throws: `.notFound`, `.lastOwner`, `.databaseUnavailable`.
  @EventLoop package static func delete(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure) {
    guard let user = UserID(key) else { throw .notFound }
    let context = try await context.inAppOfAdministrators()
    try await context.transaction { transaction async throws(Failure) in
      let found = try await transaction.run(table.statements.lock, nil, user.text)
      guard let before = found.first else { throw .notFound }
      let others = try await table.others(than: user.text, in: .operators, transaction)
      try requireOwner(instead: before.record, by: nil, among: others)
      _ = transaction.send(SessionsQueries.lockUser, user)
      _ = transaction.send(table.statements.delete, nil, user.text)
      let shown = RecordChange.shown(before.chosen)
      note(
        "administrator_delete", user, JSONObject([("before", .object(shown))]), in: transaction)
      try await Users.remove(user, in: transaction)
    }
  }

  /// Returns the address of an administrator.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func email(
    of administrator: UserID, _ context: RequestContext
  ) async throws(Failure) -> String {
    let context = try await context.inAppOfAdministrators()
    return try await table.find(administrator.text, of: nil, context).record.email
  }

  /// Returns the account of a person on the command line; nil without one.
  ///
  /// A disabled administrator is named too: the account only says who it was.
  /// - Parameters:
  ///   - name: the address of the administrator, or the system user.
  ///   - context: the context of the command.
  /// - Returns: the id of the administrator.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func account(
    of name: String, _ context: RequestContext
  ) async throws(Failure) -> UserID? {
    let address = EmailAddress.canonical(name).lowercased()
    let all = try await context.read(table.statements.list, nil, on: .exclusive)
    return all.first {
      $0.record.systemUser.hasSameBytes(as: name)
        || EmailAddress.canonical($0.record.email).lowercased().hasSameBytes(as: address)
    }?.id
  }

  /// Returns the administrators who have a right in an app: their addresses and languages.
  ///
  /// An address of this machine gets no mail.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func readers(
    of app: AppID, _ right: AdministratorRight, _ context: RequestContext
  ) async throws(Failure) -> [(email: String, language: String?)] {
    let all = try await context.read(table.statements.list, nil, on: .exclusive)
      .filter { stored in
        let administrator = stored.administrator(isRecent: false)
        return !stored.isDisabled && administrator.right >= right && administrator.mayUse(app)
          && !stored.email.hasSuffix("@localhost")
      }
    let language = AdministratorQueries.language
    let languages = try await context.read(
      language, all.map { PendingQuery(language, $0.id) }, on: .exclusive)
    return zip(all, languages).map { ($0.email, $1.first?.language) }
  }

  @EventLoop static func note(
    _ action: String, _ administrator: UserID, _ detail: JSONObject, in transaction: Transaction
  ) {
    var all = JSONObject([("administrator_id", .string(administrator.text))])
    for (name, value) in detail { all[name] = value }
    Event(action, detail: .object(all)).record(in: transaction)
  }
}

/// The language of an administrator; nil for none.
package struct AdministratorLanguage: RowDecodable {
  let language: String?

  package init(from row: Row) throws(DatabaseError) { language = row.text(ifAny: 0) }
}

package enum AdministratorQueries {
  static let language = Statement<AdministratorLanguage, UserID>(
    "administrators.language", "select locale from users where user_id = $1"
  )
}

extension RequestContext {
  /// Returns the context of this request in the app of administrators.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop func inAppOfAdministrators() async throws(Failure) -> RequestContext {
    let app = try await apps.operators()
    let caller: Principal =
      switch principal.role {
      case .operator: Principal(operator: principal.person, in: app.id)
      case .client: principal
      case .administrator:
        principal.administrator.map { Principal($0, in: app.id) } ?? .anyone
      case .anyone, .user, .system: .anyone
      }
    let context = RequestContext(dependencies, app: app, principal: caller, agent: agent)
    context.owner = owner
    context.device = device
    return context
  }
}

extension Failure {
  package static let administratorExists = Failure("administrator_exists", .conflict)
    .titled("An administrator with that address already exists.")
    .remedied("Change that one, or make a new link for it: dossier administrator link.")
  package static let lastOwner = Failure("last_owner", .conflict)
    .titled("No owner of all apps would be left.")
    .remedied("Make another administrator an owner of all apps first.")
  package static let ownRole = Failure("own_role", .forbidden)
    .titled("Administrators cannot change their own role and apps.")
    .remedied("Ask another owner, or use the command line: dossier administrator set.")
}
