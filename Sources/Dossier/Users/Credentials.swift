import EventLoop

/// An email address and a password, as somebody typed them.
package struct Credentials: Sendable {
  package let email: String
  package let password: String

  package init(email: String, password: String) {
    self.email = email
    self.password = password
  }

  func checkForRegistration(_ settings: AppSettings) throws(Failure) {
    var faults: [Fault] = []
    if !EmailAddress(email).isPlausible {
      faults.append(Fault("/email", "email", "This is not an email address."))
    }
    if let fault = Self.fault(in: password, at: "/password", settings) { faults.append(fault) }
    guard faults.isEmpty else { throw .invalid(faults) }
  }

  /// Long enough for any passphrase; bounds what is hashed.
  private static let longest = 1_024

  /// What is wrong with a new password.
  static func fault(in password: String, at pointer: String, _ settings: AppSettings) -> Fault? {
    let shortest = settings.number(.passwordMinLength)
    guard password.unicodeScalars.count < shortest || password.utf8.count > longest else {
      return nil
    }
    return Fault(
      pointer,
      "length",
      "A password has at least \(shortest) characters and at most \(longest) bytes."
    )
  }
}

/// An address of mail as somebody typed it.
struct EmailAddress {
  let text: String

  init(_ text: String) { self.text = text }

  /// What failures and mails are counted by: near enough to the database's `email_key`, which
  /// decides whose an address is.
  var key: String { text.trimmingSpaces.lowercased() }

  /// 254: the longest path of SMTP (RFC 5321 section 4.5.3.1.3) without its brackets.
  private static let limit = 254

  /// Whether mail could be sent there: only what is certainly wrong is refused.
  var isPlausible: Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && text.utf8.count <= Self.limit && !parts[0].isEmpty
      && parts[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
      && text.unicodeScalars.allSatisfy {
        !$0.properties.isWhitespace && $0.properties.generalCategory != .control
          && $0 != "<" && $0 != ">" && $0 != "," && $0 != "\""
      }
  }

  /// Counts a mail to this address.
  ///
  /// - Throws: `.tooManyAttempts`, `.unavailable`.
  @EventLoop func limitMail(_ context: Context) async throws(Failure) {
    try await FailureGuard("mail", on: key, context).attempt()
  }
}

extension String {
  fileprivate var trimmingSpaces: Substring {
    let start = drop(while: \.isWhitespace)
    return start.lastIndex { !$0.isWhitespace }.map { start[...$0] } ?? ""
  }
}
