package import Accounts
import Documents
package import EventLoop
package import JSON
import Postgres
package import Runtime

/// A user to be created.
package struct NewUser: Sendable {
  package let row: ImportedUser
  /// The plain password; nil without one, or with a hash instead.
  package let password: String?

  /// Reads a description: a line of an import, which may have a plain `password` instead of a hash.
  ///
  /// - Parameters:
  ///   - description: an object.
  ///   - context: the context of the request; the rules of its app apply.
  /// - Throws: `.invalid` with every fault, `.overloaded`.
  @EventLoop package init(_ description: JSON, _ context: RequestContext) async throws(Failure) {
    let app = context.app
    var members = description
    let (password, faults) = Self.takePassword(from: &members, app)
    self.password = password
    let stringLimit = app.documentSettings.propertyStringLength
    let mixesScripts = app.accountSettings.allowsMixedScripts
    let schemas = app.schemas
    let passkeys = PasskeyRules(of: app)
    do throws(Failure) {
      row = try await context.calculate(on: .max) { [members] () throws(Failure) in
        try ImportedUser(
          members, stringLimit: stringLimit, mixesScripts: mixesScripts, schemas: schemas,
          passkeys: passkeys
        )
      }
    } catch let error where error.is(.invalid) {
      throw .invalid(faults + error.faults)
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    if let password { try await Credentials.checkBreached(password, at: "/password", context) }
  }

  /// Removes the member `password`, which import rows lack, and returns it with its faults.
  private static func takePassword(
    from description: inout JSON, _ app: App
  ) -> (password: String?, faults: [FieldError]) {
    guard var members = description.object, let value = members["password"] else {
      return (nil, [])
    }
    var faults: [FieldError] = []
    if members["password_hash"] != nil {
      faults.append(
        FieldError("/password", "choice", "Send only one of password and password_hash.")
      )
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
      faults.append(.wrongType("/password", "a string"))
    }
    members["password"] = nil
    description = .object(members)
    return (value.string, faults)
  }
}

extension NewUser {
  /// Creates the user.
  ///
  /// It sends no mail: an unverified address can be verified later.
  /// - Returns: the profile.
  /// - Throws: `.insufficientScope` if the principal may not write the app metadata, `.userExists`
  ///   with the members that are taken, `.documentTooLarge`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package func create(_ context: RequestContext) async throws(Failure) -> Profile {
    var row = row
    if row.documents.contains(where: { $0.kind == .appMetadata }) {
      try context.require(Scopes.updateAppMetadata)
    }
    if let password = password {
      row.password = .hash(try await context.passwords.hash(password, for: context.owner))
    }
    let user: UserID = try await ImportBatch.repeating { [row] () async throws(Failure) in
      try await context.transaction { transaction async throws(Failure) in
        try await Self.write(row, in: transaction)
      }
    }
    return try await Profiles.read(of: user, context)
  }

  /// Creates the user in a transaction, which is repeated by `repeating`; the description has no
  /// plain password.
  ///
  /// - Throws: as `create`.
  @EventLoop package func create(in transaction: Transaction) async throws(Failure) -> UserID {
    try await Self.write(row, in: transaction)
  }

  /// Repeats transactions that create users, as `ImportBatch.repeating`.
  @EventLoop package static func repeating<Outcome>(
    _ body: @EventLoop () async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    try await ImportBatch.repeating(body)
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
    case .update, .skip: throw .internalError(reason: "a user that exists was not refused")
    }
  }
}
