import Accounts
import EventLoop
import HostedPages
import JSON
import OpenID
import Pages
import Runtime
import Sessions
import Tenancy

extension Visit {
  /// Returns the client of the authorization; nil for the account page.
  ///
  /// - Throws: `.unknownApplication` if it was removed meanwhile.
  func client() throws(Failure) -> Client? {
    authorization.request.client == .pages ? nil : try authorization.requiredClient()
  }

  func methods() throws(Failure) -> SignInMethods {
    SignInMethods(app, try client(), only: authorization.request.connection)
  }

  /// Signs in by a verb of the domain, and returns what follows.
  ///
  /// - Parameters:
  ///   - page: the page of the form.
  ///   - wrong: the error of a wrong password or code.
  ///   - flow: the flow of a mailed code; nil for other credentials.
  ///   - mayOffer: whether the device of the browser can keep a passkey.
  ///   - verb: returns the session, of which only the secret of the device is used; nil if a mailed code
  ///     completes the sign-in.
  /// - Returns: the next page, or the same with errors.
  /// - Throws: a failure that has a page of its own.
  func signIn(
    on page: SignInPage, wrong: FormError.Kind, flow: String? = nil, mayOffer: Bool = false,
    _ verb: @EventLoop () async throws(Failure) -> OpenSession?
  ) async throws(Failure) -> Next {
    do throws(Failure) {
      var session: OpenSession?
      let errors = try await call.errors(wrong: wrong, flow: flow) { () async throws(Failure) in
        session = try await verb()
      }
      guard errors.isEmpty, let session else { return .errors(errors, on: page) }
      let next = try await complete(session)
      guard state.linkError == nil, try await offersPasskey(to: session.user, mayOffer) else {
        return next
      }
      return .page(.offer)
    } catch let error where error.is(.additionalFactorRequired) {
      if [.password, .signUp, .signUpPassword].contains(page) {
        BrowserNote.password.keep(email, call)
      }
      return try await beginSecondStep(error)
    } catch .emailUnverified {
      BrowserNote.password.keep(email, call)
      let errors = try await call.errors(wrong: .emailMalformed) { () async throws(Failure) in
        try await Emails.requestVerification(of: email, context)
      }
      wait(for: .verification)
      return .errors(errors, on: .mailSent)
    }
  }

  /// Keeps that the user has signed in here, and links the account that waits for that.
  func complete(_ session: OpenSession) async throws(Failure) -> Next {
    try await linkPending(to: session.user)
    state.user = session.user
    state.hasAuthenticated = true
    state.hasActed = true
    state.deviceSecret = session.deviceSecret
    state.endStage()
    return nextAfterSignIn
  }

  /// The step after a sign-in: a page if the account that waited was not linked.
  var nextAfterSignIn: Next { state.linkError == nil ? .proceed : .page(.notLinked) }

  // MARK: Second factors

  /// Leads to the page of a second factor, or of its enrollment.
  func beginSecondStep(_ failure: Failure) async throws(Failure) -> Next {
    guard let flow = failure["flow"]?.string else { throw failure }
    let methods = SecondFactorFlow.methods(of: failure)
    guard methods.contains(.enroll) else {
      state.stage = .secondFactor(flow: flow, methods: methods)
      return .page(.factor)
    }
    let enrollment = try await SecondFactorFlow.enroll(flow, context)
    state.stage = .enrollment(flow: flow, secret: enrollment.secret, uri: enrollment.uri)
    return .page(.enroll)
  }
}
