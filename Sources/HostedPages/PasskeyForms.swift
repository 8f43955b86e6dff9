package import Accounts
import EventLoop
package import HTTP
package import JSON
package import Localization
package import Pages
package import Passkeys
package import Runtime
import Tenancy
package import WireKit

// The forms of passkeys, which pages of the sign-in and of the account share.
extension Call {
  /// Returns the form that signs with a passkey; nil if the app does not use passkeys.
  ///
  /// - Parameters:
  ///   - target: the form that handles the signature.
  ///   - label: the label of the button.
  ///   - errors: the errors of the page, of which one may be about a passkey that no user has.
  /// - Returns: the form.
  /// - Throws: `.internalError` if the flow cannot be encrypted.
  package func passkeyForm(
    _ target: FormTarget, _ label: MessageKey, errors: [FormError] = []
  ) throws(Failure) -> PasskeyForm? {
    guard context.app.passkeySettings.isOpen else { return nil }
    var form = PasskeyForm(try Passkeys.beginSignIn(context), .get, target, label)
    form.renewal = LocalPath(checked: Self.signInOptions)
    form.unknown = errors.first { $0.kind == .passkeyUnknown }?.typed
    return form
  }

  /// Returns the form that signs in with the passkey that the user of an address has used last in this
  /// browser; nil without such a passkey.
  ///
  /// - Throws: as `Passkeys.beginSignIn`.
  package func usedPasskeyForm(
    of email: String, _ target: FormTarget, _ label: MessageKey
  ) async throws(Failure) -> PasskeyForm? {
    let used = usedPasskeys
    guard context.app.passkeySettings.isOpen, !used.isEmpty,
      let begun = try await Passkeys.beginSignIn(
        of: email, context, used: { user in used.first { $0.user == user.text }?.credential })
    else { return nil }
    var form = PasskeyForm(begun, .get, target, label)
    form.renewal = LocalPath(checked: Self.signInOptions)
    (form.isFirst, form.style) = (true, .primary)
    return form
  }

  private static let signInOptions = "/v1/login/passkey/options"

  /// Keeps in the browser that a user has used a passkey here.
  package func keep(passkey credential: JSON, of user: UserID) {
    guard let id = credential["id"]?.string else { return }
    let others = Array(usedPasskeys.filter { $0.user != user.text }.suffix(Self.mostUsers - 1))
    keep(usedPasskeys: others + [(user: user.text, credential: id)])
  }

  /// Forgets the passkey that a user has used here.
  package func forgetPasskey(of user: UserID) {
    let used = usedPasskeys
    guard used.contains(where: { $0.user == user.text }) else { return }
    keep(usedPasskeys: used.filter { $0.user != user.text })
  }

  /// The users whose passkeys a browser keeps.
  private static let mostUsers = 5

  /// The passkeys that users have used in this browser, the latest at the end.
  private var usedPasskeys: [(user: String, credential: String)] {
    (BrowserNote.usedPasskeys.text(self) ?? "").split(separator: " ").compactMap { entry in
      let parts = entry.split(separator: ":")
      return parts.count == 2
        ? (user: String(parts[0]), credential: String(parts[1])) : nil
    }
  }

  private func keep(usedPasskeys used: [(user: String, credential: String)]) {
    var entries = used.map { "\($0.user):\($0.credential)" }
    // Some security keys have ids of a thousand bytes.
    while entries.joined(separator: " ").utf8.count > BrowserNote.longest { entries.removeFirst() }
    let text = entries.joined(separator: " ")
    BrowserNote.usedPasskeys.keep(text.isEmpty ? nil : text, self)
  }

  /// Returns what the script of the pages has sent of a passkey.
  ///
  /// - Throws: `.passkeyInvalid` if it is no JSON.
  package func passkey(of form: FormValues) throws(Failure) -> (credential: JSON, flow: String) {
    guard let text = form["credential"], let credential = try? JSON.parse(Array(text.utf8)) else {
      throw .passkeyInvalid(reason: "the credential is no JSON")
    }
    return (credential, form["passkey_flow"] ?? "")
  }

  /// Verifies a passkey that a form has brought.
  ///
  /// - Throws: as `Passkeys.shown`.
  package func shownPasskey(of form: FormValues) async throws(Failure) -> ShownPasskey {
    let (credential, flow) = try passkey(of: form)
    return try await Passkeys.shown(credential, flow, context)
  }
}

extension PasskeyForm {
  /// Creates the form of a ceremony that has begun.
  package init(
    _ begun: Passkeys.Begun, _ kind: Kind, _ target: FormTarget, _ label: MessageKey
  ) {
    let options = String(decoding: begun.options.serialized(), as: UTF8.self)
    self.init(target, kind, flow: begun.flow, options: options, label: label)
  }
}
