import Accounts
import EventLoop
import HTTP
import HostedPages
import Localization
import OpenID
import Pages
import Runtime
import Tenancy
import Sessions
import WireKit

/// The address: `/account/address`.
///
/// A code that is mailed to a new address makes it the user's.
@EventLoop enum AddressPages {
  nonisolated static let path = "/account/address"
  private nonisolated static let codePath = "/account/address/code"
  private nonisolated static let sendPath = "/account/address/send"
  nonisolated static let verificationPath = "/account/address/verify"
  private nonisolated static let page = LocalPath(checked: path)

  nonisolated static let routes = [
    AccountVisit.handle(
      verificationPath, from: .account, isOnce: true, "Mail a link that verifies the address"
    ) { (visit, _) async throws(Failure) in
      let errors = try await visit.call.errors(wrong: .emailMalformed) { () async throws(Failure) in
        try await Emails.requestVerification(of: visit.browserUser.email ?? "", visit.context)
      }
      return try visit.response(to: errors, of: .account, notice: .verificationLinkSent)
    },
    AccountVisit.show(path, isFresh: true, "Show the form of a new address") {
      (visit) async throws(Failure) in
      visit.response(
        with: .changeAddress(
          visit.target(path), current: visit.browserUser.email,
          email: visit.state.values[.email] ?? "", back: .account,
          errors: visit.state.errors.pageErrors
        )
      )
    },
    AccountVisit.handle(path, isFresh: true, isOnce: true, "Mail a code to a new address") {
      (visit, form) async throws(Failure) in try await send(visit, form.trimmed(.email))
    },
    AccountVisit.handle(sendPath, from: page, isFresh: true, isOnce: true, "Mail another code") {
      (visit, form) async throws(Failure) in try await send(visit, form.trimmed(.email))
    },
    AccountVisit.show(codePath, "Show the form of the code") { (visit) async throws(Failure) in
      guard let email = visit.state.values[.email], visit.state.values[.flow] != nil else {
        return visit.call.redirect(to: page)
      }
      return visit.response(
        with: .mailCode(
          visit.target(try PageState(values: visit.state.values).path(codePage, visit.call)),
          email: email,
          for: .verification,
          digits: AuthenticationFlow.length,
          change: Destination(page),
          resend: visit.target(sendPath, [HiddenField(InputName.email.text, email)]),
          errors: visit.state.errors.pageErrors
        )
      )
    },
    AccountVisit.handle(codePath, isOnce: true, "Change the address by the code", change),
  ]

  private nonisolated static let codePage = LocalPath(checked: codePath)

  private static func send(_ visit: AccountVisit, _ email: String) async throws(Failure) -> Response
  {
    var values: [PageState.Value: String] = [.email: email]
    if let error = FormError.error(ofEmail: email) {
      return try visit.response(to: [error], of: page, values)
    }
    var flow: String?
    let errors = try await visit.call.errors(wrong: .emailMalformed) { () async throws(Failure) in
      flow = try await Emails.requestChange(to: email, of: visit.user, visit.context)
    }
    guard let flow else { return try visit.response(to: errors, of: page, values) }
    values[.flow] = flow
    return try visit.call.redirect(to: codePage, showing: PageState(values: values))
  }

  private static func change(
    _ visit: AccountVisit, _ form: FormValues
  ) async throws(Failure) -> Response {
    guard let flow = visit.state.values[.flow] else { return visit.call.redirect(to: page) }
    let digits = AuthenticationFlow.length
    guard let code = form.code(digits: digits) else {
      let errors = [form.malformedCode(digits: digits)]
      return try visit.response(to: errors, of: codePage, visit.state.values)
    }
    let errors = try await visit.call.errors(wrong: .mailCodeWrong, flow: flow) {
      () async throws(Failure) in
      try await Emails.change(code, flow, of: visit.user, visit.context)
    }
    return try visit.response(
      to: errors, of: codePage, visit.state.values, notice: .addressChanged
    )
  }
}

/// The password: `/account/password`.
@EventLoop enum PasswordPages {
  nonisolated static let path = "/account/password"

  nonisolated static let routes = [
    AccountVisit.show(path, "Show the form of a new password", show),
    AccountVisit.handle(path, "Change the password", change),
  ]

  private nonisolated static let page = LocalPath(checked: path)

  private static func show(_ visit: AccountVisit) async throws(Failure) -> Response {
    guard try await visit.hasPassword() else {
      // A user without a password gets the first one by mail, as for a forgotten one.
      return visit.call.redirect(to: .passwordReset)
    }
    return visit.response(
      with: .changePassword(
        visit.target(path), email: visit.browserUser.email ?? "",
        minimumPassword: visit.app.accountSettings.passwordMinLength, back: .account,
        errors: visit.state.errors.pageErrors
      )
    )
  }

  private static func change(
    _ visit: AccountVisit, _ form: FormValues
  ) async throws(Failure) -> Response {
    let (current, new) = (form.text(.password), form.text(.newPassword))
    let missing = [
      current.isEmpty ? FormError(.passwordMissing) : nil,
      FormError.error(ofNew: new, email: visit.browserUser.email, in: visit.app),
    ].compactMap(\.self)
    guard missing.isEmpty else { return try visit.response(to: missing, of: page) }
    var session: OpenSession?
    let errors = try await visit.call.errors(wrong: .passwordWrong) { () async throws(Failure) in
      session = try await Users.changePassword(
        from: current, to: new, of: visit.user, as: .pages, visit.context
      )
    }
    return visit.keep(
      session, in: try visit.response(to: errors, of: page, notice: .passwordChanged)
    )
  }
}

extension AccountVisit {
  /// Returns whether the user signs in with a password.
  func hasPassword() async throws(Failure) -> Bool {
    try await Identities.list(of: user, context).contains { $0.provider == .password }
  }
}
