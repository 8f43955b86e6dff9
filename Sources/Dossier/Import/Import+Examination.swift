import EventLoop
import JSON
import Postgres

/// What the database has that a row of an import would meet.
struct ImportFinding: RowDecodable {
  /// Where the row is in the batch.
  let index: Int
  /// The app of the user with the row's id; none that there is where the id is an app's.
  let app: String?
  /// What its address is compared by.
  let emailKey: String?
  /// The user of the row's address.
  let holder: UserID?
  /// How far the address tells that the row is of its user; nil for an address of no user.
  let address: AddressState?
  /// Whose its identities are.
  let owners: [UserID?]

  enum AddressState: String {
    case verified
    /// It is not verified, and a program has made its user.
    case made
    /// It is not verified, and an attacker may have registered it.
    case registered
    /// It is a former address, which a mail can restore.
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

  /// The user whom the address of the row names; nil if it names none.
  ///
  /// An attacker may register an address before the import, to read what the import stores. So an
  /// unverified address that its user registered names that user in two cases only: the import changes
  /// no user, or the row verifies the address, which revokes all credentials.
  func user(of row: ImportedUser, _ existing: ExistingUser) -> UserID? {
    switch address {
    case .verified, .made: holder
    case .registered: existing.isChanged && row.isVerified != true ? nil : holder
    case .reserved, nil: nil
    }
  }
}

extension ImportFinding {
  /// Returns what the database has that rows would meet; users who are changed stay as they were found
  /// until the transaction ends.
  ///
  /// - Parameters:
  ///   - rows: nil for lines that have none.
  ///   - isForUpdate: whether users who are there are changed.
  ///   - app: whose users they become.
  ///   - transaction: that writes the rows.
  /// - Returns: one for each that is not nil, with its place.
  /// - Throws: what the database says.
  @EventLoop static func all(
    of rows: [ImportedUser?],
    isForUpdate: Bool,
    in app: AppID,
    _ transaction: Transaction
  ) async throws(Failure) -> [ImportFinding] {
    let questions = TextBytes(ImportBatch.questions(rows).serialized())
    var locked: Set<String> = []
    while true {
      let findings = try await transaction.run(ImportQueries.examine, app, questions)
      let users = Set(findings.flatMap { $0.users(of: rows[$0.index]) }).subtracting(locked)
      guard isForUpdate, !users.isEmpty else { return findings }
      // Another transaction may have changed them while this one waited.
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

/// What is done with a line whose user is there already.
package enum ExistingUser: Sendable {
  case fail
  case skip
  case update
  /// Updates it once; a line whose user is not there, or whose user an earlier line of the import has
  /// changed, fails.
  case require

  var isChanged: Bool { self == .update || self == .require }
}

/// What is to be done with one row.
enum ImportDecision {
  case create(UserID)
  /// Also whether the row's address is the user's, and verified, before.
  case update(UserID, wasVerified: Bool)
  case skip(UserID)
  case fail(UserID?, [Fault])

  /// A second row of a user of whom an import takes one.
  static func duplicate(_ user: UserID?) -> ImportDecision {
    .fail(user, [Fault("/id", "duplicate", "An earlier line of this user has been written.")])
  }

  /// Decides by what the row says and what the database has.
  init(_ row: ImportedUser, _ found: ImportFinding, of app: AppID, _ existing: ExistingUser) {
    if let id = row.id, let other = found.app, other != app.text {
      self = .fail(id, [Fault("/id", "id_taken", "A user of another app, or an app, has this id.")])
      return
    }
    let address = found.user(of: row, existing)
    let known = row.id ?? address ?? found.owners.compactMap(\.self).first
    let isThere = row.id == nil ? known != nil : found.app != nil
    var faults: [Fault] = []
    if let holder = found.holder, holder != known {
      faults.append(Fault("/email", "email_taken", "Another user has this address."))
    }
    for (index, owner) in found.owners.enumerated() {
      guard let owner, owner != known else { continue }
      faults.append(
        Fault("/identities/\(index)", "identity_taken", "This is an identity of another user.")
      )
    }
    guard let known, isThere else {
      if existing == .require {
        faults.append(
          Fault("/id", "no_such_user", "There is no such user: import the users first.")
        )
      }
      self = faults.isEmpty ? .create(row.id ?? UserID()) : .fail(row.id, faults)
      return
    }
    switch existing {
    case .fail:
      let place = row.id != nil ? "/id" : address != nil ? "/email" : "/identities"
      self = .fail(known, [Fault(place, "exists", "There is such a user.")])
    case .skip: self = .skip(known)
    case .update, .require:
      let wasVerified = found.holder == known && found.address == .verified
      self = faults.isEmpty ? .update(known, wasVerified: wasVerified) : .fail(known, faults)
    }
  }
}

/// What no two rows of one transaction may both touch, so that each finds what those before it left.
struct BatchConflictKeys {
  private var taken: Set<ExactString> = []

  /// Whether the row shares nothing with those before; then what it touches is taken.
  mutating func take(_ row: ImportedUser, _ found: ImportFinding) -> Bool {
    var own = Set(row.identities.map { "\($0.provider) \($0.subject)" })
    if let id = row.id { own.insert(id.text) }
    if let key = found.emailKey { own.insert("email \(key)") }
    for user in [found.holder] + found.owners {
      if let user { own.insert(user.text) }
    }
    let exact = own.map(ExactString.init)
    guard taken.isDisjoint(with: exact) else { return false }
    taken.formUnion(exact)
    return true
  }
}
