import Accounts
import EventLoop
import Glibc
import HTTP
import HostedPages
import JSON
import OpenID
import Pages
import Passkeys
import Runtime
import Sessions
import Tenancy
import WireKit

/// The pages of the address, the password and a new account.
@EventLoop enum IdentifierPages {
  nonisolated static let routes = [
    SignInPages.show(.signIn, "Show the form of the email address", signInPage),
    SignInPages.handle("sign-in", "Begin to sign in with an email address", identify),
    SignInPages.show(.password, "Show the form of the password", passwordPage),
    SignInPages.handle("password", "Sign in with a password", authenticate),
    SignInPages.show(.signUp, "Show the form of a new account", signUpPage),
    SignInPages.handle("sign-up", "Create an account", signUp),
  ]

  // MARK: The address

  private static func signInPage(_ visit: Visit) async throws(Failure) -> Page? {
    if let page = try await stepUpPage(visit) { return page }
    let client = try visit.client()
    let methods = try visit.methods()
    let kept = BrowserNote.address.text(visit.call)
    let takesAddress = methods.takesPassword || methods.takesCode || methods.connections.isEmpty
    return .signIn(
      takesAddress ? visit.target(.signIn) : nil,
      email: visit.state.email ?? visit.authorization.request.loginHint ?? kept ?? "",
      isRemembered: kept != nil,
      client: client?.name,
      signUp: try visit.takesSignUp ? visit.link(.signUp) : nil,
      passkey: try visit.passkeyForm(fillsAddress: takesAddress, mayBeFirst: takesAddress),
      connections: try visit.connectionButtons(),
      errors: visit.pageErrors
    )
  }

  /// Returns the page on which a signed-in user authenticates again; nil for a sign-in.
  private static func stepUpPage(_ visit: Visit) async throws(Failure) -> Page? {
    guard let (user, email) = try await visit.stepUpUser() else { return nil }
    let client = try visit.client()
    let methods = try visit.methods()
    // A user who has a passkey shows it. Another user first signs in again, and then makes one.
    let needsPasskey = visit.wantsPasskey
    let onlyPasskey = needsPasskey ? try await Passkeys.exist(for: user, visit.context) : false
    return .confirmIdentity(
      visit.target(.password),
      email: email,
      method: onlyPasskey ? .other : methods.takesPassword ? .password : .unsentMailCode,
      resend: methods.takesCode && !onlyPasskey ? CodePages.target(visit) : nil,
      others: Page.OtherConfirmations(
        connections: onlyPasskey ? [] : try visit.connectionButtons(confirming: true),
        passkey: try visit.passkeyForm(isOnly: onlyPasskey)),
      another: visit.target(below: "choose/another"),
      client: client?.name,
      cancel: visit.cancel,
      errors: visit.pageErrors
    )
  }

  /// Leads to the page of the password or of the code, which is the same for all addresses.
  private static func identify(
    _ visit: Visit, _ form: FormValues
  ) async throws(Failure) -> Visit.Next {
    let email = form.trimmed(.email)
    visit.state.email = email
    if let error = FormError.error(ofEmail: email) { return .errors([error], on: .signIn) }
    let isRemembered = form["remember"] != nil
    if isRemembered || BrowserNote.address.text(visit.call) != nil {
      BrowserNote.address.keep(isRemembered ? email : nil, visit.call)
    }
    let client = try visit.client()
    if try await canChoose(visit, client) { return .page(.choose) }
    return try await visit.nextAfterAddress(else: .errors([FormError(.methodClosed)], on: .signIn))
  }

  /// Returns whether a user has signed in meanwhile, as in another tab, who may go on.
  private static func canChoose(_ visit: Visit, _ client: Client?) async throws(Failure) -> Bool {
    let request = visit.authorization.request
    guard !visit.state.isAnother, visit.state.user == nil, !request.needsSignIn,
      request.hintedUser == nil, request.wantedClass == nil, request.maxAge == nil
    else { return false }
    return try await BrowserUsers.list(visit.context).contains {
      client?.accepts($0, in: visit.app) ?? true
    }
  }

  // MARK: The password

  private static func passwordPage(_ visit: Visit) async throws(Failure) -> Page? {
    if let page = try await stepUpPage(visit) { return page }
    guard let email = visit.state.email else { return nil }
    let methods = try visit.methods()
    guard methods.takesPassword else { return nil }
    return .password(
      visit.target(.password, [HiddenField("platform", "")]), email: email,
      change: visit.link(.signIn),
      reset: visit.link(.forgot), mailCode: methods.takesCode ? CodePages.target(visit) : nil,
      passkey: try await visit.passkeyForm(of: email), errors: visit.pageErrors
    )
  }

  private static func authenticate(
    _ visit: Visit, _ form: FormValues
  ) async throws(Failure) -> Visit.Next {
    guard try await visit.knowsEmail() else { return .page(.signIn) }
    guard try visit.methods().takesPassword else {
      return .errors([FormError(.methodClosed)], on: .signIn)
    }
    let password = form.text(.password)
    guard !password.isEmpty else { return .errors([FormError(.passwordMissing)], on: .password) }
    let credentials = Credentials(email: visit.email, password: password)
    let isAble = form["platform"] == "1"
    return try await visit.signIn(on: .password, wrong: .signInWrong, mayOffer: isAble) {
      () async throws(Failure) in
      try await Users.signIn(credentials, as: .pages, reportsBlock: true, visit.context)
    }
  }

  // MARK: A new account

  private static func signUpPage(_ visit: Visit) async throws(Failure) -> Page? {
    try signUpPage(visit, asksPassword: !visit.signsUpByPasskey)
  }

  /// Returns the page of the address of a new user, and of the password unless a passkey comes next.
  static func signUpPage(_ visit: Visit, asksPassword: Bool) throws(Failure) -> Page? {
    guard try visit.takesSignUp else { return nil }
    return .signUp(
      visit.target(.signUp),
      email: visit.state.email ?? visit.authorization.request.loginHint ?? "",
      minimumPassword: asksPassword ? visit.app.accountSettings.passwordMinLength : nil,
      client: try visit.client()?.name,
      signIn: visit.link(.signIn),
      terms: visit.app.brandingSettings.terms,
      passkey: try visit.signsUpByPasskey ? nil : visit.passkeySignUpForm(),
      connections: try visit.connectionButtons(),
      errors: visit.pageErrors
    )
  }

  private static func signUp(
    _ visit: Visit, _ form: FormValues
  ) async throws(Failure) -> Visit.Next {
    guard try visit.takesSignUp else {
      return .errors([FormError(.signUpClosed)], on: .signIn)
    }
    let email = form.trimmed(.email)
    visit.state.email = email
    var page = SignInPage.signUp
    if try visit.signsUpByPasskey {
      guard !visit.app.passkeySettings.isRequired, form[InputName.newPassword.text] != nil else {
        let error = FormError.error(ofEmail: email)
        return error.map { .errors([$0], on: .signUp) } ?? .page(.signUpPasskey)
      }
      page = .signUpPassword
    }
    let password = form.text(.newPassword)
    let errors = [
      FormError.error(ofEmail: email),
      FormError.error(ofNew: password, email: email, in: visit.app),
    ].compactMap(\.self)
    guard errors.isEmpty else { return .errors(errors, on: page) }
    let credentials = Credentials(email: email, password: password)
    var mailed: String?
    let next = try await visit.signIn(on: page, wrong: .emailTaken) {
      () async throws(Failure) -> OpenSession? in
      switch try await Users.register(credentials, as: .pages, visit.context) {
      case .signedIn(let session): return session
      case .codeMailed(let flow):
        mailed = flow
        return nil
      }
    }
    guard let mailed else { return next }
    visit.state.stage = .mailedCode(flow: mailed, isOfNewUser: true)
    return .page(.code)
  }
}

extension Visit {
  /// Returns the page on which the user of the address signs in: the service of its domain, the
  /// password or a code.
  ///
  /// - Parameter other: the step if the client takes none of them.
  /// - Returns: the step.
  /// - Throws: as `CodePages.send`.
  func nextAfterAddress(else other: Next) async throws(Failure) -> Next {
    if try connectionOfAddress() != nil { return .page(.service) }
    let methods = try methods()
    if methods.takesPassword { return .page(.password) }
    return methods.takesCode ? try await CodePages.send(self, from: .signIn) : other
  }

  /// Returns the user who has to authenticate again, with the address; nil for none, or another one.
  func stepUpUser() async throws(Failure) -> (user: UserID, email: String)? {
    guard !state.isAnother, authorization.request.client != .pages,
      let user = try await Authorizations.stepUpUser(of: authorization, context),
      let email = user.email, state.email?.hasSameBytes(as: email) ?? true
    else { return nil }
    return (user.user, email)
  }

  /// Returns whether the address is known: entered, or that of a user who authenticates again.
  func knowsEmail() async throws(Failure) -> Bool {
    if state.email == nil { state.email = try await stepUpUser()?.email }
    return state.email != nil
  }
}
