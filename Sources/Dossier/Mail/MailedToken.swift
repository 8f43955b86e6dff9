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
    fileprivate var subject: AppSetting { self == .confirm ? .confirmSubject : .resetSubject }
    fileprivate var text: AppSetting { self == .confirm ? .confirmText : .resetText }
  }

  private let purpose: Purpose
  private let email: String
  private let user: UserID
  private let context: Context
  private let token: Credential

  init(_ purpose: Purpose, to email: String, of user: UserID, _ context: Context) {
    self.purpose = purpose
    self.email = email
    self.user = user
    self.context = context
    token = Credential(purpose.kind, of: user)
  }

  /// Writes it in the place of the one before.
  @EventLoop func write(in transaction: Transaction) async throws(DatabaseError) {
    _ = try await transaction.run(
      MailTokenQueries.write,
      user,
      purpose.rawValue,
      token.hash(context.store.keys.master),
      email,
      Int(purpose.lifetime.components.seconds)
    )
  }

  /// Sends it, when the transaction is through.
  @EventLoop func send() {
    let settings = context.app.settings
    let values = [
      "token": token.text(context.store.keys.master), "email": email, "app": context.app.name,
    ]
    do {
      let template = try MailTemplate(
        subject: settings.text(purpose.subject),
        text: settings.text(purpose.text),
        names: Self.placeholders
      )
      let sender = MailAddress(settings.text(.mailFrom), name: settings.text(.mailFromName))
      context.store.mailer.send(
        try template.message(from: sender, to: MailAddress(email), values: values)
      )
    } catch {
      context.store.mailer.lose("\(error)")
    }
  }

  static let placeholders: Set<String> = ["token", "email", "app"]
}

package enum MailTokenQueries {
  static let write = Statement<NoRow, UserID, String, BinaryBytes, String, Int>(
    "mail_tokens.write",
    """
    insert into mail_tokens (user_id, purpose, token_hash, email, expires_at)
    values ($1, $2, $3, btrim($4), now() + $5::bigint * interval '1 second')
    on conflict (user_id, purpose) do update set token_hash = excluded.token_hash,
      email = excluded.email, expires_at = excluded.expires_at
    """
  )

  /// Uses a token up; the address that it was mailed to, when it was good.
  static let take = Statement<String, UserID, String, BinaryBytes, AppID>(
    "mail_tokens.take",
    """
    delete from mail_tokens t using users u
    where t.user_id = $1 and t.purpose = $2 and t.token_hash = $3 and t.expires_at > now()
      and u.user_id = t.user_id and u.app_id = $4 and u.blocked_at is null
    returning t.email
    """
  )

  package static let all: [any PreparedStatement] = [write, take]
}
