import Accounts
import Documents
import EventLoop
import JSON
import Postgres
import Runtime
import Sessions
import Tenancy

/// Runs the statements of a batch, and skips those without rows.
@EventLoop struct ImportWriting {
  let app: AppID
  let transaction: Transaction
  let context: RequestContext

  @discardableResult func run<Row>(
    _ statement: Statement<Row, AppID, TextBytes>,
    _ rows: [JSON]
  ) async throws(Failure) -> [Row] {
    guard !rows.isEmpty else { return [] }
    let list = TextBytes(JSON.array(rows).serialized())
    return try await transaction.send(statement, app, list).rows(
      undone: .identityTaken,
      duplicate: .identityTaken,
      violation: .documentTooLarge(limit: 0)
    )
  }

  /// Revokes the credentials of guests: another person may be the guest.
  func revokeGuests(_ rows: [JSON]) async throws(Failure) {
    for user in try await run(ImportQueries.guests, rows) {
      try await Sessions.revokeCredentials(of: user, in: transaction, context)
      try await Sessions.end(.all, of: user, "link", in: transaction, context)
    }
  }

  /// Writes documents, with the rows that follow from each.
  func write(_ documents: [JSON]) async throws(Failure) {
    let written = try await run(ImportQueries.documents, documents)
    guard !written.isEmpty else { return }
    let app = try await context.apps.app(app)
    var indexes: [DocumentKind: String] = [:]
    for kind in DocumentKind.allCases {
      indexes[kind] = try await DocumentTraces.indexes(of: kind, in: app, transaction)
    }
    for row in written {
      let traces = DocumentTraces(of: row.kind, row.user, in: app, by: context.principal)
      traces.send(row.version, indexes[row.kind], in: transaction)
    }
  }

  /// Sends an event of a user, without a session.
  func record(_ action: String, of user: UserID, _ detail: JSON = [:]) {
    _ = Event(action, of: user, at: EventPlace(session: nil, device: nil), detail: detail)
      .send(in: transaction, by: context.principal, context)
  }
}

/// A document that an import has changed.
struct ImportedDocument: RowDecodable {
  let user: UserID
  let kind: DocumentKind
  let version: Int

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    kind = try row.documentKind(1)
    version = try row.int(2)
  }
}
