import Accounts
package import EventLoop
import IdentitySubjects
import JSON
package import Postgres
package import Runtime
import Sessions
import Tenancy

/// Rewrites addresses that an earlier version has stored in another form than the canonical one.
@EventLoop package enum StoredAddresses {
  /// An address that cannot be rewritten, since another user has it in the canonical form.
  package struct Conflict: Sendable {
    package let user: UserID
    /// As it is stored.
    package let address: String
    package let canonical: String
    package let other: UserID
  }

  /// Rewrites the addresses of an app, each in a transaction of its user.
  ///
  /// A run that was interrupted can be repeated.
  /// - Parameters:
  ///   - context: the context of the app.
  ///   - isTrial: whether it only finds what it would rewrite.
  /// - Returns: how many addresses it has rewritten, or would, and those that conflict.
  /// - Throws: `.databaseUnavailable`.
  package static func canonicalize(
    _ context: RequestContext, trial isTrial: Bool = false
  ) async throws(Failure) -> (rewritten: Int, conflicts: [Conflict]) {
    var (count, conflicts) = (0, [Conflict]())
    var cursor = ""
    while true {
      let page = try await context.read(
        StoredAddressQueries.page, context.app.id, cursor, on: .search)
      guard let last = page.last else { return (count, conflicts) }
      cursor = last.subject
      for row in page {
        let key = try await EmailAddress(row.subject, context).key
        if key.hasSameBytes(as: row.subject) { continue }
        let other = try await context.read(StoredAddressQueries.holder, context.app.id, key).first
        guard let other else {
          if !isTrial { try await rewrite(row, as: key, context) }
          count += 1
          continue
        }
        // The user has changed the one form to the other: the former one ends with its reservation.
        if other == row.user { continue }
        conflicts.append(
          Conflict(user: row.user, address: row.subject, canonical: key, other: other)
        )
      }
    }
  }

  /// - Throws: `.emailTaken` if another user has got the address meanwhile.
  private static func rewrite(
    _ row: StoredAddress, as key: String, _ context: RequestContext
  ) async throws(Failure) {
    let (app, old, user) = (context.app.id, row.subject, row.user)
    try await context.transaction { transaction async throws(Failure) in
      _ = transaction.send(SessionsQueries.lockUser, user)
      let stored = try await transaction.run(StoredAddressQueries.stored, user, old).first
      let taken = transaction.send(
        StoredAddressQueries.take, app, key, user, row.identity, row.reservedUntil, row.isAssigned
      )
      _ = transaction.send(SubjectQueries.release, app, .email, old, user)
      if let stored {
        let text = EmailAddress.canonical(stored)
        _ = transaction.send(StoredAddressQueries.setAddress, user, text)
      }
      _ = transaction.send(StoredAddressQueries.setIdentity, user, old, key)
      _ = transaction.send(StoredAddressQueries.setReserved, user, old, key)
      _ = transaction.send(StoredAddressQueries.setTokens, user, old, key)
      if try await taken.rows().isEmpty { throw .emailTaken }
    }
  }
}

/// The subject of an address that may not be canonical.
package struct StoredAddress: RowDecodable {
  let subject: String
  let user: UserID
  let identity: IdentityID
  /// A time of PostgreSQL; nil for the present address of the user.
  let reservedUntil: String?
  let isAssigned: Bool

  package init(from row: Row) throws(DatabaseError) {
    subject = try row.text(0)
    user = try row.id(1)
    identity = try row.id(2)
    reservedUntil = row.text(ifAny: 3)
    isAssigned = try row.bool(4)
  }
}

package enum StoredAddressQueries {
  /// Returns addresses beyond ASCII or with an encoded domain, by their keys.
  ///
  /// Served by the primary key.
  /// - Parameter 2: the last address of the previous page.
  static let page = Statement<StoredAddress, AppID, String>(
    "stored_addresses.page",
    """
    select subject, user_id, identity_id, reserved_until::text, assigned from identity_subjects
    where app_id = $1 and provider = 'email' and subject > $2
      and (subject ~ '[^ -~]' or subject ~ '[@.]xn--')
    order by subject limit 1000
    """)

  /// Returns the user who has an address, or for whom it is reserved.
  static let holder = Statement<UserID, AppID, String>(
    "stored_addresses.holder",
    """
    select user_id from identity_subjects
    where app_id = $1 and provider = 'email' and subject = $2
    """)

  static let stored = Statement<String, UserID, String>(
    "stored_addresses.stored",
    "select email from users where user_id = $1 and email_key(email) = $2"
  )

  /// Gives an address to a user; returns no row if it is taken.
  static let take = Statement<String, AppID, String, UserID, IdentityID, String?, Bool>(
    "stored_addresses.take",
    """
    insert into identity_subjects (
      app_id, provider, subject, user_id, identity_id, reserved_until, assigned)
    values ($1, 'email', $2, $3, $4, $5::timestamptz, $6)
    on conflict (app_id, provider, subject) do nothing returning subject
    """)

  static let setAddress = Statement<NoRow, UserID, String>(
    "stored_addresses.set_address",
    """
    update users set email = $2, version = version + 1, updated_at = now() where user_id = $1
    """)

  static let setIdentity = Statement<NoRow, UserID, String, String>(
    "stored_addresses.set_identity",
    """
    update identities set subject = $3
    where user_id = $1 and provider in ('password', 'linked-password', 'email') and subject = $2
    """)

  static let setReserved = Statement<NoRow, UserID, String, String>(
    "stored_addresses.set_reserved",
    """
    update additional_subjects set subject = $3
    where user_id = $1 and provider = 'email' and subject = $2
    """)

  static let setTokens = Statement<NoRow, UserID, String, String>(
    "stored_addresses.set_tokens",
    "update mail_tokens set email = $3 where user_id = $1 and email_key(email) = $2"
  )
}
