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
  /// Informs the reader of an address without a user that a client has tried to sign in with it.
  case unknown
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
      case .taken, .unknown: []
      case .change: ["change", "advice", "time"]
      case .code: ["code", "device", "time"]
      }
    return own.union(subjectPlaces)
  }

  /// The placeholders that a subject may have: no secrets, which lock screens and logs would show.
  var subjectPlaces: Set<String> {
    switch self {
    case .verify, .reset, .restore, .taken, .unknown: ["email", "app"]
    case .change, .code: ["email", "app", "title"]
    }
  }

  /// The description for operators.
  var meaning: String {
    switch self {
    case .verify: "the mail that verifies an address"
    case .reset: "the mail that resets a password"
    case .taken: "the mail to the user of an address that a client has tried to register"
    case .unknown: "the mail to an address without a user that a client has tried to sign in with"
    case .change: "the mail to the user when a credential of the account has changed"
    case .restore: "the mail to an address that was changed or unlinked, which restores it"
    case .code: "the mail with a code"
    }
  }
}
