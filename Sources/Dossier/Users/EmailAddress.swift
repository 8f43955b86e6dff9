import EventLoop
import JSON
import Notation
import Outbound
package import Postgres

/// An address of mail as somebody typed it.
struct EmailAddress {
  /// What all ways to type the address have in common, by the database's `email_key`.
  ///
  /// Whatever is counted or found by an address goes by this and nothing else: a second fold in
  /// Swift would let a form pass a guard that the database takes for the same address.
  let key: String

  init(key: String) { self.key = key }

  /// Asks the database for the key.
  ///
  /// - Throws: `.unavailable`.
  @EventLoop init(_ text: String, _ context: Context) async throws(Failure) {
    try await self.init(text, context.store)
  }

  /// As the other, where there is no request of a user.
  @EventLoop init(_ text: String, _ store: Store) async throws(Failure) {
    let rows = try await store.read(EmailAddressQueries.key, text)
    key = try rows.first.orUnforeseen("the key of an address")
  }

  /// What is stored of a form that was typed: it, unless mail can be sent to the key alone.
  ///
  /// Codes go to the first who claims an address: one who did so in full-width letters, to which no
  /// mail can be sent, would keep them from all others.
  func stored(_ typed: String) -> String { Self.stored(typed, key) }

  /// The same of an address whose key is known.
  static func stored(_ typed: String, _ key: String) -> String {
    MailAddress.fault(in: typed) != nil && MailAddress.fault(in: key) == nil ? key : typed
  }

  /// Of the passwords that come with this address.
  @EventLoop func passwordSalt(_ context: Context) -> PasswordSalt {
    context.store.keys.master.passwordSalt(context.app.id, key)
  }

  /// Has those who come to claim the address, or to prove it, follow one another: from here on the
  /// transaction sees all who do.
  ///
  /// It comes before all else of users that a transaction locks.
  @EventLoop func lock(
    in app: AppID,
    _ store: Store,
    _ transaction: Transaction
  ) async throws(DatabaseError) {
    try await Self.lock([key], in: app, store, transaction)
  }

  /// As the other, for the keys of many addresses, which are always taken in one order.
  ///
  /// There need be nothing of an address to lock: it takes a row of `attempts`, which counts none.
  @EventLoop static func lock(
    _ keys: [String],
    in app: AppID,
    _ store: Store,
    _ transaction: Transaction
  ) async throws(DatabaseError) {
    guard !keys.isEmpty else { return }
    let subjects = keys.map { key in
      JSON.string(
        "\\x" + String(hexadecimal: Allowance.subject("claims", [key], store.keys.master))
      )
    }
    _ = try await transaction.run(EmailAddressQueries.lock, app, Self.list(subjects))
  }

  /// The keys of addresses, in no order.
  @EventLoop static func keys(
    of addresses: [String],
    _ transaction: Transaction
  ) async throws(DatabaseError) -> [String] {
    guard !addresses.isEmpty else { return [] }
    return try await transaction.run(
      EmailAddressQueries.keys,
      list(addresses.map { .string($0) })
    )
  }

  private static func list(_ texts: [JSON]) -> TextBytes {
    TextBytes(JSON.array(texts).serialized())
  }
}

extension DatabaseError {
  /// Undoes a transaction that has locked an address and finds that others were there first.
  static let overtaken = DatabaseError(
    .undone,
    "somebody came first",
    constraint: "registered_meanwhile"
  )
}

package enum EmailAddressQueries {
  static let key = Statement<String, String>("email_addresses.key", "select email_key($1)")

  static let keys = Statement<String, TextBytes>(
    "email_addresses.keys",
    "select distinct email_key(a.typed) from jsonb_array_elements_text($1::jsonb) as a (typed)"
  )

  static let lock = Statement<NoRow, AppID, TextBytes>(
    "email_addresses.lock",
    """
    insert into attempts (app_id, subject, clear_at)
    select distinct on (subject) $1, subject, now()
    from (select s::bytea from jsonb_array_elements_text($2::jsonb) s) as given (subject)
    order by subject
    on conflict (app_id, subject) do update set clear_at = excluded.clear_at
    """
  )

  package static let all: [any PreparedStatement] = [key, keys, lock]
}
