import IdentitySubjects
import Tenancy
import Accounts
import Documents
import Encoding
import JSON
import PasswordHashes
import Postgres
import Runtime

/// A row that creates or updates a user.
struct ImportWrite {
  let row: ImportedUser
  let user: UserID
  /// The user as it is stored; nil for a new one.
  let stored: StoredUser?
  /// The key of the address of the row; nil without one.
  let emailKey: String?
  /// Whether the address is verified when the row is written.
  let isVerified: Bool
  /// The user for whom the address is not reserved any more.
  let formerHolder: UserID?
  /// Whether a deleted user with the id has left events.
  let hasEvents: Bool

  init(
    _ row: ImportedUser, _ match: ImportMatch, _ user: UserID, stored: StoredUser?, isVerified: Bool
  ) {
    self.row = row
    emailKey = match.emailKey
    self.user = user
    self.stored = stored
    self.isVerified = isVerified
    formerHolder = match.formerHolder
    hasEvents = match.hasEvents
  }

  /// Whether an existing user gets another address.
  var changesAddress: Bool {
    guard let stored, let emailKey else { return false }
    return stored.emailKey?.hasSameBytes(as: emailKey) != true
  }

  /// The address by which the row takes an account over that an attacker may have made; nil if it
  /// does not.
  var takeover: EmailAddress? {
    guard row.isVerified == true, let stored, stored.emailKey != nil, !stored.isVerified else {
      return nil
    }
    return emailKey.map(EmailAddress.init(key:))
  }

  /// Whether the row links the first login method of a guest.
  var linksGuest: Bool { row.signsIn && stored?.isGuest == true }

  /// The members of the user's own row.
  var members: JSONObject {
    var members = row.profile
    members["user_id"] = .string(user.text)
    members["anonymous"] = .bool(!row.signsIn)
    if let email = row.email {
      members["email"] = .string(email)
      members["email_verified"] = .bool(isVerified)
    }
    if let url = row.pictureURL { members["picture_url"] = .string(url) }
    if let isBlocked = row.isBlocked { members["blocked"] = .bool(isBlocked) }
    if let time = row.createdAt { members["created_at"] = .string(time) }
    if let time = row.lastLoginAt { members["last_login_at"] = .string(time) }
    if let count = row.loginCount { members["login_count"] = .number(JSONNumber(count)) }
    if let id = row.foreignID { members["foreign_id"] = .string(id) }
    return members
  }
}

/// The credentials that rows add, as rows of the tables.
struct ImportedCredentials {
  private(set) var passwords: [JSON] = []
  private(set) var identities: [JSON] = []
  private(set) var passkeys: [JSON] = []
  private var claims: [(subject: Subject, row: JSON)] = []
  /// Existing users whose identity of an address changes, and the keys of the addresses.
  private(set) var readdressed: [(user: UserID, key: String)] = []
  /// Existing guests who get a login method.
  private(set) var settled: [UserID] = []

  /// The subjects, in the order in which all transactions lock them.
  var subjects: [JSON] { claims.sorted { $0.subject < $1.subject }.map(\.row) }

  /// Adds the credentials of a row that its user does not have.
  ///
  /// - Parameters:
  ///   - write: the row.
  ///   - stored: the identities of the user, the oldest first.
  mutating func add(_ write: ImportWrite, to stored: [StoredIdentity]) {
    let row = write.row
    let own = stored.first(where: \.provider.isAddress)
    if row.hasPassword {
      var hash = PasswordHash.none
      if case .hash(let given) = row.password { hash = given }
      // A user who signs in by mailed codes needs no unknown password.
      if hash != PasswordHash.none || own?.provider != .email {
        let since = write.stored == nil ? row.createdAt : nil
        passwords.append([
          "user_id": .string(write.user.text), "hash": .string(hash),
          "changed_at": since.map(JSON.string) ?? .null,
        ])
      }
    }
    var added: [IdentityID] = []
    if let key = write.emailKey {
      if let own {
        if own.provider == .email || !own.subject.hasSameBytes(as: key) {
          readdressed.append((write.user, key))
        }
      } else if let provider = row.addressProvider {
        var identity = ImportedUser.Identity(provider: provider, subject: key)
        identity.profile = row.addressIdentity?.profile ?? JSONObject()
        identity.place = row.addressIdentity?.place ?? 0
        added.append(add(identity, of: write.user))
      }
    }
    for identity in row.identities {
      let isStored = stored.contains {
        $0.provider == identity.provider && $0.subject.hasSameBytes(as: identity.subject)
      }
      if isStored { continue }
      let id = add(identity, of: write.user)
      added.append(id)
      claim(Subject(ofIdentityAt: identity.provider, identity.subject), for: write.user, id)
    }
    for passkey in row.passkeys {
      let name = passkey.id.text
      let isStored = stored.contains {
        $0.provider == .passkey && $0.subject.hasSameBytes(as: name)
      }
      if isStored { continue }
      let identity = ImportedUser.Identity(provider: .passkey, subject: name)
      added.append(add(identity, passkey.id, of: write.user))
      claim(Subject(ofIdentityAt: .passkey, name), for: write.user, passkey.id)
      var columns = passkey.columns
      columns["user_id"] = .string(write.user.text)
      columns["passkey_id"] = .string(name)
      passkeys.append(.object(columns))
    }
    if let key = write.emailKey {
      let other = stored.first { $0.provider != .anonymous }?.id
      let isNew = own == nil && row.addressProvider != nil
      let identity = own?.id ?? (isNew ? added.first : other ?? added.first)
      claim(Subject(email: key), for: write.user, identity ?? IdentityID())
    }
    if let foreign = row.foreignID {
      // It belongs to no identity: the id of the user stands in its place.
      let subject = Subject(ofIdentityAt: .foreign, foreign)
      claim(subject, for: write.user, IdentityID(trusted: write.user.text))
    }
    guard let user = write.stored else {
      if !row.signsIn {
        let guest = ImportedUser.Identity(provider: .anonymous, subject: write.user.text)
        _ = add(guest, of: write.user)
      }
      return
    }
    if user.isAnonymous, !added.isEmpty || stored.contains(where: { $0.provider != .anonymous }) {
      settled.append(user.id)
    }
  }

  private mutating func add(
    _ identity: ImportedUser.Identity, _ id: IdentityID = IdentityID(), of user: UserID
  ) -> IdentityID {
    identities.append([
      "user_id": .string(user.text), "identity_id": .string(id.text),
      "provider": .string(identity.provider.text), "subject": .string(identity.subject),
      "profile": .object(identity.profile), "place": .number(JSONNumber(identity.place)),
    ])
    return id
  }

  private mutating func claim(_ subject: Subject?, for user: UserID, _ identity: IdentityID) {
    guard let subject else { return }
    let row: JSON = [
      "provider": .string(subject.provider.text), "subject": .string(subject.name),
      "user_id": .string(user.text), "identity_id": .string(identity.text),
    ]
    claims.append((subject, row))
  }
}
