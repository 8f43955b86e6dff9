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

  /// Returns a page of the queued mails, oldest first.
  ///
  /// - Parameters:
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: the size of the page.
  ///   - context: the context of the request.
  /// - Returns: the mails, including abandoned ones.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func page(
    after cursor: MailID?, count: Int, _ context: RequestContext
  ) async throws(Failure) -> Page<ListedMail> {
    var mails = try await context.search(OutboxQueries.page, cursor, count)
    for index in mails.indices { mails[index].open(by: context.keys.master) }
    return Page(mails, of: count)
  }

  /// Retries mails at once, including abandoned ones.
  ///
  /// - Parameters:
  ///   - mail: the mail; nil for all.
  ///   - context: the context of the request.
  /// - Returns: the number of mails.
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func retry(
    _ mail: MailID?, _ context: RequestContext
  ) async throws(Failure) -> Int {
    if let mail {
      try await act("mail_retry", OutboxQueries.retry, mail, context)
      return 1
    }
    var count = 0
    var last: MailID?
    while case let ids = try await context.readLatest(OutboxQueries.ids, last), !ids.isEmpty {
      let calls = ids.map { PendingQuery(OutboxQueries.retry, $0) }
      count += try await context.write(calls, returning: Int.self).count
      last = ids.last
    }
    try await Event("mail_retry", detail: detail(of: count)).record(app: .deployment, context)
    return count
  }

  /// Deletes a mail from the queue without delivery.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func drop(
    _ mail: MailID, _ context: RequestContext
  ) async throws(Failure) {
    try await act("mail_drop", OutboxQueries.drop, mail, context)
  }

  @EventLoop private static func act(
    _ action: String, _ statement: Statement<Int, MailID>, _ mail: MailID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.act(action) { transaction async throws(Failure) in
      try await transaction.run(statement, mail).first
    } recording: { count in
      (.deployment, detail(of: count))
    }
  }

  private static func detail(of count: Int) -> JSON { ["count": .number(JSONNumber(count))] }
}

/// A queued mail as operators see it.
package struct ListedMail: Listed {
  package let id: MailID
  package let app: String
  package let kind: String
  /// Nil if the mail cannot be decrypted.
  package private(set) var recipient: String?
  package let attempts: Int
  /// Nil for an abandoned mail.
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

/// The key of a row of the queue, with what its delivery depends on.
package struct QueuedRow: RowDecodable {
  let id: MailID
  let app: AppID
  /// The id of the receiver, such as a client; nil for the relay.
  let receiver: String?
  /// The token in the mail; nil for a row without one.
  let token: MailedToken?

  struct MailedToken {
    let user: UserID
    let purpose: String
    let hash: BinaryBytes
  }

  init(_ id: MailID, of app: AppID, to receiver: String? = nil, _ token: MailedToken? = nil) {
    (self.id, self.app, self.receiver, self.token) = (id, app, receiver, token)
  }

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    app = try row.id(1)
    receiver = row.text(ifAny: 2)
    let purpose = try row.text(4)
    guard let hash = try row.binary(ifAny: 5) else {
      token = nil
      return
    }
    token = MailedToken(user: try row.id(3), purpose: purpose, hash: BinaryBytes(hash))
  }
}

extension QueuedRow.MailedToken {
  @EventLoop func call<Row>(
    of statement: Statement<Row, UserID, String, BinaryBytes>
  ) -> PendingQuery {
    PendingQuery(statement, user, purpose, hash)
  }
}

/// A row of the queue that this worker has claimed.
package struct DueRow: RowDecodable {
  package let id: MailID
  package let sealed: [UInt8]
  package let attempts: Int
  package let app: AppID
  package let kind: String
  /// Whether the mail had no valid token at the attempt before.
  let wasVoid: Bool

  package init(from row: Row) throws(DatabaseError) {
    id = MailID(trusted: try row.text(0))
    sealed = try row.binary(1)
    attempts = try row.int(2)
    app = try row.id(3)
    kind = try row.text(4)
    wasVoid = try row.bool(5)
  }
}

/// A row that was deleted undelivered, in words.
struct ExpiredMail: RowDecodable {
  let description: String

  init(from row: Row) throws(DatabaseError) {
    description = "\(try row.text(1)) \(try row.text(0)), after \(try row.int(2)) attempts"
  }
}

/// The length and age of the queue.
package struct OutboxState: RowDecodable {
  /// At most 10,000.
  package let count: Int
  /// The age of the oldest unsent mail; zero if the queue is empty.
  package let age: Duration

  package init(from row: Row) throws(DatabaseError) {
    count = try row.int(0)
    age = .seconds(try row.int(1))
  }
}
