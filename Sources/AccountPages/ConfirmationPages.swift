import Accounts
import Delivery
import EventLoop
import HTTP
import HostedPages
import Localization
import OpenID
import Pages
import Passkeys
import Runtime
import Sessions
import Tenancy
import WireKit

/// The page that asks for a credential again before a sensitive change: `/account/confirm`.
@EventLoop enum ConfirmationPages {
  private nonisolated static let path = "/account/confirm"
  private nonisolated static let sendPath = "/account/confirm/send"
  private nonisolated static let passkeyPath = "/account/confirm/passkey"
  nonisolated static let page = LocalPath(checked: path)
  /// The parameter with the path of the page that needs the confirmation.
  private nonisolated static let target = PageState.Value.target.rawValue

  /// Returns the path of the page, which then leads to another page of the account.
  nonisolated static func path(to next: String) -> LocalPath { page.with(target, next) }

  nonisolated static let routes = [
    AccountVisit.show(path, "Ask for a credential again", show),
    AccountVisit.handle(path, "Verify a credential again", confirm),
    AccountVisit.handle(passkeyPath, from: page, "Verify a passkey again") {
      (visit, form) async throws(Failure) in
      let next = next(form[target])
      var session: OpenSession?
      let errors = try await visit.call.errors(wrong: .passkeyWrong) { () async throws(Failure) in
        let passkey = try await visit.call.shownPasskey(of: form)
        session = try await Sessions.reauthenticate(
          visit.user, by: .passkey(passkey), as: .pages, visit.context)
      }
      let values = [PageState.Value.target: next.text]
      return visit.keep(
        session, in: try visit.response(to: errors, of: page, values, next: next, notice: nil))
    },
    AccountVisit.handle(sendPath, from: page, isOnce: true, "Mail a code that confirms the user") {
      (visit, form) async throws(Failure) in
      var values = [PageState.Value.target: next(form[target]).text]
      let errors = try await visit.call.errors(wrong: .mailCodeWrong) { () async throws(Failure) in
        values[.flow] = try await EmailCodes.request(
          for: visit.browserUser.email ?? "", visit.context
        )
      }
      let state = PageState(errors: errors, values: values)
      return try visit.call.redirect(to: page, showing: state)
    },
    AccountVisit.handle("/account/confirm/cancel", from: .account, "Leave the confirmation") {
      (visit, _) async throws(Failure) in visit.call.redirect(to: .account)
    },
  ]

  /// Returns a path of the account; the overview in place of any other path.
  static func next(_ text: String?) -> LocalPath {
    guard let text, text.hasPrefix("\(LocalPath.account.text)/") else { return .account }
    return LocalPath(text) ?? .account
  }

  private static func show(_ visit: AccountVisit) async throws(Failure) -> Response {
    let values = visit.state.values
    let next = next(values[.target] ?? FormValues(visit.call.request.query)?[target])
    let hidden = [HiddenField(target, next.text)]
    let needsFactor = try await needsFactor(visit)
    // A code to an address that is not verified would take the account over.
    let isVerified = try await Profiles.read(of: visit.user, visit.context).isEmailVerified
    let takesCode =
      !needsFactor && isVerified && visit.app.accountSettings.isOpen(.emailCode)
      && visit.context.mailer.isConfigured
    let hasCode = values[.flow] != nil
    let hasPassword = try await visit.hasPassword()
    // It replaces the password or the code, and no second factor.
    let services =
      needsFactor ? [] : try await ServiceConfirmationPages.buttons(visit, before: next)
    let passkey =
      try await visit.hasPasskey()
      ? visit.call.passkeyForm(visit.target(passkeyPath, hidden), .usePasskey) : nil
    let method: Page.ConfirmationMethod =
      if needsFactor {
        .authenticator
      } else if hasCode {
        .mailCode(digits: AuthenticationFlow.length)
      } else {
        hasPassword ? .password : services.isEmpty && passkey == nil ? .unsentMailCode : .other
      }
    let page = Page.confirmIdentity(
      visit.target(try PageState(values: values).path(page, visit.call), hidden),
      email: visit.browserUser.email ?? "",
      method: method,
      resend: takesCode ? visit.target(sendPath, hidden) : nil,
      others: Page.OtherConfirmations(
        page: hasCode && hasPassword && !needsFactor ? Destination(path(to: next.text)) : nil,
        connections: services, passkey: passkey),
      cancel: visit.target("/account/confirm/cancel"),
      errors: visit.state.errors.pageErrors
    )
    return visit.response(with: page)
  }

  /// Returns whether only a second factor is missing, which the app may not have had at the sign-in.
  private static func needsFactor(_ visit: AccountVisit) async throws(Failure) -> Bool {
    let authentication = try await Sessions.authentication(of: visit.user, visit.context)
    return authentication.isRecent && !authentication.meetsSecondFactor
  }

  private static func confirm(
    _ visit: AccountVisit, _ form: FormValues
  ) async throws(Failure) -> Response {
    let next = next(form[target])
    var values = visit.state.values
    values[.target] = next.text
    if try await needsFactor(visit) { return try await passFactor(visit, form, next: next) }
    let credential: ReauthenticationCredential
    let wrong: FormError.Kind
    if let flow = values[.flow] {
      let digits = AuthenticationFlow.length
      guard let code = form.code(digits: digits) else {
        return try visit.response(to: [form.malformedCode(digits: digits)], of: page, values)
      }
      (credential, wrong) = (.code(code, flow: flow), .mailCodeWrong)
    } else {
      let password = form.text(.password)
      guard !password.isEmpty else {
        return try visit.response(to: [FormError(.passwordMissing)], of: page, values)
      }
      (credential, wrong) = (.password(password), .passwordWrong)
    }
    var session: OpenSession?
    let errors = try await visit.call.errors(wrong: wrong, flow: values[.flow]) {
      () async throws(Failure) in
      session = try await Sessions.reauthenticate(
        visit.user, by: credential, as: .pages, visit.context
      )
    }
    return visit.keep(
      session,
      in: try visit.response(to: errors, of: page, values, next: next, notice: nil)
    )
  }

  private static func passFactor(
    _ visit: AccountVisit, _ form: FormValues, next: LocalPath
  ) async throws(Failure) -> Response {
    let values = [PageState.Value.target: next.text]
    let digits = TimeBasedCode.length
    // Other texts may be recovery codes.
    let code = form.code(digits: digits) ?? form.trimmed(.code)
    guard !code.isEmpty else {
      return try visit.response(to: [form.malformedCode(digits: digits)], of: page, values)
    }
    var session: OpenSession?
    let errors = try await visit.call.errors(wrong: .authenticatorCodeWrong) {
      () async throws(Failure) in
      session = try await Sessions.passSecondFactor(code, of: visit.user, as: .pages, visit.context)
    }
    return visit.keep(
      session,
      in: try visit.response(to: errors, of: page, values, next: next, notice: nil)
    )
  }
}

extension AccountVisit {
  /// Returns whether the user has a passkey.
  fileprivate func hasPasskey() async throws(Failure) -> Bool {
    guard app.passkeySettings.isOpen else { return false }
    return try await !Passkeys.list(of: user, context).isEmpty
  }
}
