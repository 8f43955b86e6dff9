import Accounts
import EventLoop
import JSON
import OpenID
import Pages
import Runtime
import Sessions
import Tenancy

extension Visit {
  /// Returns the client of the authorization; nil for the account page.
  ///
  /// - Throws: `.unknownApplication` if it was removed meanwhile; `.databaseUnavailable`.
  func client() async throws(Failure) -> Client? {
    let id = authorization.request.client
    guard id != .pages else { return nil }
    guard let client = try await Clients.client(id, of: app.id, context) else {
      throw .unknownApplication
    }
    return client
  }

  func methods() async throws(Failure) -> SignInMethods {
    SignInMethods(app, try await client(), only: authorization.request.connection)
  }

  /// Signs in by a verb of the domain, and returns what follows.
  ///
  /// - Parameters:
  ///   - page: the page of the form.
  ///   - wrong: the error of a wrong password or code.
  ///   - flow: the flow of a mailed code; nil for other credentials.
  ///   - verb: returns the tokens, of which only the secret of the device is used; nil if a mailed code
  ///     completes the sign-in.
  /// - Returns: the next page, or the same with errors.
  /// - Throws: a failure that has a page of its own.
  func signIn(
    on page: SignInPage, wrong: FormError.Kind, flow: String? = nil,
    _ verb: @EventLoop () async throws(Failure) -> Sessions.TokenSet?
  ) async throws(Failure) -> Next {
    do throws(Failure) {
      var tokens: Sessions.TokenSet?
      let errors = try await call.errors(wrong: wrong, flow: flow) { () async throws(Failure) in
        tokens = try await verb()
      }
      guard errors.isEmpty, let tokens else { return .errors(errors, on: page) }
      return complete(tokens)
    } catch let error where error.is(.additionalFactorRequired) {
      if page == .password || page == .signUp { BrowserNote.password.keep(email, call) }
      return try await beginSecondStep(error)
    } catch .emailUnverified {
      BrowserNote.password.keep(email, call)
      let errors = try await call.errors(wrong: .emailMalformed) { () async throws(Failure) in
        try await Emails.requestVerification(of: email, context)
      }
      state.sentMail = .verification
      return .errors(errors, on: .mailSent)
    }
  }

  /// Keeps that the user has signed in here.
  func complete(_ tokens: Sessions.TokenSet) -> Next {
    state.user = tokens.user
    state.hasAuthenticated = true
    state.hasActed = true
    state.deviceSecret = tokens.deviceSecret
    state.flow = nil
    state.values = [:]
    return .proceed
  }

  // MARK: Second factors

  /// Leads to the page of a second factor, or of its enrollment.
  private func beginSecondStep(_ failure: Failure) async throws(Failure) -> Next {
    guard let flow = failure["flow"]?.string else { throw failure }
    state.flow = flow
    let methods = failure["methods"]?.array?.compactMap(\.string) ?? []
    guard methods.contains("enroll") else {
      state.flowKind = .secondFactor
      return .page(.factor)
    }
    let enrollment = try await SecondFactorFlow.enroll(flow, context)
    state.flowKind = .enrollment
    state.enrollment = (enrollment.secret, enrollment.uri)
    return .page(.enroll)
  }
}

/// The effect of a flow's code.
enum FlowKind: String {
  case signIn = "sign_in"
  case registration
  case secondFactor = "second_factor"
  case enrollment

  /// Whether the code is mailed.
  var isOfMail: Bool { self == .signIn || self == .registration }
}

extension AuthorizationState {
  /// The purpose of the flow; nil without a flow.
  var flowKind: FlowKind? {
    get { flow == nil ? nil : values["flow"].flatMap(FlowKind.init) }
    set { values["flow"] = newValue?.rawValue }
  }

  /// The secret of a factor that is enrolled, and its provisioning URI.
  var enrollment: (secret: String, uri: String)? {
    get {
      guard let secret = values["secret"], let uri = values["uri"] else { return nil }
      return (secret, uri)
    }
    set { (values["secret"], values["uri"]) = (newValue?.secret, newValue?.uri) }
  }

  /// The mail that was sent last.
  var sentMail: Page.SentMail? {
    get {
      switch values["mail"] {
      case "reset": .reset
      case "verification": .verification
      default: nil
      }
    }
    set { values["mail"] = newValue.map { $0 == .reset ? "reset" : "verification" } }
  }

  /// Whether the user wants another account than those of the browser.
  var isAnother: Bool {
    get { values["another"] != nil }
    set { values["another"] = newValue ? "1" : nil }
  }
}
