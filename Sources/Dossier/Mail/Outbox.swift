import EventLoop
import JSON
import Outbound
package import Postgres

/// The queue of mail in the database, as operators see it.
package enum Outbox {
  /// The kind of a row that asks for the mail of an address; each other kind is a mail.
  static let requestKind = "request"

  /// How long a mail is tried; one with a token no longer than that is good.
  static let patience = Duration.seconds(86_400)

  package static let pageSize = 100

  /// A page of the mails in the queue, the oldest first.
  ///
  /// - Parameters:
  ///   - cursor: the one after which the list goes on.
  ///   - count: how many at most.
  ///   - context: the context of the request.
  /// - Returns: also those that were given up.
  /// - Throws: `.unavailable`.
  @EventLoop package static func page(
    after cursor: MailID?,
    count: Int,
    _ context: RequestContext
  ) async throws(Failure) -> Page<ListedMail> {
    var mails = try await context.search(OutboxQueries.page, cursor, count)
    for index in mails.indices { mails[index].open(by: context.keys.master) }
    return Page(mails, of: count)
  }

  /// Has mails tried again at once, also such as were given up.
  ///
  /// - Parameters:
  ///   - mail: nil for all.
  ///   - context: the context of the request.
  /// - Returns: how many.
  /// - Throws: `.notFound`, `.unavailable`.
  @EventLoop package static func retry(
    _ mail: MailID?,
    _ context: RequestContext
  ) async throws(Failure) -> Int {
    try await act("mail_retry", OutboxQueries.retry, mail, context)
  }

  /// Takes mails out of the queue; nobody will get them.
  ///
  /// - Parameters:
  ///   - mail: nil for all.
  ///   - context: the context of the request.
  /// - Returns: how many.
  /// - Throws: `.notFound`, `.unavailable`.
  @EventLoop package static func drop(
    _ mail: MailID?,
    _ context: RequestContext
  ) async throws(Failure) -> Int {
    try await act("mail_drop", OutboxQueries.drop, mail, context)
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

/// A mail as an operator's list has it.
package struct ListedMail: Listed {
  package let id: MailID
  package let app: String
  package let kind: String
  /// Nil when what is stored cannot be opened.
  package private(set) var recipient: String?
  package let attempts: Int
  /// Nil for one that was given up.
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

/// A row of the outbox whose turn it is.
struct DueRow: RowDecodable {
  let id: MailID
  let sealed: [UInt8]
  let attempts: Int
  let app: AppID
  let kind: String
  /// Whether it carries a token that is of no use any more.
  let isVoid: Bool

  init(from row: Row) throws(DatabaseError) {
    id = MailID(trusted: try row.text(0))
    sealed = try row.binary(1)
    attempts = try row.int(2)
    app = try row.id(3)
    kind = try row.text(4)
    isVoid = try row.bool(5)
  }
}

/// How much waits.
package struct OutboxState: RowDecodable {
  package let count: Int
  /// Of the oldest; none when nothing waits.
  package let age: Duration

  package init(from row: Row) throws(DatabaseError) {
    count = try row.int(0)
    age = .seconds(try row.int(1))
  }
}
