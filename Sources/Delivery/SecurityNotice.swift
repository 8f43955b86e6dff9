package import Runtime
import EventLoop
import JSON
package import Postgres

/// A change of a user's credentials: an audit event, and a mail to the owner of the address.
///
/// The owner may not have made the change.
package struct SecurityNotice {
  package let action: String
  private let detail: JSON
  private let words: String
  private let remedy: Remedy

  /// The advice to an owner who has not made the change.
  private enum Remedy {
    /// Choose a new password by mail.
    case reset
    /// Open the mailed link, which restores the address.
    case wayBack
    /// Ask the operator.
    case none
  }

  private init(_ action: String, _ words: String, detail: JSON = [:], remedy: Remedy = .reset) {
    self.action = action
    self.detail = detail
    self.words = words
    self.remedy = remedy
  }

  package static func linked(_ provider: String) -> SecurityNotice {
    SecurityNotice(
      "link",
      "\(name(of: provider)) can be used from now on to log in to your account.",
      detail: ["provider": .string(provider)]
    )
  }

  package static func unlinked(_ provider: String) -> SecurityNotice {
    SecurityNotice(
      "unlink",
      "\(name(of: provider)) can no longer be used to log in to your account.",
      detail: ["provider": .string(provider)],
      remedy: provider == "password" || provider == "email" ? .wayBack : .reset
    )
  }

  package static let keyDisabled = SecurityNotice(
    "api_key_disable",
    "An API key of your account was disabled."
  )
  package static let keyEnabled = SecurityNotice(
    "api_key_enable",
    "An API key of your account that was disabled can be used again."
  )
  package static let emailVerified = SecurityNotice(
    "email_verify",
    "This address was verified as the one of your account."
  )
  package static let takenOver = SecurityNotice(
    "account_takeover",
    "You have verified that this address is yours. It was not verified before, so another person may "
      + "have made the account. All sessions, the password and all other credentials were revoked. "
      + "The data of the account is still there."
  )
  package static let passwordChanged = SecurityNotice(
    "password_change",
    "The password of your account was changed."
  )
  package static let passwordReset = SecurityNotice(
    "password_reset",
    "A new password for your account was chosen by a code that was mailed to this address."
  )
  package static let passwordSet = SecurityNotice(
    "password_set",
    "A new password for your account was set by those who run the app."
  )
  package static let emailRestored = SecurityNotice(
    "email_restore",
    "This is the address of your account again, by a code that was mailed to it. A new password was "
      + "chosen, and all else has ended that could log in."
  )
  package static let emailDisplaced = SecurityNotice(
    "email_restore",
    "This is not the address of your account any more: the one before was given back to it, by a code "
      + "that was mailed there when it was taken away. A new password was chosen, and all else has "
      + "ended that could log in.",
    remedy: .none
  )
  package static let factorAdded = SecurityNotice(
    "second_factor_add",
    "A second factor was added to your account: each sign-in asks for its code from now on. All other "
      + "sessions were signed out.",
    remedy: .none
  )
  package static let factorRemoved = SecurityNotice(
    "second_factor_remove",
    "A second factor was removed from your account: its codes are not accepted any more."
  )
  package static let secondFactorsRemoved = SecurityNotice(
    "second_factor_remove",
    "The second factors of your account were removed by those who run the app. A sign-in does not ask "
      + "for a code any more."
  )
  package static let recoveryCodesMade = SecurityNotice(
    "recovery_codes_make",
    "New recovery codes were made for your account, in place of those from before."
  )
  package static let deleted = SecurityNotice(
    "user_delete",
    "Your account was deleted, with all its data.",
    remedy: .none
  )

  private static func name(of provider: String) -> String {
    switch provider {
    case "password": "An email address with a password"
    case "email": "An email address"
    case "api-key": "An API key"
    default: "An identity of \(provider.drop { $0 != ":" }.dropFirst())"
    }
  }

  /// Records the change and mails it, in its transaction and before the address is removed.
  @EventLoop package func record(
    of user: UserID,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    try await Event(action, of: user, detail: detail).record(in: transaction, context)
    // Changes by an API client cannot be undone by mail.
    if case .wayBack = remedy, context.principal.session != nil {
      let found = try await transaction.run(WayInQueries.verifiedEmail, user)
      guard let former = found.first else { return }
      try await EmailToken(
        .restore,
        to: former.email,
        of: user,
        in: former.language,
        context
      ).queue(in: transaction)
    } else {
      try await notice(of: user, in: transaction, context).queue(in: transaction)
    }
  }

  /// Records the change and mails it, for a request with a mailed token.
  @EventLoop package func record(
    ofReader user: UserID,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    try await Event(action, of: user, detail: detail)
      .record(in: transaction, by: .anyone, context)
    try await notice(of: user, in: transaction, context).queue(in: transaction)
  }

  /// Returns the mail alone, for a change that is recorded elsewhere.
  @EventLoop package func notice(
    of user: UserID,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) -> WayInNotice {
    let reader = try await transaction.run(WayInQueries.verifiedEmail, user).first
    let advice =
      switch remedy {
      case .reset:
        "ask for a new password with this address. That ends all sessions and all API keys; then "
          + "look which identities your account has, and unlink those that you do not know."
      case .wayBack, .none:
        "tell those who run \(context.app.name). You cannot take it back yourself."
      }
    return WayInNotice(reader: reader, change: words, advice: advice, context: context)
  }
}

/// A mail about a change, not yet queued; empty if the user has no verified address.
package struct WayInNotice {
  fileprivate let reader: VerifiedEmail?
  fileprivate let change: String
  fileprivate let advice: String
  fileprivate let context: RequestContext

  /// Queues the mail in the transaction of the change.
  @EventLoop package func queue(in transaction: Transaction) async throws(Failure) {
    guard let reader else { return }
    let message = try? AppMail.message(
      .change,
      to: reader.email,
      in: reader.language,
      context.app,
      ["change": change, "advice": advice]
    )
    guard let message else { return context.mailer.lose("a mail of a change cannot be written") }
    try await context.queue(message, .change, in: transaction)
  }
}

/// The verified address of a user, and the language of its mail.
struct VerifiedEmail: RowDecodable {
  package let email: String
  let language: String?

  init(from row: Row) throws(DatabaseError) {
    email = try row.text(0)
    language = row.text(ifAny: 1)
  }
}

package enum WayInQueries {
  static let verifiedEmail = Statement<VerifiedEmail, UserID>(
    "ways_in.verified_email",
    "select email, locale from users where user_id = $1 and email_verified and email is not null"
  )

  package static let all: [any PreparedStatement] = [verifiedEmail]
}
