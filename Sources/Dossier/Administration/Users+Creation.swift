import EventLoop
import JSON
import Postgres

extension Users {
  /// Makes a user.
  ///
  /// No mail is sent: an address that is not said to be verified can be verified later.
  /// - Parameters:
  ///   - new: the user.
  ///   - app: whose user it becomes.
  ///   - administrator: who makes it.
  /// - Returns: the profile.
  /// - Throws: `.forbidden` for app metadata that the administrator may not write, `.userExists` with
  ///   what is taken, `.documentTooLarge`, `.overloaded`, `.unavailable`.
  @EventLoop package static func create(
    _ new: NewUser,
    in app: App,
    by administrator: Administrator
  ) async throws(Failure) -> Profile {
    var row = new.row
    if row.documents.contains(where: { $0.class == .appMetadata }) {
      try administrator.require(Scopes.updateAppMetadata)
    }
    let store = administrator.store
    if let password = new.password {
      row.password = .hash(try await store.passwords.hash(password, for: store.owner))
    }
    let user: UserID
    do throws(Failure) {
      user = try await ImportBatch.repeating { [row] () async throws(Failure) in
        try await administrator.transaction { transaction async throws(Failure) in
          try await write(row, to: app.id, administrator, in: transaction)
        }
      }
    } catch .documentTooLarge {
      throw .documentTooLarge(limit: row.fullestDocument?.limit ?? 0)
    }
    return try await Profiles.read(
      of: administrator.caller(on: user, of: app.id),
      in: store
    )
  }

  @EventLoop private static func write(
    _ row: ImportedUser,
    to app: AppID,
    _ administrator: Administrator,
    in transaction: Transaction
  ) async throws(Failure) -> UserID {
    var batch = ImportBatch(app: app, import: nil)
    let found = try await ImportFinding.all(
      of: [row],
      isForUpdate: false,
      in: app,
      transaction
    )
    let finding = try found.first.orUnforeseen("a user that was examined")
    let decision = ImportDecision(row, finding, of: app, .fail)
    switch decision {
    case .create(let user):
      _ = batch.add(row, addressKey: finding.emailKey, decision)
      try await batch.write(in: transaction, administrator)
      try await administrator.record("user_create", of: user, app: app, in: transaction)
      return user
    case .fail(_, let faults): throw .userExists(faults)
    case .update, .skip: throw .unforeseen("a user that exists was not refused")
    }
  }
}
