import Delivery
package import Runtime
package import EventLoop
import PasswordHashes
import ReferenceData

/// An email address and a password, as the user typed them.
package struct Credentials: Sendable {
  package let email: String
  package let password: String

  package init(email: String, password: String) {
    self.email = email
    self.password = password
  }

  /// Checks credentials that a user is to get, and counts the request.
  ///
  /// - Returns: the address.
  /// - Throws: `.loginMethodDisabled`, `.invalid`, `.tooManyAttempts`, `.overloaded`,
  ///   `.databaseUnavailable`.
  @EventLoop func admit(_ context: RequestContext) async throws(Failure) -> EmailAddress {
    try context.requireOpen(.password)
    let faults = faults(in: context.app)
    guard faults.isEmpty else { throw .invalid(faults) }
    try await Self.checkBreached(password, at: "/password", context)
    let address = try await EmailAddress(email, context)
    try await RequestLimiter.registration(of: address.key, context)
    return address
  }

  /// Returns the broken rules for the credentials of a new user.
  package func faults(in app: App) -> [FieldError] {
    var faults: [FieldError] = []
    let isMixed = app.accountSettings.allowsMixedScripts
    if let fault = EmailAddress.fault(in: email, at: "/email", mixed: isMixed) {
      faults.append(fault)
    }
    if let fault = Self.fault(in: password, of: email, at: "/password", app) {
      faults.append(fault)
    }
    return faults
  }

  /// Checks a new password of a user.
  ///
  /// - Throws: `.invalid`, with the pointer, `.overloaded`.
  @EventLoop package static func check(
    _ password: String, of email: String?, at pointer: String = "/password",
    _ context: RequestContext
  ) async throws(Failure) {
    if let fault = fault(in: password, of: email, at: pointer, context.app) {
      throw .invalid([fault])
    }
    try await checkBreached(password, at: pointer, context)
  }

  /// Checks that a new password, which follows all other rules, is not in the operator's set.
  ///
  /// - Throws: `.invalid`, with the pointer, `.overloaded`.
  @EventLoop package static func checkBreached(
    _ password: String, at pointer: String, _ context: RequestContext
  ) async throws(Failure) {
    guard !context.app.accountSettings.allowsWeakPasswords else { return }
    let check = context.dependencies[BreachedPasswordCheck.self]
    if let fault = try await check.fault(in: password, at: pointer) { throw .invalid([fault]) }
  }

  /// In bytes: long enough for any passphrase; bounds the cost of hashing.
  package static let longestPassword = 1_024
  /// In bytes: names that are shorter than the first occur in too many words, and those that are
  /// shorter than the second count as words of their own only: `admin` is in `administrators`.
  private static let shortestNames = (word: 4, part: 8)

  /// Returns the rule that a new password breaks, except that about the operator's set.
  ///
  /// It may be too short, too long, or a common password. It must not contain the email address,
  /// its local part, or a name of the app: attackers try those first. An app that allows weak
  /// passwords has only the rules about the length.
  /// - Parameters:
  ///   - password: the password as the user typed it.
  ///   - email: the address of the user; nil without one.
  ///   - pointer: the pointer of the member.
  ///   - app: the app of the user.
  /// - Returns: the broken rule; nil if the password is valid.
  package static func fault(
    in password: String, of email: String?, at pointer: String, _ app: App
  ) -> FieldError? {
    let password = password.preparedPassword
    let shortest = app.accountSettings.passwordMinLength
    if password.unicodeScalars.count < shortest || password.utf8.count > longestPassword {
      let rule =
        "A password must have at least \(shortest) characters and at most \(longestPassword) bytes."
      return FieldError(pointer, "length", rule)
    }
    if app.accountSettings.allowsWeakPasswords { return nil }
    switch ReferenceLists.ofProcess {
    case .failure(let error): return FieldError(pointer, "common", error.description)
    case .success(let lists) where lists.passwords.contains(password):
      return FieldError(pointer, "common", "This password is too common.")
    case .success: break
    }
    let local = email?.split(separator: "@").first.map(String.init)
    let names = [email, local, app.name, app.mailSettings.senderName].compactMap(\.self)
    let found = names.first { name in
      switch name.utf8.count {
      case ..<shortestNames.word: false
      case ..<shortestNames.part: password.containsFoldedWord(name)
      default: password.containsFolded(name)
      }
    }
    guard let found else { return nil }
    let rule = "A password must not contain \(found), of the email address or the app's name."
    return FieldError(pointer, "personal", rule)
  }
}
