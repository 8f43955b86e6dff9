import Accounts
import EventLoop
import HTTP
import HostedPages
import Localization
import OpenID
import Pages
import Passkeys
import Runtime
import Sessions
import WireKit

/// The pages of the second factor, and of its enrollment.
@EventLoop enum FactorPages {
  nonisolated static let routes = [
    SignInPages.show(.factor, "Show the form of a second factor") {
      (visit) async throws(Failure) in
      guard case .secondFactor(let flow, let methods) = visit.state.stage else { return nil }
      let hasApp = methods.contains(.totp)
      let target = visit.target(below: "factor/passkey")
      var passkey: PasskeyForm?
      if methods.contains(.passkey) {
        passkey = try visit.call.passkeyForm(target, .usePasskey, errors: visit.errors)
      }
      var newPasskey: PasskeyForm?
      if methods.contains(.enrollPasskey) {
        guard let begun = try await Passkeys.beginEnrolling(in: flow, visit.context) else {
          return nil
        }
        newPasskey = PasskeyForm(begun, .create, target, .addPasskey)
      }
      return .secondFactor(
        hasApp ? visit.target(.factor) : nil, recoveryCode: hasApp ? visit.link(.recovery) : nil,
        passkey: passkey, newPasskey: newPasskey, cancel: visit.cancel, errors: visit.pageErrors
      )
    },
    SignInPages.handle("factor", "Sign in with a second factor") {
      (visit, form) async throws(Failure) in
      guard case .secondFactor(let flow, _) = visit.state.stage else { return .page(.signIn) }
      guard let code = form.code(digits: TimeBasedCode.length) else {
        return .errors([form.malformedCode(digits: TimeBasedCode.length)], on: .factor)
      }
      return try await complete(flow, visit, by: code, on: .factor, wrong: .authenticatorCodeWrong)
    },
    SignInPages.show(.recovery, "Show the form of a recovery code") {
      (visit) async throws(Failure) in
      guard case .secondFactor = visit.state.stage else { return nil }
      return .recoveryCode(
        visit.target(.recovery), authenticator: visit.link(.factor), cancel: visit.cancel,
        errors: visit.pageErrors
      )
    },
    SignInPages.handle("recovery", "Sign in with a recovery code") {
      (visit, form) async throws(Failure) in
      guard case .secondFactor(let flow, _) = visit.state.stage else { return .page(.signIn) }
      let code = form.trimmed(.recoveryCode)
      return try await complete(flow, visit, by: code, on: .recovery, wrong: .recoveryCodeWrong)
    },
    SignInPages.show(.enroll, "Show the form that enrolls a second factor") {
      (visit) async throws(Failure) in
      guard case .enrollment(_, let secret, let uri) = visit.state.stage else { return nil }
      return .setUpAuthenticator(
        visit.target(.enroll), key: secret, uri: uri, person: Person(email: visit.state.email),
        cancel: visit.cancel, errors: visit.pageErrors
      )
    },
    SignInPages.handle("enroll", "Enroll a second factor, and sign in") {
      (visit, form) async throws(Failure) in
      guard case .enrollment(let flow, _, _) = visit.state.stage else { return .page(.signIn) }
      guard let code = form.code(digits: TimeBasedCode.length) else {
        return .errors([form.malformedCode(digits: TimeBasedCode.length)], on: .enroll)
      }
      return try await complete(flow, visit, by: code, on: .enroll, wrong: .authenticatorCodeWrong)
    },
    SignInPages.show(.recoveryCodes, "Show new recovery codes") {
      (visit) async throws(Failure) in
      guard !visit.state.recoveryCodes.isEmpty else { return nil }
      return .recoveryCodes(
        visit.state.recoveryCodes, download: Destination(visit.path(below: "recovery-codes/file")),
        next: visit.target(.recoveryCodes)
      )
    },
    SignInPages.download("recovery-codes/file", "Download new recovery codes") { visit in
      guard !visit.state.recoveryCodes.isEmpty else { return nil }
      return visit.call.recoveryCodeFile(
        visit.state.recoveryCodes, locales: visit.authorization.request.locales
      )
    },
    SignInPages.handle("recovery-codes", "Continue after the recovery codes were saved") {
      (visit, _) async throws(Failure) in
      guard visit.state.hasAuthenticated else { return .page(.signIn) }
      visit.state.recoveryCodes = []
      return visit.nextAfterSignIn
    },
    SignInPages.handle("cancel", "Leave the sign-in without a result") {
      (_, _) async throws(Failure) in .deny
    },
  ]

  private static func complete(
    _ flow: String, _ visit: Visit, by code: String, on page: SignInPage, wrong: FormError.Kind
  ) async throws(Failure) -> Visit.Next {
    if try await AuthenticationFlow.triesLeft(of: flow, visit.context) == nil {
      return expired(visit)
    }
    var recoveryCodes: [String] = []
    do throws(Failure) {
      let next = try await visit.signIn(on: page, wrong: wrong) { () async throws(Failure) in
        do throws(Failure) {
          let result = try await SecondFactorFlow.complete(
            flow, by: code, as: .pages, visit.context
          )
          recoveryCodes = result.recoveryCodes
          return result.session
        } catch .wrongCredentials {
          // The password has changed since the first step.
          throw .authorizationExpired
        }
      }
      guard !recoveryCodes.isEmpty else { return next }
      visit.state.recoveryCodes = recoveryCodes
      return .page(.recoveryCodes)
    } catch .authorizationExpired {
      return expired(visit)
    }
  }

  private static func expired(_ visit: Visit) -> Visit.Next {
    visit.state.stage = .start
    return .errors([FormError(.signInExpired)], on: .signIn)
  }
}

extension Visit {
  /// The form that leaves the sign-in.
  var cancel: FormTarget { target(below: "cancel") }
}
