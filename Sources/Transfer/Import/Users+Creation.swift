import Documents
package import Accounts
package import Runtime
import EventLoop
import JSON
import Postgres

extension Users {
  /// Creates a user.
  ///
  /// It sends no mail: an unverified address can be verified later.
  /// - Parameters:
  ///   - new: the user.
  ///   - context: the context of the request.
  /// - Returns: the profile.
  /// - Throws: `.insufficientScope` if the principal may not write the app metadata, `.userExists`
  ///   with the members that are taken, `.documentTooLarge`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func create(
    _ new: NewUser, _ context: RequestContext
  ) async throws(Failure) -> Profile {
    var row = new.row
    if row.documents.contains(where: { $0.kind == .appMetadata }) {
      try context.require(Scopes.updateAppMetadata)
    }
    if let password = new.password {
      row.password = .hash(try await context.passwords.hash(password, for: context.owner))
    }
    let user: UserID = try await ImportBatch.repeating { [row] () async throws(Failure) in
      try await context.transaction { transaction async throws(Failure) in
        try await write(row, in: transaction)
      }
    }
    return try await Profiles.read(of: user, context)
  }

  @EventLoop private static func write(
    _ row: ImportedUser, in transaction: Transaction
  ) async throws(Failure) -> UserID {
    var batch = ImportBatch(import: nil)
    let found = try await ImportExamination.matches(
      of: [row], isForUpdate: false, in: transaction.app.id, transaction
    )
    let match = try found.first.flatMap(\.self).orUnforeseen("a user that was examined")
    let action = ImportAction(row, match, .fail)
    switch action {
    case .create(let user):
      _ = batch.add(row, match, action)
      try await batch.write(in: transaction)
      Event("user_create", of: user).record(in: transaction)
      return user
    case .fail(_, let faults): throw .userExists(faults)
    case .update, .skip: throw .internalError("a user that exists was not refused")
    }
  }
}
