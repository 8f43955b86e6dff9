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
    /// Makes another address the user's.
    case email
    /// Gives an address back that was the user's.
    case restore

    var kind: Credential.Kind {
      switch self {
      case .confirm: .confirmation
      case .reset: .passwordReset
      case .email: .newAddress
      case .restore: .oldAddress
      }
    }

    var lifetime: Duration {
      switch self {
      case .confirm, .email: .seconds(86_400)
      case .reset: .seconds(3_600)
      case .restore: .seconds(7 * 86_400)
      }
    }

    fileprivate var mail: MailKind {
      switch self {
      case .confirm: .confirm
      case .reset: .reset
      case .email: .email
      case .restore: .restore
      }
    }
  }

  let purpose: Purpose
  let email: String
  let user: UserID
  private let language: String?
  private let context: Context
  private let token: Credential

  /// - Parameters:
  ///   - purpose: what it may be shown for.
  ///   - email: as it is stored of the user, never as somebody typed it who asks for mail.
  ///   - user: whom it is about.
  ///   - language: of the user; nil when it has not said.
  ///   - context: of the request that asked for it.
  init(
    _ purpose: Purpose,
    to email: String,
    of user: UserID,
    in language: String?,
    _ context: Context
  ) {
    self.purpose = purpose
    self.email = email
    self.user = user
    self.language = language
    self.context = context
    token = Credential(purpose.kind, of: user)
  }

  @EventLoop var app: AppID { context.app.id }
  @EventLoop var hash: BinaryBytes { token.hash(context.store.keys.master) }
  var lifetime: Duration { purpose.lifetime }

  /// Queues its mail, and with it the token, which counts from then on.
  ///
  /// It counts beside those before it until the relay has taken its mail, and then takes their place
  /// (`OutboxQueries.sent`): whoever asks for mail that cannot be sent takes nobody's code away.
  @EventLoop func queue() async throws(Failure) {
    if let message { try await context.store.queue(message, with: self) }
  }

  /// As the other, in the transaction that gives reason to it.
  @EventLoop func queue(in transaction: Transaction) async throws(DatabaseError) {
    if let message { try await context.store.queue(message, with: self, in: transaction) }
  }

  @EventLoop private var message: MailMessage? {
    let text = token.text(context.store.keys.master)
    let page = context.app.settings.mailPage
    let values = [
      "token": text, "link": page.isEmpty ? text : "\(page)#\(purpose.rawValue)=\(text)",
    ]
    do {
      return try AppMail.message(purpose.mail, to: email, in: language, context.app, values)
    } catch {
      context.store.mailer.lose("\(error)")
      return nil
    }
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
  /// Queues the mail of a token together with it; it is of no use longer than the token is good.
  static let write = Statement<
    NoRow, UserID, String, BinaryBytes, String, Duration, MailID, AppID, BinaryBytes
  >(
    "mail_tokens.write",
    """
    with token as (
      insert into mail_tokens (user_id, purpose, token_hash, email, expires_at)
      values ($1, $2, $3, btrim($4), now() + $5::interval)
      returning user_id, purpose, token_hash, expires_at
    )
    insert into mails (mail_id, app_id, kind, sealed, user_id, token_hash, expires_at)
    select $6, $7, purpose, $8, user_id, token_hash, expires_at from token
    """
  )

  /// What a token that is good was mailed for; it stays good.
  ///
  /// - Parameter 5: for how long it must be good still.
  static let look = Statement<MailedClaim, UserID, String, BinaryBytes, AppID, Duration>(
    "mail_tokens.look",
    """
    select t.email, email_key(t.email), p.hash
    from mail_tokens t join users u on u.user_id = t.user_id
    left join passwords p on p.user_id = t.user_id
    where t.user_id = $1 and t.purpose = $2 and t.token_hash = $3
      and t.expires_at > now() + $5::interval
      and u.app_id = $4 and u.blocked_at is null
    """
  )

  /// Uses a token up, and the others of its purpose with it; one row when it was good as for `look`.
  ///
  /// Of what gives addresses back only what is younger goes: whoever moved an account on could else use
  /// its own token, and so end that of whom it belonged to first.
  static let take = Statement<String, UserID, String, BinaryBytes, AppID, Duration>(
    "mail_tokens.take",
    """
    with taken as (
      delete from mail_tokens t using users u
      where t.user_id = $1 and t.purpose = $2 and t.token_hash = $3
        and t.expires_at > now() + $5::interval
        and u.user_id = t.user_id and u.app_id = $4 and u.blocked_at is null
      returning t.user_id, t.email, t.expires_at
    ), others as (
      delete from mail_tokens m using taken
      where m.user_id = taken.user_id and m.purpose = $2 and m.token_hash <> $3
        and ($2 <> 'restore' or m.expires_at >= taken.expires_at)
    )
    select email from taken
    """
  )

  package static let all: [any PreparedStatement] = [write, look, take]
}
