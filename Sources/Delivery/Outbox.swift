import EventLoop
import FoundationEssentials
import JSON
import Localization
package import Outbound
package import Postgres
package import Runtime

/// The administration of the mail queue in the database.
package enum Outbox {
  /// The kind of rows that request a mail for an address; rows of other kinds are mails.
  package static let requestKind = "request"

  /// How long delivery is attempted; for a mail with a token, until the token expires.
  package static let patience = Duration.seconds(86_400)

  /// Returns a page of the queued mails, oldest first.
  ///
  /// - Parameters:
  ///   - app: the app; nil for all.
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: the size of the page.
  ///   - context: the context of the request.
  /// - Returns: the mails, including abandoned ones.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func page(
    in app: AppID?, after cursor: MailID?, count: Int, _ context: RequestContext
  ) async throws(Failure) -> Page<ListedMail> {
    var mails = try await context.read(OutboxQueries.page, cursor, count, app, on: .search)
    for index in mails.indices { mails[index].open(by: context.keys.master) }
    return Page(mails, of: count)
  }

  /// Returns a page of the mails in a state, newest first.
  ///
  /// - Parameters:
  ///   - state: the state.
  ///   - app: the app; nil for all.
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: the size of the page.
  ///   - context: the context of the request.
  /// - Returns: the mails; the addresses of those that are not in the queue are masked.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func page(
    of state: MailState, in app: AppID?, after cursor: MailID?, count: Int,
    _ context: RequestContext
  ) async throws(Failure) -> Page<ListedMail> {
    var mails: [ListedMail] = []
    if state != .sent {
      mails += try await context.read(
        OutboxQueries.newest, cursor, count, app, state == .waiting, on: .search)
      for index in mails.indices { mails[index].open(by: context.keys.master) }
    }
    if state != .waiting {
      mails += try await context.read(
        MailDeliveryQueries.page, cursor, count, app, state == .sent, on: .search)
    }
    return Page(Array(mails.sorted { $0.id.text > $1.id.text }.prefix(count)), of: count)
  }

  /// Returns the mails of the app that the relay has not accepted at the first attempt.
  ///
  /// They are at most 1,000, in no order.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func failed(
    _ context: RequestContext
  ) async throws(Failure) -> [ListedMail] {
    var mails = try await context.read(OutboxQueries.failed, context.app.id, on: .search)
    for index in mails.indices { mails[index].open(by: context.keys.master) }
    return mails
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
    while case let ids = try await context.read(OutboxQueries.ids, last, on: .exclusive),
      !ids.isEmpty
    {
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

/// The key of a row of the queue, with what its delivery depends on.
package struct QueuedRow: RowDecodable {
  let id: MailID
  let app: AppID
  /// The id of the receiver, such as a client; nil for the relay.
  let receiver: String?
  /// The user whom the mail concerns; nil if none is known.
  let user: UserID?
  /// The token in the mail; nil for a row without one.
  let token: MailedToken?

  struct MailedToken {
    let user: UserID
    let purpose: String
    let hash: BinaryBytes
  }

  init(
    _ id: MailID, of app: AppID, about user: UserID? = nil, to receiver: String? = nil,
    _ token: MailedToken? = nil
  ) {
    (self.id, self.app, self.receiver, self.token) = (id, app, receiver, token)
    self.user = token?.user ?? user
  }

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    app = try row.id(1)
    receiver = row.text(ifAny: 2)
    let (user, purpose): (UserID?, String) = (row.id(ifAny: 3), try row.text(4))
    let hash = try row.binary(ifAny: 5)
    self.user = user
    token = user.flatMap { user in
      hash.map { MailedToken(user: user, purpose: purpose, hash: BinaryBytes($0)) }
    }
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
  let createdAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    id = MailID(trusted: try row.text(0))
    sealed = try row.binary(1)
    attempts = try row.int(2)
    app = try row.id(3)
    kind = try row.text(4)
    wasVoid = try row.bool(5)
    createdAt = try row.time(6)
  }
}

/// A row that was deleted undelivered.
struct ExpiredMail: RowDecodable {
  /// The row in words.
  let description: String
  private let id: MailID
  private let kind: String
  private let attempts: Int
  private let app: AppID
  private let user: UserID?
  private let sealed: [UInt8]
  private let lastError: String?
  private let createdAt: Timestamp

  init(from row: Row) throws(DatabaseError) {
    (id, kind, attempts) = (try row.id(0), try row.text(1), try row.int(2))
    (app, user, sealed) = (try row.id(3), row.id(ifAny: 4), try row.binary(5))
    (lastError, createdAt) = (row.text(ifAny: 6), try row.time(7))
    description = "\(kind) \(id), after \(attempts) attempts"
  }

  /// Returns the failed delivery; nil for a row that is no mail.
  func delivery(_ master: MasterKey) -> MailDelivery? {
    guard let mail = QueuedMail(id, sealed: sealed, master) else { return nil }
    return MailDelivery(
      mail: mail, app: app, user: user, kind: kind, attempts: attempts, createdAt: createdAt,
      isAccepted: false, answer: lastError)
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

/// A mail before or after its storage in the queue.
package struct QueuedMail: Sendable {
  package let id: MailID
  /// The message, without its HTML part.
  package let message: MailMessage
  /// The language tag of the text.
  package let language: String
  /// The code, the token or the link of the button in the text; nil if it has none.
  package let secret: String?
  /// The label of the button that opens the link; nil if the text has none.
  package let label: String?

  /// Creates a new mail.
  init(_ message: MailMessage, language: String, secret: String?, label: String?) {
    id = MailID()
    self.message = message
    (self.language, self.secret, self.label) = (language, secret, label)
  }

  /// Reads a stored mail; returns nil if it cannot be decrypted.
  package init?(_ id: MailID, sealed: [UInt8], _ master: MasterKey) {
    guard let json = master.openedJSON(sealed, as: Self.name(id)),
      let from = json["from"]?.string,
      let to = json["to"]?.string, let subject = json["subject"]?.string,
      let text = json["text"]?.string, let local = json["id"]?.string,
      let date = json["date"]?.number?.int,
      // The same message id and date, so that the recipient can recognize a duplicate.
      let message = try? MailMessage(
        from: MailAddress(from, name: json["from_name"]?.string), to: MailAddress(to),
        subject: subject, text: text, id: local, date: date
      )
    else { return nil }
    self.id = id
    self.message = message
    // A mail of an earlier version has no language.
    language = json["language"]?.string ?? Languages.english
    secret = json["secret"]?.string
    label = json["label"]?.string
  }

  package func sealed(_ master: MasterKey) throws(Failure) -> BinaryBytes {
    let json: JSON = [
      "from": .string(message.from.address), "from_name": .string(message.from.name ?? ""),
      "to": .string(message.to.address), "subject": .string(message.subject),
      "text": .string(message.text),
      "id": .string(String(message.id.prefix { $0 != "@" })),
      "date": .number(JSONNumber(message.date)), "language": .string(language),
      "secret": secret.map(JSON.string) ?? .null, "label": label.map(JSON.string) ?? .null,
    ]
    return BinaryBytes(try master.sealed(json.serialized(), as: Self.name(id)))
  }

  /// Returns the name under which the content of a mail is sealed.
  package static func name(_ id: MailID) -> String { "mail \(id)" }
}

package typealias MailID = ID<QueuedMail>

package enum OutboxQueries {
  /// - Parameter 6: the user whom the mail concerns; null if none is known.
  /// - Parameter 7: the hash of the token in the mail; null without one.
  /// - Parameter 8: the receiver; null for the relay.
  package static let add = Statement<
    NoRow, MailID, AppID, String, BinaryBytes, Duration, UserID?, BinaryBytes?, String?
  >(
    "outbox.add",
    """
    insert into mail_outbox
      (mail_id, app_id, kind, sealed, expires_at, user_id, token_hash, receiver)
    values ($1, $2, $3, $4, now() + $5::interval, $6, $7, $8)
    """)

  /// Returns due rows of all shards, oldest first; each worker that reads them then claims some.
  ///
  /// Served by `mail_outbox_by_turn`.
  /// - Parameter 2: whether the rows have receivers, or are for the relay.
  /// - Parameters 3 and 4: apps and receivers whose rows are left out.
  static let due = Statement<QueuedRow, Int, Bool, TextArray, TextArray>(
    "outbox.due",
    """
    select mail_id, app_id, receiver, user_id, kind, token_hash from mail_outbox
    where (receiver is not null) = $2 and next_attempt_at <= now() and expires_at > now()
      and app_id <> all ($3::text[]) and (receiver is null or receiver <> all ($4::text[]))
    order by next_attempt_at limit $1::bigint
    """)

  /// Claims a due row for one worker, for longer than its delivery may take.
  ///
  /// Returns no row if it is not due, as after the claim of another worker. If the worker dies, its
  /// claim expires and other workers continue.
  /// - Parameter 2: the last error of a mail without a valid token.
  static let claim = Statement<DueRow, MailID, String>(
    "outbox.claim",
    """
    update mail_outbox set attempts = attempts + 1, next_attempt_at = now() + interval '3 minutes'
    where mail_id = $1 and next_attempt_at <= now() and expires_at > now()
    returning mail_id, sealed, attempts::bigint, app_id, kind,
      last_error is not distinct from $2, created_at
    """)

  /// Postpones a mail; null gives it up.
  static let putOff = Statement<NoRow, MailID, Duration?, String>(
    "outbox.put_off",
    """
    update mail_outbox set next_attempt_at = now() + $2::interval, last_error = $3
    where mail_id = $1
    """)

  /// Deletes a request before its mail replaces it; returns its id if it existed.
  package static let takeRequest = Statement<String, MailID>(
    "outbox.take_request",
    "delete from mail_outbox where mail_id = $1 and kind = 'request' returning mail_id"
  )

  static let remove = Statement<NoRow, MailID>(
    "outbox.remove", "delete from mail_outbox where mail_id = $1"
  )

  /// Returns expired rows of all shards.
  ///
  /// Served by `mail_outbox_by_end`.
  static let expired = Statement<String>(
    "outbox.expired", "select mail_id from mail_outbox where expires_at < now() limit 1000"
  )

  /// Deletes an expired row, and returns it, unless another worker has deleted it.
  static let expire = Statement<ExpiredMail, String>(
    "outbox.expire",
    """
    delete from mail_outbox where mail_id = $1 and expires_at < now()
    returning mail_id, kind, attempts::bigint, app_id, user_id, sealed, last_error, created_at
    """)

  /// Returns the number and age of the oldest 10,000 rows.
  ///
  /// Served by the primary key.
  static let state = Statement<OutboxState>(
    "outbox.state",
    """
    select count(*), coalesce(extract(epoch from now() - min(created_at)
      filter (where next_attempt_at is not null)), 0)::bigint
    from (
      select created_at, next_attempt_at from mail_outbox order by mail_id limit 10000) oldest
    """)

  /// The columns of a `ListedMail`.
  private static let columns: SQL = """
    m.mail_id, m.sealed, a.name, m.kind, m.attempts, m.next_attempt_at, m.last_error,
      m.created_at, m.expires_at, m.user_id, null::text, false, null::timestamptz
    """

  /// Served by the primary key, whose ids are in the order of creation.
  ///
  /// - Parameter 3: the app; null for all.
  /// - Parameter 4: whether to return the mails that wait, or those that were given up.
  static let newest = Statement<ListedMail, MailID?, Int, AppID?, Bool>(
    "outbox.newest",
    """
    select \(columns)
    from mail_outbox m join apps a on a.app_id = m.app_id
    where ($1::text is null or m.mail_id < $1::text) and ($3::text is null or m.app_id = $3::text)
      and (m.next_attempt_at is not null) = $4 and m.receiver is null
    order by m.mail_id desc limit $2::bigint
    """)

  /// Returns the queued mails that concern a user, of all shards.
  ///
  /// Served by `mail_outbox_by_user`.
  static let ofUser = Statement<ListedMail, UserID, AppID>(
    "outbox.of_user",
    """
    select \(columns)
    from mail_outbox m join apps a on a.app_id = m.app_id
    where m.user_id = $1 and m.app_id = $2
    order by m.mail_id desc limit 100
    """)

  /// Served by the primary key, whose ids are in the order of creation.
  static let page = Statement<ListedMail, MailID?, Int, AppID?>(
    "outbox.page",
    """
    select \(columns)
    from mail_outbox m join apps a on a.app_id = m.app_id
    where ($1::text is null or m.mail_id > $1::text) and ($3::text is null or m.app_id = $3::text)
    order by m.mail_id limit $2
    """)

  /// Served by `mail_outbox_by_app`.
  static let failed = Statement<ListedMail, AppID>(
    "outbox.failed",
    """
    select \(columns)
    from mail_outbox m join apps a on a.app_id = m.app_id
    where m.app_id = $1 and m.receiver is null and m.last_error is not null
    limit 1000
    """)

  /// Returns the ids of the rows of all shards after `$1`.
  static let ids = Statement<MailID, MailID?>(
    "outbox.ids",
    """
    select mail_id from mail_outbox where mail_id > coalesce($1::text, '')
    order by mail_id limit 1000
    """)

  static let retry = Statement<Int, MailID>(
    "outbox.retry", "update mail_outbox set next_attempt_at = now() where mail_id = $1 returning 1"
  )

  static let drop = Statement<Int, MailID>(
    "outbox.drop", "delete from mail_outbox where mail_id = $1 returning 1"
  )
}
