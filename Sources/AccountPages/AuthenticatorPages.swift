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
import Tenancy
import WireKit

/// The second factor: `/account/authenticator` and `/account/recovery-codes`.
@EventLoop enum AuthenticatorPages {
  nonisolated static let path = "/account/authenticator"
  nonisolated static let codesPath = "/account/recovery-codes"
  private nonisolated static let setUpPath = "/account/authenticator/set-up"
  private nonisolated static let removalPath = "/account/authenticator/remove"
  private nonisolated static let newCodesPath = "/account/recovery-codes/new"
  private nonisolated static let filePath = "/account/recovery-codes/file"
  private nonisolated static let page = LocalPath(checked: path)
  private nonisolated static let setUpPage = LocalPath(checked: setUpPath)
  private nonisolated static let codesPage = LocalPath(checked: codesPath)

  nonisolated static let routes = [
    AccountVisit.show(path, isFresh: true, "Show the form that turns a second factor on or off") {
      (visit) async throws(Failure) in
      let factors = try await SecondFactors.list(of: visit.user, visit.context).factors
      let (errors, begin) = (visit.state.errors.pageErrors, visit.target(path))
      guard !factors.isEmpty else {
        return visit.response(
          with: .offerAuthenticator(begin, back: .account, errors: errors))
      }
      guard try await !mustKeep(visit) else {
        return visit.response(
          with: .replaceAuthenticator(begin, back: .account, errors: errors))
      }
      return visit.response(
        with: .turnOffAuthenticator(
          visit.target(removalPath), leavesPasskey: isRequired(visit), back: .account))
    },
    AccountVisit.handle(path, isFresh: true, "Make the secret of a second factor", begin),
    AccountVisit.show(setUpPath, isFresh: true, "Show the secret of a second factor") {
      (visit) async throws(Failure) in
      guard let secret = visit.state.values[.secret], let uri = visit.state.values[.uri] else {
        return visit.call.redirect(to: page)
      }
      // The form brings the secret back, so that the page can show it again after an error.
      let own = try PageState(values: visit.state.values).path(setUpPage, visit.call)
      return visit.response(
        with: .setUpAuthenticator(
          visit.target(own), key: secret, uri: uri,
          person: visit.call.person(visit.browserUser),
          cancel: visit.target("/account/authenticator/cancel"),
          errors: visit.state.errors.pageErrors
        ).inAccount()
      )
    },
    AccountVisit.handle(setUpPath, from: page, isFresh: true, "Turn a second factor on", confirm),
    AccountVisit.handle("/account/authenticator/cancel", from: .account, "Leave the set-up") {
      (visit, _) async throws(Failure) in visit.call.redirect(to: .account)
    },
    AccountVisit.handle(removalPath, from: page, isFresh: true, "Turn the second factors off") {
      (visit, _) async throws(Failure) in
      guard try await !mustKeep(visit) else { return visit.call.redirect(to: page) }
      for factor in try await SecondFactors.list(of: visit.user, visit.context).factors {
        do throws(Failure) {
          try await SecondFactors.remove(factor.id, of: visit.user, visit.context)
        } catch .notFound {
          // Another tab was first.
        }
      }
      return try visit.report(.authenticatorTurnedOff)
    },
    AccountVisit.show(codesPath, isFresh: true, "Show the form that replaces recovery codes") {
      (visit) async throws(Failure) in
      visit.response(with: .replaceRecoveryCodes(visit.target(codesPath), back: .account))
    },
    AccountVisit.handle(codesPath, isFresh: true, "Replace the recovery codes") {
      (visit, _) async throws(Failure) in
      do throws(Failure) {
        let codes = try await SecondFactors.makeRecoveryCodes(of: visit.user, visit.context)
        return try show(codes, visit)
      } catch .notFound {
        return visit.call.redirect(to: page)
      }
    },
    AccountVisit.show(newCodesPath, "Show new recovery codes", newCodes),
    AccountVisit.show(filePath, "Download new recovery codes") {
      (visit) async throws(Failure) in
      guard let codes = codes(of: visit) else { return visit.call.redirect(to: codesPage) }
      return visit.call.recoveryCodeFile(codes)
    },
    AccountVisit.handle(
      newCodesPath, from: .account, "Continue after the recovery codes were saved"
    ) { (visit, form) async throws(Failure) in
      try visit.report(form[enrolled] == nil ? .changesSaved : .authenticatorTurnedOn)
    },
  ]

  /// The field of a page with new codes that are those of a new app.
  private nonisolated static let enrolled = "enrolled"

  private static func isRequired(_ visit: AccountVisit) -> Bool {
    visit.app.sessionSettings.mfa == .required
  }

  /// Returns whether the user needs the app to sign in, and can only replace it.
  private static func mustKeep(_ visit: AccountVisit) async throws(Failure) -> Bool {
    guard isRequired(visit) else { return false }
    guard visit.app.passkeySettings.isOpen else { return true }
    return try await !Passkeys.exist(for: visit.user, visit.context)
  }

  private static func begin(
    _ visit: AccountVisit, _ form: FormValues
  ) async throws(Failure) -> Response {
    var values: [PageState.Value: String] = [:]
    let errors = try await visit.call.errors(wrong: .changedMeanwhile) { () async throws(Failure) in
      let enrollment = try await SecondFactors.enroll(visit.user, visit.context)
      values = [.factor: enrollment.id.text, .secret: enrollment.secret, .uri: enrollment.uri]
    }
    guard errors.isEmpty else { return try visit.response(to: errors, of: page) }
    return try visit.call.redirect(to: setUpPage, showing: PageState(values: values))
  }

  private static func confirm(
    _ visit: AccountVisit, _ form: FormValues
  ) async throws(Failure) -> Response {
    let values = visit.state.values
    guard let factor = values[.factor].flatMap({ FactorID($0) }) else {
      return visit.call.redirect(to: page)
    }
    let digits = TimeBasedCode.length
    guard let code = form.code(digits: digits) else {
      return try visit.response(to: [form.malformedCode(digits: digits)], of: setUpPage, values)
    }
    var confirmed: (session: OpenSession, recoveryCodes: [String])?
    do throws(Failure) {
      let errors = try await visit.call.errors(wrong: .authenticatorCodeWrong) {
        () async throws(Failure) in
        confirmed = try await SecondFactors.confirm(
          code, of: factor, by: visit.user, as: .pages, replacing: true, visit.context
        )
      }
      guard let confirmed else { return try visit.response(to: errors, of: setUpPage, values) }
      return visit.keep(confirmed.session, in: try show(confirmed.recoveryCodes, of: factor, visit))
    } catch .notFound {
      // Another tab was first, or has made another secret.
      return visit.call.redirect(to: page)
    }
  }

  // MARK: Recovery codes

  /// Leads to the page of new codes, which the address of the page keeps encrypted for some minutes.
  ///
  /// - `factor`: the new app that they are for; nil for codes in place of others.
  private static func show(
    _ codes: [String], of factor: FactorID? = nil, _ visit: AccountVisit
  ) throws(Failure) -> Response {
    var state = PageState(values: [.codes: codes.joined(separator: " ")])
    state.values[.factor] = factor?.text
    return try visit.call.redirect(to: LocalPath(checked: newCodesPath), showing: state)
  }

  private static func newCodes(_ visit: AccountVisit) throws(Failure) -> Response {
    guard let codes = codes(of: visit) else { return visit.call.redirect(to: codesPage) }
    let hidden = visit.state.values[.factor] == nil ? [] : [HiddenField(enrolled, "true")]
    let file = try visit.state.path(LocalPath(checked: filePath), visit.call)
    return visit.response(
      with: .recoveryCodes(
        codes, download: Destination(file), next: visit.target(newCodesPath, hidden)
      )
      .inAccount()
    )
  }

  /// The codes that the address of the request has; nil without any.
  private static func codes(of visit: AccountVisit) -> [String]? {
    visit.state.values[.codes]?.split(separator: " ").map(String.init)
  }
}
