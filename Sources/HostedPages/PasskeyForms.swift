package import Accounts
import EventLoop
package import HTTP
package import JSON
package import Localization
package import Pages
package import Passkeys
package import Runtime
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
    form.renewal = LocalPath(checked: "/v1/login/passkey/options")
    form.unknown = errors.first { $0.kind == .passkeyUnknown }?.typed
    return form
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
