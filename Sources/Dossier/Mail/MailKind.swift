/// What a mail is about.
///
/// An app has words for each: the settings of that name with `_subject` and `_text`.
package enum MailKind: String, CaseIterable, Sendable {
  /// Confirms an address.
  case confirm
  /// Lets its reader choose a new password.
  case reset
  /// To who has proved an address that somebody else has named as its own.
  case taken
  /// To the owner of an account, when a way in has changed.
  case change
  /// To the address that a user wants instead of its own.
  case email
  /// To the address that was a user's until now, to give it back.
  case restore
  /// With a code to log in by.
  case code

  /// The placeholders that a text may have.
  ///
  /// No default text contains the address: its reader knows it, and an attacker may have chosen it.
  var places: Set<String> {
    let own: Set<String> =
      switch self {
      case .confirm, .reset, .email, .restore: ["token", "link"]
      case .taken: []
      case .change: ["change", "advice"]
      case .code: ["code"]
      }
    return own.union(["email", "app"])
  }

  var usualSubject: String {
    switch self {
    case .confirm: "Confirm your address"
    case .reset: "Choose a new password"
    case .taken: "You already have an account"
    case .change: "Your account has changed"
    case .email: "Confirm your new address"
    case .restore: "The address of your account has changed"
    case .code: "{{code}} is your code"
    }
  }

  var usualText: String {
    switch self {
    case .confirm:
      "Hello,\n\nto confirm this address, use this within a day:\n\n{{link}}\n\nIf it was not you who "
        + "asked for it, nothing needs to be done.\n"
    case .reset:
      "Hello,\n\nto choose a new password for your account at this address, use this within an hour:\n\n{{link}}\n\nIf "
        + "it was not you who asked for it, nothing needs to be done.\n"
    case .taken:
      "Hello,\n\nsomebody has just asked to use this address, which already has an account. If it "
        + "was you, log in as you did before, or ask for a new password.\n\nIf it was not you, nothing "
        + "needs to be done: nobody has got into your account.\n"
    case .change:
      "Hello,\n\n{{change}}\n\nIf it was you who did this, nothing needs to be done. If it was not: "
        + "{{advice}}\n"
    case .email:
      "Hello,\n\nto make this the address of your account at {{app}}, use this within a day, "
        + "where you are logged in:\n\n{{link}}\n\nIf it was not you who asked for it, nothing needs "
        + "to be done.\n"
    case .restore:
      "Hello,\n\nthis is not the address of your account at {{app}} any more: it was changed or "
        + "taken away.\n\nIf it was you who did this, nothing needs to be done. If it was not, get "
        + "the account back: within a week, use this to make it its address again and to "
        + "choose a new password. All else that can log in ends by that.\n\n{{link}}\n\nIf you are "
        + "told that another account has confirmed this address since, choose a new password for that "
        + "one first, delete it, and use the above again.\n"
    case .code:
      "Hello,\n\nto log in at {{app}}, enter this code within 10 minutes:\n\n{{code}}\n\nEnter it "
        + "only where you have asked for it, and tell it to nobody. If it was not you who asked for "
        + "it, nothing needs to be done.\n"
    }
  }

  /// For operators.
  var meaning: String {
    switch self {
    case .confirm: "the mail that confirms an address"
    case .reset: "the mail that resets a password"
    case .taken: "the mail to who has confirmed an address that somebody else names as its own"
    case .change: "the mail to the confirmed address when what logs the user in has changed"
    case .email: "the mail to a new address, which it makes the user's"
    case .restore: "the mail to an address that was changed or unlinked, which it gives back"
    case .code: "the mail with a code to log in by"
    }
  }
}
