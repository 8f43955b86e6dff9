/// The kind of a mail.
///
/// An app has a text for each: the settings of its name with `_subject` and `_text`.
package enum MailKind: CaseIterable, Sendable {
  /// Contains a token.
  case token(EmailToken.Purpose)
  /// Informs the owner of an address that a client has tried to register it.
  case taken
  /// Informs the reader of an address without a user that a client has tried to sign in with it.
  case unknown
  /// Informs a user that a credential of the account has changed.
  case change
  /// Contains a code that completes a login, a registration or a change of address.
  case code

  package static let allCases =
    EmailToken.Purpose.allCases.map(token) + [.taken, .unknown, .change, .code]

  /// The name of the kind in the settings and in the queue.
  var name: String {
    switch self {
    case .token(let purpose): purpose.rawValue
    case .taken: "taken"
    case .unknown: "unknown"
    case .change: "change"
    case .code: "code"
    }
  }

  /// The placeholders that a text may have.
  ///
  /// No default text contains the address: the recipient knows it, and an attacker may have chosen
  /// it.
  var places: Set<String> {
    let own: Set<String> =
      switch self {
      case .token: ["token", "link"]
      case .taken, .unknown: []
      case .change: ["change", "advice", "time"]
      case .code: ["code", "device", "time"]
      }
    return own.union(subjectPlaces)
  }

  /// The placeholders that a subject may have: no secrets, which lock screens and logs would show.
  var subjectPlaces: Set<String> {
    switch self {
    case .token, .taken, .unknown: ["email", "app"]
    case .change, .code: ["email", "app", "title"]
    }
  }

  /// The description for operators.
  var meaning: String {
    switch self {
    case .token(.verify): "the mail that verifies an address"
    case .token(.reset): "the mail that resets a password"
    case .taken: "the mail to the user of an address that a client has tried to register"
    case .unknown: "the mail to an address without a user that a client has tried to sign in with"
    case .change: "the mail to the user when a credential of the account has changed"
    case .token(.restore): "the mail to an address that was changed or unlinked, which restores it"
    case .code: "the mail with a code"
    }
  }
}
