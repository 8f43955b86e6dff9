import Accounts
import EventLoop
import HTTP
import HostedPages
import Localization
import OpenID
import Pages
import Passkeys
import Runtime
import WireKit

/// The pages that ask for a passkey because the client wants one.
@EventLoop enum PasskeyDemandPages {
  nonisolated static let routes = [
    SignInPages.show(.passkey, "Ask for the passkey that the client demands") {
      (visit) async throws(Failure) in
      guard visit.lacksWantedPasskey, let user = visit.state.user, try await visit.actAsUser()
      else { return nil }
      let hasOne = try await Passkeys.exist(for: user, visit.context)
      let own = hasOne ? try visit.passkeyForm(isOnly: true) : nil
      let new = hasOne ? nil : try await visit.newPasskeyForm(for: user)
      return .secondFactor(
        nil, passkey: own, newPasskey: new, cancel: visit.cancel, errors: visit.pageErrors)
    }
  ]
}

extension Visit {
  /// Whether the client demands a passkey.
  var wantsPasskey: Bool { authorization.request.wantedClass == .phishingResistant }

  /// Whether the client demands a passkey, and the user has just signed in without one.
  var lacksWantedPasskey: Bool { wantsPasskey && state.hasAuthenticated }

  /// Returns the form that makes a passkey for the user who has signed in here, as whom it acts.
  func newPasskeyForm(for user: UserID) async throws(Failure) -> PasskeyForm {
    var form = PasskeyForm(
      try await Passkeys.beginAdding(to: user, context), .create, target(.offer), .addPasskey)
    form.style = .primary
    return form
  }
}
