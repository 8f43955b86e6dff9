package import Runtime
import EventLoop
import JSON
import Outbound
package import Postgres

/// The administration of the mail queue in the database.
package enum Outbox {
  /// The kind of rows that request a mail for an address; rows of other kinds are mails.
  package static let requestKind = "request"

  /// How long delivery is attempted; for a mail with a token, until the token expires.
  package static let patience = Duration.seconds(86_400)

  package static let pageSize = 100

  /// Returns a page of the queued mails, oldest first.
  ///
  /// - Parameters:
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: the size of the page.
  ///   - context: the context of the request.
  /// - Returns: the mails, including those that were given up.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func page(
    after cursor: MailID?,
    count: Int,
    _ context: RequestContext
  ) async throws(Failure) -> Page<ListedMail> {
    var mails = try await context.search(OutboxQueries.page, cursor, count)
    for index in mails.indices { mails[index].open(by: context.keys.master) }
    return Page(mails, of: count)
  }

  /// Retries mails at once, including those that were given up.
  ///
  /// - Parameters:
  ///   - mail: the mail; nil for all.
  ///   - context: the context of the request.
  /// - Returns: the number of mails.
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func retry(
    _ mail: MailID?,
    _ context: RequestContext
  ) async throws(Failure) -> Int {
    try await act("mail_retry", OutboxQueries.retry, mail, context)
  }

  /// Deletes a mail from the queue without delivery.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func drop(
    _ mail: MailID,
    _ context: RequestContext
  ) async throws(Failure) {
    _ = try await act("mail_drop", OutboxQueries.drop, mail, context)
  }

  @EventLoop private static func act(
    _ action: String,
    _ statement: Statement<Int, MailID?>,
    _ mail: MailID?,
    _ context: RequestContext
  ) async throws(Failure) -> Int {
    let count = try await context.transaction { transaction async throws(Failure) in
      let count = try await transaction.run(statement, mail).first ?? 0
      try await Event(action, detail: ["count": .number(JSONNumber(count))]).record(
        in: transaction,
        app: .deployment,
        context
      )
      return count
    }
    if mail != nil, count == 0 { throw .notFound }
    return count
  }
}

/// A queued mail as operators see it.
package struct ListedMail: Listed {
  package let id: MailID
  package let app: String
  package let kind: String
  /// Nil if the mail cannot be decrypted.
  package private(set) var recipient: String?
  package let attempts: Int
  /// Nil for a mail that was given up.
  package let nextAttemptAt: Timestamp?
  package let lastError: String?
  package let createdAt: Timestamp
  package let expiresAt: Timestamp
  private let sealed: [UInt8]

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    sealed = try row.binary(1)
    app = try row.text(2)
    kind = try row.text(3)
    attempts = try row.int(4)
    nextAttemptAt = try row.time(ifAny: 5)
    lastError = row.text(ifAny: 6)
    createdAt = try row.time(7)
    expiresAt = try row.time(8)
  }

  package var cursor: MailID { id }

  fileprivate mutating func open(by master: MasterKey) {
    recipient = QueuedMail(id, sealed: sealed, master)?.message.to.address
  }
}

/// A due row of the queue.
package struct DueRow: RowDecodable {
  package let id: MailID
  package let sealed: [UInt8]
  package let attempts: Int
  package let app: AppID
  package let kind: String
  /// Whether its token is no longer valid.
  let isVoid: Bool

  package init(from row: Row) throws(DatabaseError) {
    id = MailID(trusted: try row.text(0))
    sealed = try row.binary(1)
    attempts = try row.int(2)
    app = try row.id(3)
    kind = try row.text(4)
    isVoid = try row.bool(5)
  }
}

/// The length and age of the queue.
package struct OutboxState: RowDecodable {
  package let count: Int
  /// The age of the oldest mail; zero if the queue is empty.
  package let age: Duration

  package init(from row: Row) throws(DatabaseError) {
    count = try row.int(0)
    age = .seconds(try row.int(1))
  }
}
