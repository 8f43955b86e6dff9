import IdentitySubjects
import Tenancy
import JSON
import Runtime

/// The existing users, addresses and identities that conflict with or match an import row.
struct ImportMatch {
  /// The comparison key of its address.
  let emailKey: String?
  /// Whether the row's id is no id of a user of the app, and cannot become one.
  private(set) var isIDTaken = false
  /// Whether a user with the row's id has left events.
  private(set) var hasEvents = false
  /// The user with the row's id.
  private(set) var own: StoredUser?
  /// The user of the row's address.
  private(set) var holder: UserID?
  /// The state of the row's address; nil if no user has it.
  private(set) var address: AddressState?
  /// The user for whom the row's address is not reserved any more.
  private(set) var formerHolder: UserID?
  /// The users of its identities, and of its foreign id.
  private(set) var owners: [UserID?] = []
  /// The users of its passkeys.
  ///
  /// They do not identify the user of the row: anyone can register a credential id that they know.
  private(set) var passkeyOwners: [UserID?] = []
  /// The users of the app whom the row names, or who have its address or one of its identities.
  private(set) var existing: [StoredUser] = []

  enum AddressState: String {
    case verified
    /// Unverified; an operator, a back end or an import gave it to its user.
    case assigned
    /// Unverified; an attacker may have registered it.
    case registered
    /// A former address, which a mail can restore.
    case reserved
  }

  init(emailKey: String?) { self.emailKey = emailKey }

  /// - Parameters:
  ///   - row: the row.
  ///   - emailKey: the comparison key of its address.
  ///   - app: the app of the import.
  ///   - users: the existing users, of any app.
  ///   - subjects: the users of subjects in the app.
  ///   - isOfApp: whether an app has or had the row's id.
  ///   - hasEvents: whether a user with the row's id has left events.
  init(
    _ row: ImportedUser, emailKey: String?, of app: AppID, _ users: [UserID: StoredUser],
    _ subjects: StoredSubjects, isOfApp: Bool, hasEvents: Bool
  ) {
    self.init(emailKey: emailKey)
    self.hasEvents = hasEvents
    let foreign = subjects[.foreign] ?? [:]
    if let id = row.id {
      own = users[id]
      // Audit events share one key space. Auth0's clients may know another user by this id.
      let known = foreign[ByteString(ForeignIDs.id(of: id))]?.user
      isIDTaken =
        isOfApp || id.text.utf8.allSatisfy { $0 == UInt8(ascii: "0") }
        || own.map { $0.app != app } ?? (known != nil && known != id)
    }
    if let subject = emailKey.flatMap({ subjects[.email]?[ByteString($0)] }) {
      if subject.isExpired {
        formerHolder = subject.user
      } else {
        holder = subject.user
        address =
          subject.isReserved
          ? .reserved
          : users[subject.user]?.isVerified == true
            ? .verified : subject.isAssigned ? .assigned : .registered
      }
    }
    owners = row.subjects.map { identity in
      let found = subjects[identity.provider]?[ByteString(identity.subject)]
      if let found { return found.user }
      guard identity.provider == .foreign,
        let user = ForeignIDs.named(by: identity.subject).flatMap({ users[$0] }),
        user.app == app, !user.hasForeignID,
        ForeignIDs.id(of: user.id).hasSameBytes(as: identity.subject)
      else { return nil }
      return user.id
    }
    passkeyOwners = row.passkeys.map { subjects[.passkey]?[ByteString($0.id.text)]?.user }
    existing = Set([own?.id, holder] + owners).compactMap { $0.flatMap { users[$0] } }
      .filter { $0.app == app }
  }

  /// Returns the user that the row's address identifies; nil if it identifies none.
  ///
  /// An attacker may register an address before the import, to read what the import stores. So an
  /// unverified address that its user registered identifies that user in two cases only: the import
  /// changes no user, or the row verifies the address, which revokes all credentials.
  func user(of row: ImportedUser, _ existing: ExistingUser) -> UserID? {
    switch address {
    case .verified, .assigned: holder
    case .registered: existing.isChanged && row.isVerified != true ? nil : holder
    case .reserved, nil: nil
    }
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
  case update(StoredUser, wasVerified: Bool)
  case skip(UserID)
  case fail(UserID?, [FieldError])

  /// Fails a second row for a user that this import has already written.
  static func duplicate(_ user: UserID?) -> ImportAction {
    .fail(user, [FieldError("/id", "duplicate", "An earlier line has already written this user.")])
  }

  /// Decides by the row and by the existing data.
  init(_ row: ImportedUser, _ found: ImportMatch, _ existing: ExistingUser) {
    if let id = row.id, found.isIDTaken {
      self = .fail(
        id, [FieldError("/id", "id_taken", "An app, or a user of another app, has this id.")]
      )
      return
    }
    let address = found.user(of: row, existing)
    let known = row.id ?? address ?? found.owners.compactMap(\.self).first
    var faults: [FieldError] = []
    if let holder = found.holder, holder != known {
      faults.append(FieldError("/email", "email_taken", "Another user has this address."))
    }
    for (index, owner) in found.owners.enumerated() {
      guard let owner, owner != known else { continue }
      faults.append(
        row.identities.indices.contains(index)
          ? FieldError(
            "/identities/\(index)", "identity_taken", "This is an identity of another user."
          )
          : FieldError("/foreign_id", "foreign_id_taken", "Another user has this foreign id.")
      )
    }
    for (index, owner) in found.passkeyOwners.enumerated() where owner != nil && owner != known {
      let rule = "Another user has this passkey."
      faults.append(FieldError("/passkeys/\(index)", "passkey_taken", rule))
    }
    guard let user = found.existing.first(where: { $0.id == known }) else {
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
      self = .fail(user.id, [FieldError(place, "exists", "This user already exists.")])
    case .skip: self = .skip(user.id)
    case .update, .require:
      let own = Set(row.passkeys.map { ByteString($0.id.text) })
      let others = user.identities.count(where: {
        $0.provider == .passkey && !own.contains(ByteString($0.subject))
      })
      if !own.isEmpty, own.count + others > row.passkeyRules.limit {
        faults.append(row.passkeyRules.fault(at: "/passkeys"))
      }
      let wasVerified = found.holder == user.id && found.address == .verified
      self = faults.isEmpty ? .update(user, wasVerified: wasVerified) : .fail(user.id, faults)
    }
  }
}

/// Keys touched by a batch: rows that share a key go into different transactions.
struct BatchConflictKeys {
  private var taken: Set<ByteString> = []

  /// Returns whether the row shares no key with earlier rows, and then adds its keys.
  mutating func take(_ row: ImportedUser, _ found: ImportMatch) -> Bool {
    var own = Set(row.subjects.map { ByteString("\($0.provider.text) \($0.subject)") })
    for passkey in row.passkeys { own.insert(ByteString("passkey \(passkey.id)")) }
    if let id = row.id { own.insert(ByteString(id.text)) }
    if let key = found.emailKey { own.insert(ByteString("email \(key)")) }
    for user in [found.holder] + found.owners {
      if let user { own.insert(ByteString(user.text)) }
    }
    guard taken.isDisjoint(with: own) else { return false }
    taken.formUnion(own)
    return true
  }
}
