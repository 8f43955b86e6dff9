import Accounts
import Documents
import Encoding
import EventLoop
import IdentitySubjects
import JSON
import Postgres
import Runtime
import Sessions
import Tenancy

/// Writes the rows of a batch: each existing user by itself, and then the new rows of each table.
@EventLoop struct ImportWriting {
  let transaction: Transaction
  private var context: RequestContext { transaction.context }
  private var app: AppID { transaction.app.id }

  /// - Throws: `.identityTaken`, `.documentTooLarge`, errors of the statements.
  func write(_ writes: [ImportWrite]) async throws(Failure) {
    let identities = try await change(writes.filter { $0.stored != nil })
    var credentials = ImportedCredentials()
    for write in writes { credentials.add(write, to: identities[write.user] ?? []) }
    let properties = try await Properties.replaced(
      writes.compactMap { write in
        write.row.properties.map { (write.user, write.stored?.propertyFloor, $0) }
      },
      in: transaction
    )
    let new = writes.filter { $0.stored == nil }
    let created = sendNewUsers(new)
    var sent = send(ImportQueries.passwords, credentials.passwords)
    for (user, key) in credentials.readdressed {
      sent.append(transaction.send(ImportQueries.readdress, user, key))
    }
    sent += send(ImportQueries.identities, credentials.identities)
    sent += send(ImportQueries.passkeys, credentials.passkeys)
    let subjects = credentials.subjects
    for write in writes {
      guard let holder = write.formerHolder, let key = write.emailKey else { continue }
      Subjects.release([Subject(email: key)], of: holder, in: transaction)
    }
    let claims = send(ImportQueries.claims, subjects)
    for write in writes { sent += try sendFurther(write) }
    let roles = writes.flatMap { write in
      write.row.roles.map {
        ["user_id": .string(write.user.text), "role_id": .string($0.text)] as JSON
      }
    }
    sent += send(ImportQueries.roles, roles)
    for user in credentials.settled {
      sent.append(transaction.send(CredentialRowQueries.settle, user))
    }
    Properties.send(properties, in: transaction)
    var count = 0
    for statement in created + claims { count += try await rows(of: statement).count }
    guard count == new.count + subjects.count else { throw .identityTaken }
    // Before the documents, which would fail with the error of an earlier statement.
    for statement in sent { _ = try await rows(of: statement) }
    try await write(documents: writes)
  }

  /// Updates existing users, and revokes what other persons may have of them.
  ///
  /// - Returns: the identities that they keep.
  private func change(_ writes: [ImportWrite]) async throws(Failure) -> [UserID: [StoredIdentity]] {
    var identities: [UserID: [StoredIdentity]] = [:]
    var revoked: [UserID] = []
    for write in writes { identities[write.user] = write.stored?.identities }
    // Another person may be the guest.
    for write in writes where write.linksGuest {
      try await Sessions.revokeCredentials(of: write.user, in: transaction)
      try await Sessions.end(.all, of: write.user, "link", in: transaction)
      revoked.append(write.user)
    }
    for write in writes where write.row.isBlocked == true {
      try await Sessions.end(.all, of: write.user, "blocked", in: transaction)
    }
    var sent: [Sent<NoRow>] = []
    for write in writes {
      if write.changesAddress {
        let former = write.stored?.emailKey.map { Subject(email: $0) }
        Subjects.release(former.map { [$0] } ?? [], of: write.user, in: transaction)
        _ = transaction.send(ImportQueries.removeMails, write.user)
      }
      let members = TextBytes(write.members.serialized())
      let update = ImportQueries.update
      sent.append(transaction.send(update, write.user, app, members, ServerTime()))
    }
    for statement in sent { _ = try await rows(of: statement) }
    // The mail goes to the new address. The credentials of the row are added after this.
    for write in writes {
      guard let address = write.takeover else { continue }
      try await Takeover.run(of: write.user, address, in: transaction)
      revoked.append(write.user)
    }
    guard !revoked.isEmpty else { return identities }
    for user in revoked { identities[user] = [] }
    let read = transaction.send(ImportQueries.identitiesOfUsers, revoked.list)
    for identity in try await rows(of: read) { identities[identity.user]?.append(identity) }
    return identities
  }

  private func sendNewUsers(_ writes: [ImportWrite]) -> [Sent<NoRow>] {
    for write in writes where write.hasEvents {
      _ = transaction.send(ImportQueries.moveEvents, write.user)
    }
    return send(ImportQueries.create, writes.map { .object($0.members) })
  }

  /// Sends the statements for the rarer parts of a user.
  private func sendFurther(_ write: ImportWrite) throws(Failure) -> [Sent<NoRow>] {
    var sent: [Sent<NoRow>] = []
    if let foreign = write.row.foreignID, write.stored?.hasForeignID == true {
      sent.append(transaction.send(ImportQueries.addForeignID, write.user, foreign))
    }
    guard !write.row.totpSecrets.isEmpty else { return sent }
    var factors: [JSON] = []
    for secret in write.row.totpSecrets {
      let factor = FactorID()
      let sealed = try SecondFactors.sealed(secret, as: factor, of: write.user, context)
      factors.append([
        "factor_id": .string(factor.text), "secret": .string(String(hexadecimal: sealed)),
      ])
    }
    let list = TextBytes(JSON.array(factors).serialized())
    let authenticators = ImportQueries.authenticators
    sent.append(transaction.send(authenticators, write.user, list, ServerTime()))
    return sent
  }

  /// Writes documents, with the rows that follow from each.
  private func write(documents writes: [ImportWrite]) async throws(Failure) {
    let documents = writes.flatMap { write in
      write.row.documents.map { kind, body in
        ["user_id": .string(write.user.text), "kind": .string(kind.rawValue), "body": body] as JSON
      }
    }
    guard !documents.isEmpty else { return }
    let list = TextBytes(JSON.array(documents).serialized())
    let written = try await rows(
      of: transaction.send(ImportQueries.documents, list),
      violation: .documentTooLarge(above: Self.limit(of: writes))
    )
    guard !written.isEmpty else { return }
    let app = try await context.apps.app(app)
    let indexes = try await DocumentTraces.indexes(in: app, transaction)
    for row in written {
      let traces = DocumentTraces(of: row.kind, row.user, in: app, by: context.principal)
      traces.send(row.version, indexes[row.kind], in: transaction)
    }
  }

  /// Returns the limit of the document that is too large; a batch is cut until it is of one row.
  private nonisolated static func limit(of writes: [ImportWrite]) -> Int {
    writes.lazy.compactMap(\.row.fullestDocument).first?.limit ?? 0
  }

  /// Sends an insert of rows; returns no statement without rows.
  private func send(_ statement: Statement<NoRow, TextBytes>, _ rows: [JSON]) -> [Sent<NoRow>] {
    rows.isEmpty
      ? [] : [transaction.send(statement, TextBytes(JSON.array(rows).serialized()))]
  }

  private func send(
    _ statement: Statement<NoRow, AppID, TextBytes>, _ rows: [JSON]
  ) -> [Sent<NoRow>] {
    rows.isEmpty
      ? [] : [transaction.send(statement, app, TextBytes(JSON.array(rows).serialized()))]
  }

  /// Waits for a statement, which fails if one before it has failed.
  private func rows<Row>(
    of sent: Sent<Row>, violation: @autoclosure () -> Failure? = nil
  ) async throws(Failure) -> [Row] {
    try await sent.rows(undone: .identityTaken, duplicate: .identityTaken, violation: violation())
  }
}
