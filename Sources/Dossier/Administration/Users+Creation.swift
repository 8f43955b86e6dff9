import EventLoop
package import JSON
import Postgres

extension Users {
  /// Makes a user of a description, as a row of an import has it, and may have a `password` as it is
  /// typed instead of a hash.
  ///
  /// No mail is sent: an address that is not said to be verified can be confirmed later.
  /// - Parameters:
  ///   - description: an object.
  ///   - app: whose user it becomes.
  ///   - administrator: who makes it.
  /// - Returns: the profile.
  /// - Throws: `.forbidden` for app metadata that the administrator may not write, `.invalid` with
  ///   every fault, `.userExists` with what is taken, `.identityTaken`,
  ///   `.documentTooLarge`, `.overloaded`, `.unavailable`.
  @EventLoop package static func create(
    _ description: JSON,
    in app: App,
    by administrator: Administrator
  ) async throws(Failure) -> Profile {
    if description["app_metadata"] != nil { try administrator.require(Scopes.updateAppMetadata) }
    var members = description
    let password = try takePassword(from: &members, app)
    let stringLimit = app.settings.propertyStringLength
    let schemas = app.schemas
    var row = try await administrator.store.calculate(on: .max) { [members] () throws(Failure) in
      try ImportedUser(members, stringLimit: stringLimit, schemas: schemas)
    }
    if let password, let email = row.email {
      let store = administrator.store
      let address = try await EmailAddress(email, store)
      let salt = store.keys.master.passwordSalt(app.id, address.key)
      row.password = .hash(try await store.passwords.hash(password, salt))
    }
    let user: UserID
    do throws(Failure) {
      user = try await administrator.transaction {
        [row] transaction async throws(DatabaseError) in
        try await write(row, to: app.id, administrator, in: transaction)
      }.get()
    } catch .documentTooLarge {
      throw .documentTooLarge(limit: row.fullestDocument?.limit ?? 0)
    }
    return try await Profiles.read(
      of: administrator.caller(on: user, of: app.id),
      in: administrator.store
    )
  }

  /// Takes the member `password` out, which a row of an import has not.
  ///
  /// - Throws: `.invalid` when it cannot be the password of what is left.
  private static func takePassword(
    from description: inout JSON,
    _ app: App
  ) throws(Failure) -> String? {
    guard var members = description.object, let value = members["password"] else { return nil }
    var faults: [Fault] = []
    if members["password_hash"] != nil {
      faults.append(Fault("/password", "choice", "Only one of password and password_hash."))
    }
    if members["email"] == nil {
      faults.append(ImportedUser.missing("A password"))
    }
    if let password = value.string {
      let email = members["email"]?.string
      if let fault = Credentials.fault(in: password, of: email, at: "/password", app) {
        faults.append(fault)
      }
    } else {
      faults.append(Fault("/password", "type", "This member must be a string."))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    members["password"] = nil
    description = .object(members)
    return value.string
  }

  @EventLoop private static func write(
    _ row: ImportedUser,
    to app: AppID,
    _ administrator: Administrator,
    in transaction: Transaction
  ) async throws(DatabaseError) -> Result<UserID, Failure> {
    var batch = ImportBatch(app: app, import: nil)
    let questions = ImportBatch.questions([row])
    let found = try await transaction.run(
      ImportQueries.examine,
      app,
      TextBytes(questions.serialized())
    )
    guard let finding = found.first else {
      return .failure(.unforeseen("a user was not examined"))
    }
    let decision = ImportDecision(row, finding, of: app, .fail)
    switch decision {
    case .create(let user):
      _ = batch.add(row, addressKey: finding.emailKey, decision)
      try await batch.write(in: transaction, administrator)
      try await administrator.record("user_create", of: user, app: app, in: transaction)
      return .success(user)
    case .fail(_, let faults): return .failure(.userExists(faults))
    case .update, .skip: return .failure(.unforeseen("a user that exists was not refused"))
    }
  }
}
