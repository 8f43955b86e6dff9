import Runtime
import EventLoop
import JSON
import Postgres

/// The existing users, addresses and identities that conflict with or match an import row.
struct ImportMatch: RowDecodable {
  /// The index of the row in the batch.
  let index: Int
  /// The app of the user with the row's id; the app id of zeros if an app has or had that id.
  let app: String?
  /// The comparison key of its address.
  let emailKey: String?
  /// The user of the row's address.
  let holder: UserID?
  /// The state of the row's address; nil if no user has it.
  let address: AddressState?
  /// The users of its identities, and of its foreign id.
  let owners: [UserID?]

  enum AddressState: String {
    case verified
    /// Unverified; an operator, a back end or an import gave it to its user.
    case assigned
    /// Unverified; an attacker may have registered it.
    case registered
    /// A former address, which a mail can restore.
    case reserved
  }

  init(from row: Row) throws(DatabaseError) {
    index = try row.int(0)
    app = row.text(ifAny: 1)
    emailKey = row.text(ifAny: 2)
    holder = row.text(ifAny: 3).map(UserID.init(trusted:))
    address = row.text(ifAny: 4).flatMap(AddressState.init(rawValue:))
    owners = (row.text(ifAny: 5) ?? "").split(separator: " ").map { UserID($0) }
  }

  /// Returns the user that the row's address identifies; nil if it identifies none.
  ///
  /// An attacker may register an address before the import, to read what the import stores. So an
  /// unverified address that its user registered identifies that user in two cases only: the import
  /// changes no user, or the row verifies the address, which revokes all credentials.
  package func user(of row: ImportedUser, _ existing: ExistingUser) -> UserID? {
    switch address {
    case .verified, .assigned: holder
    case .registered: existing.isChanged && row.isVerified != true ? nil : holder
    case .reserved, nil: nil
    }
  }
}

extension ImportMatch {
  /// Finds the existing users, addresses and identities for rows.
  ///
  /// Users that the import changes stay locked until the transaction ends.
  /// - Parameters:
  ///   - rows: the rows; nil for invalid lines.
  ///   - isForUpdate: whether the import changes existing users.
  ///   - app: the app of the users.
  ///   - transaction: the transaction that writes the rows.
  /// - Returns: one finding for each row that is not nil, with its index.
  /// - Throws: the error of the database.
  @EventLoop package static func all(
    of rows: [ImportedUser?],
    isForUpdate: Bool,
    in app: AppID,
    _ transaction: Transaction
  ) async throws(Failure) -> [ImportMatch] {
    let questions = TextBytes(ImportBatch.questions(rows).serialized())
    var locked: Set<String> = []
    while true {
      let findings = try await transaction.run(ImportQueries.examine, app, questions)
      let users = Set(findings.flatMap { $0.users(of: rows[$0.index]) }).subtracting(locked)
      guard isForUpdate, !users.isEmpty else { return findings }
      // Find again: another transaction may have changed the users before the lock.
      _ = try await transaction.run(
        ImportQueries.lockUsers,
        app,
        TextBytes(JSON.array(users.map { .string($0) }).serialized())
      )
      locked.formUnion(users)
    }
  }

  private func users(of row: ImportedUser?) -> [String] {
    let own = app == nil ? nil : row?.id
    return ([own, holder] + owners).compactMap { $0?.text }
  }
}

/// The handling of a line whose user already exists.
package enum ExistingUser: Sendable {
  case fail
  case skip
  case update
  /// Updates the user once. A line fails if its user does not exist, or if an earlier line has
  /// changed the user.
  case require

  var isChanged: Bool { self == .update || self == .require }
}

/// The action for one row.
enum ImportAction {
  case create(UserID)
  /// Also whether the user already had the row's address, verified.
  case update(UserID, wasVerified: Bool)
  case skip(UserID)
  case fail(UserID?, [FieldError])

  /// Fails a second row for a user that this import has already written.
  static func duplicate(_ user: UserID?) -> ImportAction {
    .fail(user, [FieldError("/id", "duplicate", "An earlier line has already written this user.")])
  }

  /// Decides by the row and by the existing data.
  init(_ row: ImportedUser, _ found: ImportMatch, of app: AppID, _ existing: ExistingUser) {
    if let id = row.id, let other = found.app, other != app.text {
      self = .fail(
        id,
        [FieldError("/id", "id_taken", "An app, or a user of another app, has this id.")]
      )
      return
    }
    let address = found.user(of: row, existing)
    let known = row.id ?? address ?? found.owners.compactMap(\.self).first
    let isThere = row.id == nil ? known != nil : found.app != nil
    var faults: [FieldError] = []
    if let holder = found.holder, holder != known {
      faults.append(FieldError("/email", "email_taken", "Another user has this address."))
    }
    for (index, owner) in found.owners.enumerated() {
      guard let owner, owner != known else { continue }
      faults.append(
        row.identities.indices.contains(index)
          ? FieldError(
            "/identities/\(index)",
            "identity_taken",
            "This is an identity of another user."
          )
          : FieldError("/foreign_id", "foreign_id_taken", "Another user has this foreign id.")
      )
    }
    guard let known, isThere else {
      if existing == .require {
        faults.append(
          FieldError("/id", "no_such_user", "No user has this id: import the users first.")
        )
      }
      self = faults.isEmpty ? .create(row.id ?? UserID()) : .fail(row.id, faults)
      return
    }
    switch existing {
    case .fail:
      let place = row.id != nil ? "/id" : address != nil ? "/email" : "/identities"
      self = .fail(known, [FieldError(place, "exists", "This user already exists.")])
    case .skip: self = .skip(known)
    case .update, .require:
      let wasVerified = found.holder == known && found.address == .verified
      self = faults.isEmpty ? .update(known, wasVerified: wasVerified) : .fail(known, faults)
    }
  }
}

/// Keys touched by a batch: rows that share a key go into different transactions.
struct BatchConflictKeys {
  private var taken: Set<ByteString> = []

  /// Returns whether the row shares no key with earlier rows, and then adds its keys.
  mutating func take(_ row: ImportedUser, _ found: ImportMatch) -> Bool {
    var own = Set(row.subjects.map { "\($0.provider) \($0.subject)" })
    if let id = row.id { own.insert(id.text) }
    if let key = found.emailKey { own.insert("email \(key)") }
    for user in [found.holder] + found.owners {
      if let user { own.insert(user.text) }
    }
    let exact = own.map(ByteString.init)
    guard taken.isDisjoint(with: exact) else { return false }
    taken.formUnion(exact)
    return true
  }
}
