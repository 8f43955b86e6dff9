import EventLoop
import Outbound
package import Postgres

/// What is mailed to a user, to be shown again by whoever reads that mail.
struct MailedToken {
  enum Purpose: String, Sendable {
    /// Proves that the address is the user's.
    case confirm
    /// Lets its reader choose a new password.
    case reset

    var kind: Credential.Kind { self == .confirm ? .confirmation : .passwordReset }
    var lifetime: Duration { self == .confirm ? .seconds(86_400) : .seconds(3_600) }
    fileprivate var mail: AppMail { self == .confirm ? .confirmation : .reset }
  }

  private let purpose: Purpose
  private let email: String
  private let user: UserID
  private let context: Context
  private let token: Credential

  /// - Parameters:
  ///   - purpose: what it may be shown for.
  ///   - email: as it is stored of the user, never as somebody typed it who asks for mail.
  ///   - user: whom it is about.
  ///   - context: of the request that asked for it.
  init(_ purpose: Purpose, to email: String, of user: UserID, _ context: Context) {
    self.purpose = purpose
    self.email = email
    self.user = user
    self.context = context
    token = Credential(purpose.kind, of: user)
  }

  /// Sends it.
  ///
  /// It counts beside those before it until its mail was accepted for sending, and then takes their
  /// place: whoever asks for mail that cannot be sent takes nobody's code away.
  @EventLoop func send() async throws(Failure) {
    let master = context.store.keys.master
    let message: MailMessage
    do {
      let values = ["token": token.text(master)]
      message = try purpose.mail.message(to: email, context.app, values)
    } catch {
      return context.store.mailer.lose("\(error)")
    }
    let hash = token.hash(master)
    let seconds = Int(purpose.lifetime.components.seconds)
    _ = try await context.store.write(
      MailTokenQueries.write,
      user,
      purpose.rawValue,
      hash,
      email,
      seconds
    )
    guard await context.store.mailer.deliver(message) else { return }
    _ = try await context.store.write(MailTokenQueries.replace, user, purpose.rawValue, hash)
  }
}

/// What a token was mailed for, and to whom.
struct MailedClaim: RowDecodable {
  /// As it is stored of the user.
  let email: String
  /// Of the address.
  let key: String
  /// The user's password; nil when it has none.
  let hash: String?

  init(from row: Row) throws(DatabaseError) {
    email = try row.text(0)
    key = try row.text(1)
    hash = row.text(ifAny: 2)
  }
}

package enum MailTokenQueries {
  static let write = Statement<NoRow, UserID, String, BinaryBytes, String, Int>(
    "mail_tokens.write",
    """
    insert into mail_tokens (user_id, purpose, token_hash, email, expires_at)
    values ($1, $2, $3, btrim($4), now() + $5::bigint * interval '1 second')
    """
  )

  /// Takes away those that were written before.
  static let replace = Statement<NoRow, UserID, String, BinaryBytes>(
    "mail_tokens.replace",
    """
    delete from mail_tokens old using mail_tokens new
    where new.user_id = $1 and new.purpose = $2 and new.token_hash = $3
      and old.user_id = $1 and old.purpose = $2 and old.expires_at < new.expires_at
    """
  )

  /// What a token that is good was mailed for; it stays good.
  ///
  /// - Parameter 5: for how many seconds it must be good still.
  static let look = Statement<MailedClaim, UserID, String, BinaryBytes, AppID, Int>(
    "mail_tokens.look",
    """
    select t.email, email_key(t.email), p.hash
    from mail_tokens t join users u on u.user_id = t.user_id
    left join passwords p on p.user_id = t.user_id
    where t.user_id = $1 and t.purpose = $2 and t.token_hash = $3
      and t.expires_at > now() + $5::bigint * interval '1 second'
      and u.app_id = $4 and u.blocked_at is null
    """
  )

  /// Uses a token up, and the others of its purpose with it; one row when it was good as for `look`.
  static let take = Statement<String, UserID, String, BinaryBytes, AppID, Int>(
    "mail_tokens.take",
    """
    with taken as (
      delete from mail_tokens t using users u
      where t.user_id = $1 and t.purpose = $2 and t.token_hash = $3
        and t.expires_at > now() + $5::bigint * interval '1 second'
        and u.user_id = t.user_id and u.app_id = $4 and u.blocked_at is null
      returning t.user_id, t.email
    ), others as (
      delete from mail_tokens m using taken
      where m.user_id = taken.user_id and m.purpose = $2 and m.token_hash <> $3
    )
    select email from taken
    """
  )

  package static let all: [any PreparedStatement] = [write, replace, look, take]
}
