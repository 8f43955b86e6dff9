package import Tenancy
package import Runtime
import EventLoop
import JSON
import Localization
import Postgres

/// A change of a user's credentials: an audit event, and a mail to the owner of the address.
///
/// The owner may not have made the change.
package enum SecurityNotice: Sendable {
  /// The provider of the new identity.
  case linked(IdentityProvider)
  /// The provider of the removed identity.
  case unlinked(IdentityProvider)
  case keyDisabled
  case keyEnabled
  case emailVerified
  /// The reader of a mail takes over an unverified account.
  case takenOver
  case passwordChanged
  /// The number of passkeys that still sign the user in.
  case passwordReset(passkeys: Int)
  /// The operator has set a password.
  case passwordSet
  case emailRestored
  /// A back end has replaced the address, to which the notice goes.
  case emailReplaced
  /// Goes to the address that a restored one replaces.
  case emailDisplaced
  case factorAdded
  case factorRemoved
  /// The operator has removed the second factors.
  case secondFactorsRemoved
  case recoveryCodesMade
  /// The user has signed in on a device for the first time.
  case signedIn
  /// Support sees the account, for a reason that it has given.
  case supportBegan(reason: String)
  case deleted

  /// The name of the audit event.
  package var action: String {
    switch self {
    case .linked: "link"
    case .unlinked: "unlink"
    case .keyDisabled: "api_key_disable"
    case .keyEnabled: "api_key_enable"
    case .emailVerified: "email_verify"
    case .takenOver: "account_takeover"
    case .passwordChanged: "password_change"
    case .passwordReset: "password_reset"
    case .passwordSet: "password_set"
    case .emailReplaced: "email_change"
    case .emailRestored, .emailDisplaced: "email_restore"
    case .factorAdded: "second_factor_add"
    case .factorRemoved, .secondFactorsRemoved: "second_factor_remove"
    case .recoveryCodesMade: "recovery_codes_make"
    case .signedIn: "sign_in"
    case .supportBegan: "support_session"
    case .deleted: "user_delete"
    }
  }

  private func detail(in app: App) -> JSON {
    switch self {
    case .linked(let provider), .unlinked(let provider): .object(provider.eventDetail(in: app))
    default: [:]
    }
  }

  /// The issuer of the identity that was linked or unlinked.
  fileprivate var issuer: String? {
    switch self {
    case .linked(let provider), .unlinked(let provider): provider.issuer
    default: nil
    }
  }

  /// The title of the mail, and its text.
  private var texts: (title: MessageKey, text: MessageKey) {
    switch self {
    case .linked: (.loginMethodAddedNoticeTitle, .linkedNotice)
    case .unlinked: (.loginMethodRemovedNoticeTitle, .unlinkedNotice)
    case .keyDisabled: (.apiKeyDisabledNoticeTitle, .keyDisabledNotice)
    case .keyEnabled: (.apiKeyEnabledNoticeTitle, .keyEnabledNotice)
    case .emailVerified: (.addressVerifiedNoticeTitle, .emailVerifiedNotice)
    case .takenOver: (.addressVerifiedNoticeTitle, .takenOverNotice)
    case .passwordChanged: (.passwordChangedNoticeTitle, .passwordChangedNotice)
    case .passwordReset: (.passwordChangedNoticeTitle, .passwordResetNotice)
    case .passwordSet: (.passwordChangedNoticeTitle, .passwordSetNotice)
    case .emailRestored: (.addressRestoredNoticeTitle, .emailRestoredNotice)
    case .emailReplaced: (.addressChangedNoticeTitle, .emailReplacedNotice)
    case .emailDisplaced: (.addressChangedNoticeTitle, .emailDisplacedNotice)
    case .factorAdded: (.secondFactorAddedNoticeTitle, .factorAddedNotice)
    case .factorRemoved: (.secondFactorRemovedNoticeTitle, .factorRemovedNotice)
    case .secondFactorsRemoved: (.secondFactorRemovedNoticeTitle, .secondFactorsRemovedNotice)
    case .recoveryCodesMade: (.newRecoveryCodesNoticeTitle, .recoveryCodesMadeNotice)
    case .signedIn: (.newSignInNoticeTitle, .signedInNotice)
    case .supportBegan: (.supportNoticeTitle, .supportNotice)
    case .deleted: (.accountDeletedNoticeTitle, .deletedNotice)
    }
  }

  /// Returns the values of the mail in a language.
  ///
  /// - Parameters:
  ///   - catalog: the texts of the language.
  ///   - device: the name of the device of the request.
  ///   - app: the name of the app.
  ///   - issuer: the name of the issuer of an identity.
  ///   - links: where an owner goes who has not made the change.
  /// - Returns: the title, the text and the advice by placeholder; a link in the advice, and the label
  ///   of its button.
  func values(
    in catalog: Catalog, on device: String, _ app: String, issuer: String? = nil,
    _ links: Links = Links()
  ) -> [String: String] {
    var arguments: [String: Text.Argument] = ["app": .name(app), "device": .name(device)]
    switch self {
    case .linked(let provider), .unlinked(let provider):
      arguments["method"] = .name(catalog.name(of: provider, issuer: issuer))
    case .supportBegan(let reason): arguments["reason"] = .name(reason)
    default: break
    }
    let (advice, link, button): (MessageKey, String?, MessageKey) =
      switch remedy {
      case .reset: (.resetAdvice, links.security, .secureMailButton)
      case .contact: (.contactAdvice, links.support, .contactSupport)
      }
    var change = catalog.text(of: texts.text, arguments)
    if case .passwordReset(let passkeys) = self, passkeys > 0 {
      change += "\n\n" + catalog.text(of: .passkeysLeft, ["count": .count(passkeys)])
    }
    var values = [
      "title": catalog.text(of: texts.title, arguments),
      "change": change,
      "advice": catalog.text(of: advice, arguments),
    ]
    if let link {
      values["advice", default: ""] += "\n\n\(link)"
      (values["link"], values["button"]) = (link, catalog.text(of: button))
    }
    return values
  }

  /// Where an owner goes who has not made the change.
  struct Links {
    /// The page that mails a link to a new password, which ends all sessions.
    var security: String?
    /// The page or the email address of the support.
    var support: String?
  }

  /// The advice to an owner who has not made the change.
  private enum Remedy {
    /// Choose a new password by mail.
    case reset
    /// Ask the operator.
    case contact
  }

  private var remedy: Remedy {
    switch self {
    case .unlinked(.password), .unlinked(.email), .emailReplaced, .emailDisplaced, .factorAdded,
      .deleted:
      .contact
    default: .reset
    }
  }

  /// Records the change and mails it, in its transaction and before the address is removed.
  ///
  /// The mail about a removed address can restore it. Changes by an API client cannot be undone so.
  @EventLoop package func record(
    of user: UserID, removesAddress: Bool = false, in transaction: Transaction
  ) async throws(Failure) {
    Event(action, of: user, detail: detail(in: transaction.app)).record(in: transaction)
    if removesAddress, transaction.principal.session != nil {
      let found = try await transaction.run(SecurityNoticeQueries.verifiedEmail, user)
      guard let former = found.first else { return }
      EmailToken(
        .restore, to: former.email, of: user, in: former.language, transaction.context
      ).queue(in: transaction)
    } else {
      try await notice(of: user, in: transaction).queue(in: transaction)
    }
  }

  /// Mails the change also to the addresses that the user can still restore.
  ///
  /// A thief may have changed the address, and the owner reads the former one.
  @EventLoop package func queueForRestorable(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    for reader in try await transaction.run(SecurityNoticeQueries.restorableEmails, user) {
      NoticeMail(reader: reader, user: keptUser(user), change: self, context: transaction.context)
        .queue(in: transaction)
    }
  }

  /// Returns the mail alone, for a change that is recorded elsewhere.
  @EventLoop package func notice(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) -> NoticeMail {
    let reader = try await transaction.run(SecurityNoticeQueries.verifiedEmail, user).first
    return NoticeMail(
      reader: reader, user: keptUser(user), change: self, context: transaction.context)
  }

  /// Returns the user if it exists after the change.
  private func keptUser(_ user: UserID) -> UserID? {
    if case .deleted = self { nil } else { user }
  }
}

extension Catalog {
  fileprivate func name(of provider: IdentityProvider, issuer: String?) -> String {
    switch provider {
    case .password, .linkedPassword: text(of: .passwordLoginMethod)
    case .email: text(of: .emailLoginMethod)
    case .apiKey: text(of: .apiKeyLoginMethod)
    case .passkey: text(of: .passkeyLoginMethod)
    case .anonymous, .issuer:
      text(of: .issuerLoginMethod, ["issuer": .name(issuer ?? provider.issuer ?? provider.text)])
    }
  }
}

/// A mail about a change, not yet queued; empty if the user has no verified address.
package struct NoticeMail {
  fileprivate let reader: VerifiedEmail?
  fileprivate let user: UserID?
  fileprivate let change: SecurityNotice
  fileprivate let context: RequestContext

  /// Queues the mail in the transaction of the change.
  @EventLoop package func queue(in transaction: Transaction) {
    guard let reader else { return }
    let mail = context.mail(.change, to: reader.email, in: reader.language) { catalog, app in
      change.values(
        in: catalog, on: catalog.device(context.agent.map(BrowserName.init)), app,
        issuer: change.issuer.map(context.app.label(ofIssuer:)),
        SecurityNotice.Links(
          security: context.mailer.pages?.securityLink(of: context.app),
          support: context.mailer.design.support(of: context.app)
        )
      )
    }
    transaction.queue(mail, .change, about: user)
  }
}

/// An address that a user has verified, and the language of its mail.
struct VerifiedEmail: RowDecodable {
  let email: String
  let language: String?

  init(from row: Row) throws(DatabaseError) {
    email = try row.text(0)
    language = row.text(ifAny: 1)
  }
}

package enum SecurityNoticeQueries {
  static let verifiedEmail = Statement<VerifiedEmail, UserID>(
    "security_notices.verified_email",
    "select email, locale from users where user_id = $1 and email_verified and email is not null"
  )

  /// Returns the former addresses that a token can restore.
  static let restorableEmails = Statement<VerifiedEmail, UserID>(
    "security_notices.restorable_emails",
    """
    select min(t.email), min(u.locale)
    from mail_tokens t join users u on u.user_id = $1
    where t.user_id = $1 and t.purpose = 'restore' and t.expires_at > now()
      and (not u.email_verified or email_key(t.email) is distinct from email_key(u.email))
    group by email_key(t.email)
    """)
}
