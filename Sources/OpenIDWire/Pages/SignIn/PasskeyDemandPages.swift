import Accounts
import EventLoop
import HTTP
import HostedPages
import Localization
import OpenID
import Pages
import Passkeys
import Runtime
import Tenancy
import WireKit

/// The pages that ask for a passkey because the app or the client wants one.
@EventLoop enum PasskeyDemandPages {
  nonisolated static let routes = [
    SignInPages.show(.passkey, "Ask for the passkey that the client demands") {
      (visit) async throws(Failure) in
      guard visit.lacksWantedPasskey, let user = visit.state.user, try await visit.actAsUser()
      else { return nil }
      let hasOne = try await Passkeys.exist(for: user, visit.context)
      let own = hasOne ? try visit.passkeyForm(isOnly: true) : nil
      let new = hasOne ? nil : try await visit.newPasskeyForm(for: user, .addPasskey)
      return .secondFactor(
        nil, passkey: own, newPasskey: new, cancel: visit.cancel, errors: visit.pageErrors)
    },
    SignInPages.show(.signUpPasskey, "Ask a new user for a passkey") {
      (visit) async throws(Failure) in
      guard try visit.signsUpByPasskey, let email = visit.state.email,
        var form = try visit.passkeySignUpForm(hidden: [HiddenField("email", email)])
      else { return nil }
      form.style = .primary
      let isRequired = visit.app.passkeySettings.isRequired
      return .signUpWithPasskey(
        form, email: email, change: visit.link(.signUp),
        password: isRequired ? nil : visit.link(.signUpPassword), errors: visit.pageErrors)
    },
    SignInPages.show(.signUpPassword, "Show the form of a new account with a password") {
      (visit) async throws(Failure) in
      guard try visit.signsUpByPasskey, !visit.app.passkeySettings.isRequired else { return nil }
      return try IdentifierPages.signUpPage(visit, asksPassword: true)
    },
  ]
}

extension Visit {
  /// Whether the client demands a passkey.
  var wantsPasskey: Bool { authorization.request.wantedClass == .phishingResistant }

  /// Whether the client demands a passkey, and the user has just signed in without one.
  var lacksWantedPasskey: Bool { wantsPasskey && state.hasAuthenticated }

  /// Whether a new user is asked for a passkey before a password.
  var signsUpByPasskey: Bool {
    get throws(Failure) { app.passkeySettings.comesFirst ? try takesPasskeySignUp : false }
  }

  /// Whether users can sign up, with a password or a passkey.
  var takesSignUp: Bool {
    get throws(Failure) {
      let needsPasskey = app.passkeySettings.isRequired
      return needsPasskey ? try takesPasskeySignUp : try methods().takesSignUp
    }
  }

  /// Returns the form that makes a passkey for the user who has signed in here, as whom it acts.
  func newPasskeyForm(
    for user: UserID, _ label: MessageKey, isForThisDevice: Bool = false
  ) async throws(Failure) -> PasskeyForm {
    let begun = try await Passkeys.beginAdding(
      to: user, isForThisDevice: isForThisDevice, context)
    var form = PasskeyForm(begun, .create, target(.offer), label)
    form.style = .primary
    return form
  }
}
