package import Runtime
import EventLoop
package import Postgres

/// A token that is mailed to a user, and presented by the mail's recipient.
package struct EmailToken {
  package enum Purpose: String, CaseIterable, Sendable {
    /// Verifies the address.
    case verify
    /// Lets the recipient choose a new password.
    case reset
    /// Restores a former address of the user, to which it goes.
    case restore

    package var kind: Credential.Kind {
      switch self {
      case .verify: .verification
      case .reset: .passwordReset
      case .restore: .addressRestore
      }
    }

    package var lifetime: Duration {
      switch self {
      case .verify: .seconds(86_400)
      case .reset: .seconds(3_600)
      case .restore: .seconds(7 * 86_400)
      }
    }
  }

  package let purpose: Purpose
  package let email: String
  package let user: UserID
  private let language: String?
  private let context: RequestContext
  private let token: Credential

  /// - Parameters:
  ///   - purpose: the purpose of the token.
  ///   - email: the address as stored for the user, never as the client typed it.
  ///   - user: the user.
  ///   - language: the language of the user; nil if unknown.
  ///   - context: the context of the request.
  package init(
    _ purpose: Purpose, to email: String, of user: UserID, in language: String?,
    _ context: RequestContext
  ) {
    self.purpose = purpose
    self.email = email
    self.user = user
    self.language = language
    self.context = context
    token = Credential(purpose.kind, of: user)
  }

  @EventLoop package var hash: BinaryBytes { token.hash(context.keys.master) }
  package var lifetime: Duration { purpose.lifetime }

  /// Queues its mail and stores the token, which is valid at once.
  ///
  /// The newest 50 tokens of a purpose are valid. Older ones end when the relay has accepted the
  /// mail (`MailTokenQueries.prune`), so a mail that cannot be sent invalidates none.
  @EventLoop package func queue(in transaction: Transaction) {
    let text = token.text(context.keys.master)
    let page = context.app.mailSettings.page
    let link =
      page.isEmpty
      ? context.mailer.pages?.link(for: purpose, text, of: context.app)
      : "\(page)#\(purpose.rawValue)=\(text)"
    let mail = context.mail(.token(purpose), to: email, in: language) { _, _ in
      ["token": text, "link": link ?? text]
    }
    transaction.queue(mail, with: self)
  }
}

extension EmailToken {
  /// How long a token is valid, and what its use does.
  package struct Ticket: Sendable {
    let lifetime: Duration
    package let verifies: Bool
    package let resultURL: String?

    /// - Parameters:
    ///   - lifetime: how long the token is valid.
    ///   - verifies: whether its use verifies the address.
    ///   - resultURL: where the browser goes after its use; nil for a page of this server.
    package init(for lifetime: Duration, verifies: Bool, resultURL: String?) {
      (self.lifetime, self.verifies, self.resultURL) = (lifetime, verifies, resultURL)
    }
  }

  /// Stores the token without a mail.
  ///
  /// - Returns: the link to its page; nil if the app has no host name.
  @EventLoop package func issue(_ ticket: Ticket, in transaction: Transaction) -> String? {
    let text = token.text(context.keys.master)
    guard let link = context.mailer.pages?.link(for: purpose, text, of: context.app) else {
      return nil
    }
    store(ticket, in: transaction)
    return link
  }

  /// Stores the token.
  @EventLoop func store(_ ticket: Ticket, in transaction: Transaction) {
    _ = transaction.send(
      MailTokenQueries.issue, user, purpose.rawValue, hash, email, ticket.lifetime, ticket.verifies,
      ticket.resultURL
    )
  }
}

/// The recipient of a mailed token.
package struct MailedSubject: RowDecodable {
  /// The address as stored for the user.
  package let email: String
  /// The comparison key of the address.
  package let key: String
  /// The hash of the user's password; nil without one.
  package let hash: String?
  /// Whether the use of the token verifies the address.
  package let verifies: Bool
  /// Where the browser goes after its use; nil for a page of this server.
  package let resultURL: String?

  package init(from row: Row) throws(DatabaseError) {
    email = try row.text(0)
    key = try row.text(1)
    hash = row.text(ifAny: 2)
    verifies = try row.bool(3)
    resultURL = row.text(ifAny: 4)
  }
}

package enum MailTokenQueries {
  /// Stores a token, of a mail or a ticket.
  static let issue = Statement<
    NoRow, UserID, String, BinaryBytes, String, Duration, Bool, String?
  >(
    "mail_tokens.issue",
    """
    insert into mail_tokens (
      user_id, purpose, token_hash, email, expires_at, verifies, result_url)
    values ($1, $2, $3, btrim($4), now() + $5::interval, $6, $7)
    """)

  /// Returns the address and user of a valid token, which stays valid.
  package static let look = Statement<MailedSubject, UserID, String, BinaryBytes, AppID>(
    "mail_tokens.look",
    """
    select t.email, email_key(t.email), p.hash, t.verifies, t.result_url
    from mail_tokens t join users u on u.user_id = $1
    left join passwords p on p.user_id = $1
    where t.user_id = $1 and t.purpose = $2 and t.token_hash = $3 and t.expires_at > now()
      and u.app_id = $4 and u.blocked_at is null
    """)

  /// Uses up a token and the others of its purpose; returns one row if it was valid.
  ///
  /// Of the tokens that restore addresses, only younger ones are deleted. Otherwise a thief, who
  /// has a younger token, could use it to delete that of the owner. The row contains the expiry of
  /// the token, in microseconds since 1970.
  package static let take = Statement<Int, UserID, String, BinaryBytes, AppID>(
    "mail_tokens.take",
    """
    with taken as (
      delete from mail_tokens t using users u
      where t.user_id = $1 and t.purpose = $2 and t.token_hash = $3 and t.expires_at > now()
        and u.user_id = $1 and u.app_id = $4 and u.blocked_at is null
      returning t.user_id, t.expires_at
    ), others as (
      delete from mail_tokens m using taken
      where m.user_id = $1 and m.purpose = $2 and m.token_hash <> $3
        and ($2 <> 'restore' or m.expires_at >= taken.expires_at)
    )
    select (extract(epoch from expires_at) * 1000000)::bigint from taken
    """)

  /// Deletes the tokens that can restore former addresses of a user.
  package static let removeRestores = Statement<NoRow, UserID>(
    "mail_tokens.remove_restores",
    "delete from mail_tokens where user_id = $1 and purpose = 'restore'"
  )

  /// Returns a row if the token of a mail is still valid.
  static let find = Statement<Int, UserID, String, BinaryBytes>(
    "mail_tokens.find",
    """
    select 1 from mail_tokens
    where user_id = $1 and purpose = $2 and token_hash = $3 and expires_at > now()
    """)

  /// Deletes the older tokens of a purpose except 49, when the relay has accepted a mail with a newer
  /// one.
  ///
  /// That is more than strangers may request in a day (`mails_per_email_daily`). So their requests do
  /// not invalidate the link that the owner has just got. Not earlier: until the mail arrives, its
  /// recipient has only the older tokens. Restore tokens stay, so that a second change of address does
  /// not invalidate the first owner's.
  static let prune = Statement<NoRow, UserID, String, BinaryBytes>(
    "mail_tokens.prune",
    """
    delete from mail_tokens old using mail_tokens new
    where new.user_id = $1 and new.purpose = $2 and new.token_hash = $3
      and old.user_id = $1 and old.purpose = $2 and old.expires_at < new.expires_at
      and old.purpose <> 'restore' and 50 <= (
        select count(*) from mail_tokens t
        where t.user_id = $1 and t.purpose = $2
          and t.expires_at > old.expires_at and t.expires_at <= new.expires_at)
    """)
}
