import Documents
import Accounts
import Runtime
import EventLoop
import JSON
import PasswordHashes
import Postgres
import Sessions
import Encoding

/// The writes for the rows of one transaction, as lists for the statements.
struct ImportBatch {
  private let app: AppID
  /// Nil for a user who is created singly.
  private let `import`: ImportID?
  private var created: [JSON] = []
  private var updated: [JSON] = []
  /// The keys of addresses that the rows verify, by their updated users.
  private var verified: [String: String] = [:]
  /// Addresses, and how each signs in.
  private var addresses: [JSON] = []
  private var passwords: [JSON] = []
  private var identities: [JSON] = []
  private var foreignIDs: [JSON] = []
  private var authenticators: [(user: UserID, secret: [UInt8])] = []
  /// Existing users who get credentials.
  private var credentialed: [JSON] = []
  private var roles: [JSON] = []
  private var documents: [JSON] = []
  private var properties: [JSON] = []
  /// Users whose properties the rows replace as a whole.
  private var propertyOwners: [JSON] = []
  /// The users, and whether each is new.
  private var written: [(user: UserID, isNew: Bool)] = []

  init(app: AppID, import id: ImportID?) {
    self.app = app
    `import` = id
  }

  /// Returns the input of `ImportQueries.examine` for rows.
  static func questions(_ rows: [ImportedUser?]) -> JSON {
    .array(
      rows.enumerated().compactMap { index, row -> JSON? in
        guard let row else { return nil }
        var question = JSONObject()
        question["index"] = .number(JSONNumber(index))
        if let id = row.id { question["user_id"] = .string(id.text) }
        if let email = row.email { question["email"] = .string(email) }
        let subjects = row.subjects
        if !subjects.isEmpty { question["identities"] = .array(subjects.map(Self.json)) }
        return .object(question)
      }
    )
  }

  private static func json(_ identity: ImportedUser.Identity) -> JSON {
    ["provider": .string(identity.provider), "subject": .string(identity.subject)]
  }

  /// Adds a row to the batch, and returns its outcome.
  mutating func add(
    _ row: ImportedUser,
    addressKey: String?,
    _ decision: ImportAction
  ) -> (UserID?, ImportResult.Outcome) {
    var row = row
    if let email = row.email, let key = addressKey {
      row.email = EmailAddress.stored(email, key)
    }
    switch decision {
    case .fail(let user, let faults): return (user, .failed(faults))
    case .skip(let user): return (user, .skipped)
    case .create(let user):
      created.append(.object(members(of: row, user, isVerified: row.isVerified ?? false)))
      addData(row, user, isNew: true)
      return (user, .created)
    case .update(let user, let wasVerified):
      let isVerified = row.isVerified ?? wasVerified
      updated.append(.object(members(of: row, user, isVerified: isVerified)))
      if row.isVerified == true { verified[user.text] = addressKey }
      addData(row, user, isNew: false)
      return (user, .updated)
    }
  }

  private func members(of row: ImportedUser, _ user: UserID, isVerified: Bool) -> JSONObject {
    var members = JSONObject()
    members["user_id"] = .string(user.text)
    members["anonymous"] = .bool(!row.signsIn)
    if let email = row.email {
      members["email"] = .string(email)
      members["email_verified"] = .bool(isVerified)
    }
    members["profile"] = .object(row.profile)
    if let url = row.pictureURL { members["picture_url"] = .string(url) }
    if let isBlocked = row.isBlocked { members["blocked"] = .bool(isBlocked) }
    if let time = row.createdAt { members["created_at"] = .string(time) }
    if let time = row.lastLoginAt { members["last_login_at"] = .string(time) }
    if let count = row.loginCount { members["login_count"] = .number(JSONNumber(count)) }
    if let id = row.foreignID { members["foreign_id"] = .string(id) }
    return members
  }

  private mutating func addData(_ row: ImportedUser, _ user: UserID, isNew: Bool) {
    let id = JSON.string(user.text)
    written.append((user, isNew))
    if let email = row.email {
      let identity = row.addressIdentity
      addresses.append([
        "user_id": id, "identity_id": .string(IdentityID().text), "email": .string(email),
        "provider": row.addressProvider.map(JSON.string) ?? .null,
        "profile": .object(identity?.profile ?? JSONObject()),
        "place": .number(JSONNumber(identity?.place ?? 0)),
      ])
    }
    if row.hasPassword {
      var hash = PasswordHash.none
      if case .hash(let given) = row.password { hash = given }
      passwords.append(["user_id": id, "hash": .string(hash)])
    }
    for identity in row.identities {
      addIdentity(identity, of: id)
    }
    if let foreign = row.foreignID {
      foreignIDs.append(["user_id": id, "foreign_id": .string(foreign)])
    }
    authenticators += row.totpSecrets.map { (user, $0) }
    if !isNew, row.signsIn { credentialed.append(["user_id": id]) }
    if isNew, !row.signsIn {
      addIdentity(ImportedUser.Identity(provider: "anonymous", subject: user.text), of: id)
    }
    for role in row.roles { roles.append(["user_id": id, "role_id": .string(role.text)]) }
    for (name, body) in row.documents {
      documents.append(["user_id": id, "kind": .string(name.rawValue), "body": body])
    }
    guard let given = row.properties else { return }
    if !isNew { propertyOwners.append(id) }
    for (key, value) in given {
      properties.append(["user_id": id, "key": .string(key), "value": .string(value.text)])
    }
  }

  private mutating func addIdentity(_ identity: ImportedUser.Identity, of user: JSON) {
    identities.append([
      "user_id": user, "identity_id": .string(IdentityID().text),
      "provider": .string(identity.provider), "subject": .string(identity.subject),
      "profile": .object(identity.profile), "place": .number(JSONNumber(identity.place)),
    ])
  }

  /// Runs `body`, which examines and writes rows, and repeats it after a conflict.
  ///
  /// Another transaction may create one of the users, or take an address or identity, between the
  /// two steps. The next examination then finds its changes.
  /// - Throws: errors of `body`; `.identityTaken` only after several attempts.
  @EventLoop static func repeating<Outcome>(
    _ body: @EventLoop () async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    for _ in 0..<8 {
      do throws(Failure) {
        return try await body()
      } catch .identityTaken {
        continue
      }
    }
    return try await body()
  }

  /// Writes the batch with one statement per table, for any number of rows.
  ///
  /// - Throws: `.identityTaken` if another transaction has created one of the users, or has taken
  ///   an address or identity, since the rows were examined.
  @EventLoop func write(
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    let writing = ImportWriting(app: app, transaction: transaction, context: context)
    try await writing.run(ImportQueries.create, created)
    if !updated.isEmpty {
      let blocked = updated.filter { $0["blocked"]?.bool == true }
      let takenOver = try await unverified(writing)
      try await writing.revokeGuests(credentialed)
      for user in blocked.compactMap({ UserID($0["user_id"]?.string ?? "") }) {
        try await Sessions.end(.all, of: user, "blocked", in: transaction, context)
      }
      // Release old rows first; in one statement the unique constraint would be violated.
      try await writing.run(ImportQueries.release, addresses)
      try await writing.run(ImportQueries.update, updated)
      // The mail goes to the new address. The next statements add the credentials of the rows.
      for (user, address) in takenOver {
        try await Takeover.run(of: user, address, in: transaction, context)
      }
    }
    try await writing.run(ImportQueries.passwords, passwords)
    if !updated.isEmpty { try await writing.run(ImportQueries.readdress, addresses) }
    try await writing.run(ImportQueries.addressIdentities, addresses)
    try await writing.run(ImportQueries.identities, identities)
    try await writing.run(ImportQueries.foreignIDs, foreignIDs)
    try await writing.run(ImportQueries.authenticators, sealedAuthenticators(context))
    try await writing.run(ImportQueries.roles, roles)
    try await writing.run(ImportQueries.emails, addresses)
    try await writing.run(ImportQueries.settle, updated)
    try await writing.write(documents)
    if !propertyOwners.isEmpty {
      let owners: JSON = ["users": .array(propertyOwners), "rows": .array(properties)]
      try await writing.run(ImportQueries.clearProperties, [owners])
    }
    try await writing.run(ImportQueries.properties, properties)
    guard let `import` else { return }
    for (user, isNew) in written {
      let status: JSON = isNew ? "created" : "updated"
      writing.record("user_import", of: user, ["import": .string(`import`.text), "status": status])
    }
  }

  /// Returns the users, and the new addresses, of accounts that an attacker may have made.
  @EventLoop private func unverified(
    _ writing: ImportWriting
  ) async throws(Failure) -> [(UserID, EmailAddress)] {
    let rows = verified.keys.map { ["user_id": .string($0)] as JSON }
    return try await writing.run(ImportQueries.unverified, rows).compactMap { user in
      verified[user.text].map { (user, EmailAddress(key: $0)) }
    }
  }

  /// Returns the authenticator apps with their secrets encrypted.
  @EventLoop private func sealedAuthenticators(_ context: RequestContext) throws(Failure) -> [JSON]
  {
    var rows: [JSON] = []
    for (user, secret) in authenticators {
      let factor = FactorID()
      let sealed = try SecondFactors.sealed(secret, as: factor, of: user, context)
      rows.append([
        "user_id": .string(user.text), "factor_id": .string(factor.text),
        "secret": .string(String(hexadecimal: sealed)),
      ])
    }
    return rows
  }
}
