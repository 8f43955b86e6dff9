import IdentitySubjects
import Tenancy
import EventLoop
import JSON
import Postgres
import Runtime
import Sessions

/// Finds the existing users, addresses and identities for rows.
@EventLoop struct ImportExamination {
  private let rows: [ImportedUser?]
  private let app: AppID
  private let transaction: Transaction
  /// The keys of the addresses, by the indexes of the rows.
  private var keys: [Int: String] = [:]

  private init(
    _ rows: [ImportedUser?], in app: AppID, _ transaction: Transaction
  ) async throws(Failure) {
    (self.rows, self.app, self.transaction) = (rows, app, transaction)
    let emails = rows.enumerated().compactMap { index, row in row?.email.map { (index, $0) } }
    guard !emails.isEmpty else { return }
    let found = try await transaction.run(ImportQueries.emailKeys, TextArray(emails.map(\.1)))
    for ((index, _), key) in zip(emails, found) { keys[index] = key }
  }

  /// Finds what conflicts with rows, or matches them.
  ///
  /// Users that the import changes stay locked until the transaction ends.
  /// - Parameters:
  ///   - rows: the rows; nil for invalid lines.
  ///   - isForUpdate: whether the import changes existing users.
  ///   - app: the app of the users.
  ///   - transaction: the transaction that writes the rows.
  /// - Returns: what it has found, for each row that is not nil.
  /// - Throws: the error of the database.
  static func matches(
    of rows: [ImportedUser?], isForUpdate: Bool, in app: AppID, _ transaction: Transaction
  ) async throws(Failure) -> [ImportMatch?] {
    let examination = try await ImportExamination(rows, in: app, transaction)
    var locked: Set<UserID> = []
    while true {
      let matches = try await examination.find()
      let users = Set(matches.flatMap { $0?.existing ?? [] }.map(\.id)).subtracting(locked)
      guard isForUpdate, !users.isEmpty else { return matches }
      // Find again: another transaction may have changed the users before the lock.
      for user in users.sorted(by: { $0.text < $1.text }) {
        _ = transaction.send(SessionsQueries.lockUser, user)
      }
      locked.formUnion(users)
    }
  }

  private func find() async throws(Failure) -> [ImportMatch?] {
    var names: [IdentityProvider: Set<ByteString>] = [:]
    var ids: Set<UserID> = []
    for (index, row) in rows.enumerated() {
      guard let row else { continue }
      if let key = keys[index] { names[.email, default: []].insert(ByteString(key)) }
      for identity in row.subjects {
        names[identity.provider, default: []].insert(ByteString(identity.subject))
      }
      for passkey in row.passkeys {
        names[.passkey, default: []].insert(ByteString(passkey.id.text))
      }
      if let id = row.id {
        ids.insert(id)
        names[.foreign, default: []].insert(ByteString(ForeignIDs.id(of: id)))
      }
      // A user without a foreign id is known by its own.
      if let user = row.foreignID.flatMap(ForeignIDs.named) { ids.insert(user) }
    }
    let own = Set(rows.compactMap { $0?.id }).list
    let apps = own.values.isEmpty ? nil : transaction.send(ImportQueries.apps, own)
    let former = own.values.isEmpty ? nil : transaction.send(ImportQueries.events, own)
    let subjects = try await subjects(names)
    ids.formUnion(subjects.values.flatMap(\.values).map(\.user))
    let users = try await users(ids)
    let ofApps = Set(try await apps?.rows() ?? [])
    let events = Dictionary((try await former?.rows() ?? []).map { ($0.id, $0.isOfApp) }) { $1 }
    return rows.enumerated().map { index, row in
      row.map { row in
        ImportMatch(
          row, emailKey: keys[index], of: app, users, subjects,
          isOfApp: row.id.map { ofApps.contains($0) || events[$0] == true } ?? false,
          hasEvents: row.id.map { events[$0] != nil } ?? false
        )
      }
    }
  }

  /// Returns the subjects that users have, by provider and name.
  private func subjects(
    _ names: [IdentityProvider: Set<ByteString>]
  ) async throws(Failure) -> StoredSubjects {
    var reads: [(IdentityProvider, Sent<StoredSubject>)] = []
    for (provider, names) in names {
      let list = TextArray(names.map(\.text))
      let read = transaction.send(ImportQueries.subjects, app, provider, list, ServerTime())
      reads.append((provider, read))
    }
    var found: StoredSubjects = [:]
    for (provider, read) in reads {
      for subject in try await read.rows() {
        found[provider, default: [:]][ByteString(subject.name)] = subject
      }
    }
    return found
  }

  private func users(_ ids: Set<UserID>) async throws(Failure) -> [UserID: StoredUser] {
    guard !ids.isEmpty else { return [:] }
    let users = transaction.send(ImportQueries.users, ids.list)
    let identities = transaction.send(ImportQueries.identitiesOfUsers, ids.list)
    var found: [UserID: StoredUser] = [:]
    for user in try await users.rows() { found[user.id] = user }
    for identity in try await identities.rows() {
      found[identity.user]?.identities.append(identity)
    }
    return found
  }
}

/// The users of subjects, by provider and name.
typealias StoredSubjects = [IdentityProvider: [ByteString: StoredSubject]]

extension Collection<UserID> {
  /// The ids as a parameter.
  var list: TextArray { TextArray(map(\.text)) }
}
