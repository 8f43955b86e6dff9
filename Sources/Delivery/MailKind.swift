/// The kind of a mail.
///
/// An app has a text for each: the settings of that name with `_subject` and `_text`.
package enum MailKind: String, CaseIterable, Sendable {
  /// Verifies an address.
  case verify
  /// Lets the recipient choose a new password.
  case reset
  /// Informs the owner of an address that a client has tried to register it.
  case taken
  /// Informs a user that a credential of the account has changed.
  case change
  /// Goes to the user's previous address, to restore it.
  case restore
  /// Contains a code that completes a login, a registration or a change of address.
  case code

  /// The placeholders that a text may have.
  ///
  /// No default text contains the address: the recipient knows it, and an attacker may have chosen
  /// it.
  var places: Set<String> {
    let own: Set<String> =
      switch self {
      case .verify, .reset, .restore: ["token", "link"]
      case .taken: []
      case .change: ["change", "advice"]
      case .code: ["code"]
      }
    return own.union(["email", "app"])
  }

  var usualSubject: String {
    switch self {
    case .verify: "Verify your address"
    case .reset: "Choose a new password"
    case .taken: "You already have an account"
    case .change: "Your account has changed"
    case .restore: "The address of your account has changed"
    case .code: "{{code}} is your code"
    }
  }

  var usualText: String {
    switch self {
    case .verify:
      "Hello,\n\nto verify this address, open this within a day, and sign in:\n\n{{link}}\n\nIf you "
        + "did not ask for this, you need not do anything.\n"
    case .reset:
      "Hello,\n\nto choose a new password for your account, open this within an hour:\n\n{{link}}\n\nIf "
        + "you did not ask for this, you need not do anything.\n"
    case .taken:
      "Hello,\n\nsomebody has tried to use this address at {{app}}, where you have an account. If it was "
        + "you, sign in as before, or reset your password.\n\nIf it was not you, you need not do "
        + "anything. Your account is safe.\n"
    case .change:
      "Hello,\n\n{{change}}\n\nIf you did this, you need not do anything. If you did not: "
        + "{{advice}}\n"
    case .restore:
      "Hello,\n\nthis is not the address of your account at {{app}} any more. It was changed or "
        + "removed.\n\nIf you did this, you need not do anything. If you did not, open this within a "
        + "week to restore the address and to choose a new password. It signs everybody else out of "
        + "your account.\n\n{{link}}\n"
    case .code:
      "Hello,\n\nyour code for {{app}} is:\n\n{{code}}\n\nEnter it within 10 minutes, and only where you "
        + "have asked for it. Do not pass it on. If you did not ask for it, you need not do "
        + "anything.\n"
    }
  }

  /// The description for operators.
  var meaning: String {
    switch self {
    case .verify: "the mail that verifies an address"
    case .reset: "the mail that resets a password"
    case .taken: "the mail to the user of an address that a client has tried to register"
    case .change: "the mail to the user when a credential of the account has changed"
    case .restore: "the mail to an address that was changed or unlinked, which restores it"
    case .code: "the mail with a code"
    }
  }
}
