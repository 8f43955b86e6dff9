import EventLoop
import ReferenceData

/// An email address and a password, as somebody typed them.
package struct Credentials: Sendable {
  package let email: String
  package let password: String

  package init(email: String, password: String) {
    self.email = email
    self.password = password
  }

  func checkForRegistration(_ app: App) throws(Failure) {
    let faults = faults(in: app)
    guard faults.isEmpty else { throw .invalid(faults) }
  }

  /// What breaks a rule of those that a new user must keep.
  package func faults(in app: App) -> [Fault] {
    var faults: [Fault] = []
    let isMixed = app.settings.allowsMixedScripts
    if let fault = EmailAddress.fault(in: email, at: "/email", mixed: isMixed) {
      faults.append(fault)
    }
    if let fault = Self.fault(in: password, of: email, at: "/password", app) {
      faults.append(fault)
    }
    return faults
  }

  /// In bytes: long enough for any passphrase; bounds what is hashed.
  package static let longestPassword = 1_024
  /// In bytes: shorter names are in too many words.
  private static let shortestName = 4

  /// What is wrong with a new password.
  ///
  /// It is too short or too long, one that everybody uses, or has the email address, the part of it
  /// before the @, or a name of the app in it: those are tried first.
  /// - Parameters:
  ///   - password: as it was typed.
  ///   - email: that it comes with; nil when there is none.
  ///   - pointer: of the member that it is.
  ///   - app: whose user it is for.
  /// - Returns: the rule that it breaks; nil when it breaks none.
  static func fault(
    in password: String,
    of email: String?,
    at pointer: String,
    _ app: App
  ) -> Fault? {
    let shortest = app.settings.passwordMinLength
    if password.unicodeScalars.count < shortest || password.utf8.count > longestPassword {
      let rule =
        "A password has at least \(shortest) characters and at most \(longestPassword) bytes."
      return Fault(pointer, "length", rule)
    }
    switch ReferenceLists.ofProcess {
    case .failure(let error): return Fault(pointer, "common", error.description)
    case .success(let lists) where lists.passwords.contains(password):
      return Fault(pointer, "common", "This password is one of those that are tried first.")
    case .success: break
    }
    let local = email?.split(separator: "@").first.map(String.init)
    let names = [email, local, app.name, app.settings.mailFromName].compactMap(\.self)
    guard names.contains(where: { $0.utf8.count >= shortestName && password.containsFolded($0) })
    else { return nil }
    let rule = "A password has neither the email address nor the name of the app in it."
    return Fault(pointer, "personal", rule)
  }
}
