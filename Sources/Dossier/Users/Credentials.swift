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
    if !EmailAddress.isPlausible(email) {
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
