import Outbound
package import Postgres
package import Runtime

/// How far the delivery of a mail is.
package enum MailState: String, CaseIterable, Sendable {
  /// The relay is tried again.
  case waiting
  /// The relay has accepted the mail.
  case sent
  /// The relay has refused the mail for good, or did not accept it in time.
  case failed
}

/// A mail as operators see it: in the queue, or after its delivery.
package struct ListedMail: Listed {
  package let id: MailID
  package let app: String
  /// Nil if no user is known.
  package let user: UserID?
  package let kind: String
  /// Nil if the mail cannot be decrypted; masked after the delivery.
  package private(set) var recipient: String?
  package let state: MailState
  package let attempts: Int
  /// Nil if none follows.
  package let nextAttemptAt: Timestamp?
  /// The last answer of the relay, or why it gave none.
  package let answer: String?
  package let createdAt: Timestamp
  /// Nil after the delivery.
  package let expiresAt: Timestamp?
  /// When the delivery ended; nil in the queue.
  package let endedAt: Timestamp?
  private let sealed: [UInt8]?

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    sealed = try row.binary(ifAny: 1)
    app = try row.text(2)
    kind = try row.text(3)
    attempts = try row.int(4)
    nextAttemptAt = try row.time(ifAny: 5)
    answer = row.text(ifAny: 6)
    createdAt = try row.time(7)
    expiresAt = try row.time(ifAny: 8)
    user = row.id(ifAny: 9)
    recipient = row.text(ifAny: 10)
    endedAt = try row.time(ifAny: 12)
    if sealed == nil {
      state = try row.bool(11) ? .sent : .failed
    } else {
      state = nextAttemptAt == nil ? .failed : .waiting
    }
  }

  package var cursor: MailID { id }

  /// Fills the address of a queued mail in.
  mutating func open(by master: MasterKey) {
    guard let sealed else { return }
    recipient = QueuedMail(id, sealed: sealed, master)?.message.to.address
  }

  /// Fills the address in, masked as those after the delivery.
  mutating func mask(by master: MasterKey) {
    open(by: master)
    recipient = recipient.map(MailDelivery.masked)
  }
}
