import EventLoop
import Outbound
import Postgres
package import Runtime

/// Stores how the delivery of each mail has ended: the time, the state, and the relay's last answer.
///
/// Rows have neither the text nor a secret of a mail. The maintenance deletes them after seven days.
/// They are a convenience: a mail is sent also if its row cannot be stored.
package enum MailDeliveries {
  /// The most mails of a user that are listed.
  package static let most = 100

  /// Returns the newest mails of a user: those in the queue, and those whose delivery has ended.
  ///
  /// - Parameters:
  ///   - user: the user; nil to find only mails by their address.
  ///   - keys: the comparison keys of addresses, whose mails to no known user count too.
  ///   - context: the context of the app.
  /// - Returns: at most `most` mails, the newest first, with masked addresses.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func list(
    of user: UserID?, at keys: [String], _ context: RequestContext
  ) async throws(Failure) -> [ListedMail] {
    var found: [ListedMail] = []
    let app = context.app.id
    if let user {
      found += try await context.read(OutboxQueries.ofUser, user, app, on: .search)
      for index in found.indices { found[index].mask(by: context.keys.master) }
      found += try await context.read(MailDeliveryQueries.ofUser, user, app)
    }
    for key in keys {
      let hash = context.keys.master.hash(ofRecipient: key)
      found += try await context.read(MailDeliveryQueries.toAddress, app, hash)
    }
    return Array(found.sorted { $0.id.text > $1.id.text }.prefix(most))
  }

  /// Deletes the rows of mails to an address whose user was not known.
  @EventLoop package static func forget(address key: String, in transaction: Transaction) {
    let hash = transaction.context.keys.master.hash(ofRecipient: key)
    _ = transaction.send(MailDeliveryQueries.forget, transaction.app.id, hash)
  }
}

/// The end of the delivery of a mail.
struct MailDelivery {
  let mail: QueuedMail
  let app: AppID
  let user: UserID?
  let kind: String
  let attempts: Int
  let createdAt: Timestamp
  /// Whether the relay has accepted the mail.
  let isAccepted: Bool
  let answer: String?

  /// Returns the statement that stores the row.
  @EventLoop func call(_ master: MasterKey) -> PendingQuery {
    let address = mail.message.to.address
    let values = (
      mail.id, app, kind, Self.masked(address), master.hash(ofRecipient: address.lowercased()),
      attempts, isAccepted, answer.map(Self.withoutAddresses), createdAt
    )
    guard let user else {
      return PendingQuery(
        MailDeliveryQueries.add, values.0, values.1, values.2, values.3, values.4, values.5,
        values.6, values.7, values.8)
    }
    return PendingQuery(
      MailDeliveryQueries.addOfUser, values.0, values.1, values.2, values.3, values.4, values.5,
      values.6, values.7, values.8, user)
  }

  /// Returns an address with its first character and its domain, such as `a…@example.com`.
  static func masked(_ address: String) -> String {
    guard let at = address.lastIndex(of: "@") else { return "…" }
    return "\(address[..<at].count > 1 ? String(address.prefix(1)) : "")…\(address[at...])"
  }

  /// Returns the answer of a relay without words that have an `@`: relays repeat addresses.
  static func withoutAddresses(_ answer: String) -> String {
    answer.split(separator: " ", omittingEmptySubsequences: false)
      .map { $0.utf8.contains(UInt8(ascii: "@")) ? "…" : String($0) }.joined(separator: " ")
  }
}

extension MasterKey {
  /// Returns a keyed hash of the comparison key of an address that got a mail.
  fileprivate func hash(ofRecipient key: String) -> BinaryBytes {
    BinaryBytes(attemptSubject(Array("mail \(key)".utf8)))
  }
}

package enum MailDeliveryQueries {
  /// Stores the delivery of a mail to no known user: the id of the app takes the place of the user.
  static let add = Statement<
    NoRow, MailID, AppID, String, String, BinaryBytes, Int, Bool, String?, Timestamp
  >(
    "mail_deliveries.add",
    """
    insert into mail_deliveries (user_id, mail_id, app_id, kind, recipient, recipient_hash, attempts,
      accepted, answer, created_at)
    values ($2, $1, $2, $3, $4, $5, $6::bigint, $7, $8, $9)
    on conflict (user_id, mail_id) do nothing
    """)

  /// Stores the delivery of a mail to a user who is not deleted.
  static let addOfUser = Statement<
    NoRow, MailID, AppID, String, String, BinaryBytes, Int, Bool, String?, Timestamp, UserID
  >(
    "mail_deliveries.add_of_user",
    """
    insert into mail_deliveries (user_id, mail_id, app_id, kind, recipient, recipient_hash, attempts,
      accepted, answer, created_at)
    select u.user_id, $1::text, $2::text, $3::text, $4::text, $5::bytea, $6::bigint, $7::boolean,
      $8::text, $9::timestamptz
    from users u where u.user_id = $10
    on conflict (user_id, mail_id) do nothing
    """)

  /// The columns of a `ListedMail`.
  private static let columns: SQL = """
    d.mail_id, null::bytea, a.name, d.kind, d.attempts, null::timestamptz, d.answer, d.created_at,
      null::timestamptz, nullif(d.user_id, d.app_id), d.recipient, d.accepted, d.ended_at
    """

  /// Served by `mail_deliveries_by_id` and `mail_deliveries_by_app`.
  static let page = Statement<ListedMail, MailID?, Int, AppID?, Bool>(
    "mail_deliveries.page",
    """
    select \(columns)
    from mail_deliveries d join apps a on a.app_id = d.app_id
    where ($1::text is null or d.mail_id < $1::text) and ($3::text is null or d.app_id = $3::text)
      and d.accepted = $4
    order by d.mail_id desc limit $2::bigint
    """)

  /// Served by the primary key.
  static let ofUser = Statement<ListedMail, UserID, AppID>(
    "mail_deliveries.of_user",
    """
    select \(columns)
    from mail_deliveries d join apps a on a.app_id = d.app_id
    where d.user_id = $1 and d.app_id = $2
    order by d.mail_id desc limit 100
    """)

  /// Returns mails to an address, whose user was not known.
  ///
  /// Served by `mail_deliveries_by_recipient`.
  static let toAddress = Statement<ListedMail, AppID, BinaryBytes>(
    "mail_deliveries.to_address",
    """
    select \(columns)
    from mail_deliveries d join apps a on a.app_id = $1
    where d.user_id = $1 and d.app_id = $1 and d.recipient_hash = $2
    order by d.mail_id desc limit 100
    """)

  static let forget = Statement<NoRow, AppID, BinaryBytes>(
    "mail_deliveries.forget",
    "delete from mail_deliveries where user_id = $1 and recipient_hash = $2"
  )
}
