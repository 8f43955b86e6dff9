import Accounts
import EventLoop
import HTTP
import HostedPages
import JSON
import Localization
import OpenID
import Pages
import PasswordHashes
import Runtime
import Sessions
import Tenancy
import WireKit

/// A request for a page of an authorization.
@EventLoop final class Visit {
  let call: Call
  let authorization: Authorization
  /// The state of the pages, as this request changes it.
  var state: AuthorizationState

  init(_ call: Call, _ authorization: Authorization) {
    (self.call, self.authorization) = (call, authorization)
    state = authorization.state
  }

  /// Finds the authorization in the path of a request.
  ///
  /// - Throws: `.cookiesNeeded`, `.authorizationExpired`, `.databaseUnavailable`.
  init(_ call: Call) async throws(Failure) {
    guard let id = AuthorizationID(call.text("authorization")) else { throw .routeNotFound }
    guard let browser = call.knownBrowser else { throw .cookiesNeeded }
    call.findSignInDevice()
    self.call = call
    authorization = try await Authorizations.find(id, in: browser, call.context)
    state = authorization.state
    guard hasPass || call.request.method == .post else { throw .authorizationExpired }
    call.mailInLanguageOfPage(authorization.request.locales)
  }

  var context: RequestContext { call.context }
  var app: App { context.app }

  /// The address of the last identifier; empty before.
  var email: String { state.email ?? "" }

  // MARK: Pages

  /// Returns the path of a page of this authorization.
  func path(_ page: SignInPage) -> LocalPath { page.path(of: authorization) }

  func path(below name: String) -> LocalPath {
    LocalPath(checked: "/u/\(authorization.id)/\(name)")
  }

  func link(_ page: SignInPage) -> Destination { Destination(path(page)) }

  /// Returns the target of a form, which is handled only once.
  func target(_ page: SignInPage, _ hidden: [HiddenField] = []) -> FormTarget {
    target(path(page), hidden)
  }

  func target(_ path: LocalPath, _ hidden: [HiddenField]) -> FormTarget {
    let step = HiddenField(Self.stepField, String(authorization.step))
    return call.target(path, of: authorization.id.text, [step] + hidden)
  }

  /// The text by which the account page reports a sign-in that leads there; nil for none.
  var notice: MessageKey?

  /// The account at a service by which this request signs in; nil until it is known.
  var serviceAccount: Person?

  /// The page that this request shows; nil for a form.
  var shown: SignInPage?

  /// The errors of the last form, if it was that of the shown page.
  var errors: [FormError] {
    shown == state.page ? state.errors.compactMap(FormError.init) : []
  }

  /// The same errors as the page shows them.
  var pageErrors: [PageError] { errors.map { $0.pageError(link(mending: $0.kind)) } }

  /// Returns the link that mends an error in another way; nil without one.
  private func link(mending kind: FormError.Kind) -> Link? {
    switch kind {
    case .emailTaken: Link(.message(.signIn), to: link(.password))
    case .signInWrong: Link(.message(.resetPassword), to: link(.forgot))
    case .browserFull: Link(.message(.chooseAccount), to: link(.choose))
    default: nil
    }
  }

  /// Returns the response with a page, which shows the errors of its last form.
  func response(with page: Page) -> Response {
    call.response(with: page, errors: errors, locales: authorization.request.locales)
  }

  // MARK: Forms

  /// The name of the field with the number of the form.
  private static let stepField = "step"

  /// The step after a form.
  enum Next {
    case page(SignInPage)
    /// The same page, with these errors.
    case errors([FormError], on: SignInPage)
    /// The next step of the authorization, once the user has signed in or acted.
    case proceed
    /// A page that reports something, before the user goes on by `resumption`.
    case report(LocalPath)
    /// The client gets an error.
    case deny
  }

  /// Handles a form, unless another request has handled it.
  ///
  /// - Parameters:
  ///   - call: the request.
  ///   - work: changes `state`, and returns what follows.
  /// - Returns: the response, a redirect to the next page.
  /// - Throws: `.formForged`, `.authorizationExpired`, `.databaseUnavailable`, and failures of the work.
  static func handle(
    _ call: Call, _ work: @EventLoop (Visit, FormValues) async throws(Failure) -> Next
  ) async throws(Failure) -> Response {
    try await respond(to: call) { visit async throws(Failure) in
      try await visit.handle(try call.form(of: visit.authorization.id.text), work)
    }
  }

  private func handle(
    _ form: FormValues, _ work: @EventLoop (Visit, FormValues) async throws(Failure) -> Next
  ) async throws(Failure) -> Response {
    let step = form[Self.stepField].flatMap { Int($0) } ?? -1
    return try await handle(step: step, form.bytes) { (visit) async throws(Failure) in
      try await work(visit, form)
    }
  }

  /// Handles a form or a response of another service, unless another request has handled it.
  ///
  /// - Parameters:
  ///   - step: the number that it brings.
  ///   - content: its bytes, which only its sender can repeat.
  ///   - work: as for `handle(_:_:)`.
  /// - Returns: the response.
  /// - Throws: `.authorizationExpired`, `.databaseUnavailable`, and failures of the work.
  func handle(
    step: Int, _ content: [UInt8],
    _ work: @EventLoop (Visit) async throws(Failure) -> Next
  ) async throws(Failure) -> Response {
    let key = call.browser.key
    let mark = key.mark(of: content, with: sentPass, context.keys.master)
    let isFirst =
      try hasPass
      ? await Authorizations.claim(authorization, step: step, in: key, context) : false
    guard isFirst else {
      let stored = try await Authorizations.find(authorization.id, in: key, context)
      return try await Visit(call, stored).current(after: step, mark)
    }
    (state.errors, state.lastForm, state.hasLedOn) = ([], mark, false)
    let next: Next
    do throws(Failure) {
      next = try await work(self)
    } catch {
      // The user may send the form again.
      _ = try? await Authorizations.settle(authorization, state, context)
      guard error.is(.userBlocked), authorization.request.client != .pages else {
        throw error
      }
      return try AuthorizationSteps.blocked(authorization, call)
    }
    return try await finish(next)
  }

  func finish(_ next: Next) async throws(Failure) -> Response {
    switch next {
    case .page(let page): state.page = page
    case .errors(let errors, let page):
      state.page = page
      state.errors = errors.map(\.text)
    case .proceed, .report: state.hasLedOn = true
    case .deny: break
    }
    if !state.proof.isEmpty, state.proof != authorization.state.proof {
      state.pass = BrowserKey().text
    }
    let settled = Visit(call, try await Authorizations.settle(authorization, state, context))
    settled.notice = notice
    switch next {
    case .page(let page), .errors(_, let page): return settled.marked(call.redirect(to: path(page)))
    case .proceed: return try await settled.proceed()
    case .report(let path): return settled.marked(call.redirect(to: path))
    case .deny: return try settled.deny()
    }
  }

  /// Returns the response for a form that another request has handled.
  ///
  /// A second click gets the cookies too, since the browser ignores the first response. Another form
  /// gets none: its sender may have copied the key of the browser, and does not know the credential.
  /// - Throws: `.authorizationExpired` if the browser has no pass.
  func current(after step: Int, _ mark: String) async throws(Failure) -> Response {
    guard authorization.isRecent, step == authorization.step - 1,
      areSame(state.lastForm.map { Array($0.utf8) }, Array(mark.utf8))
        || state.pass != nil && hasPass
    else {
      guard hasPass else { throw .authorizationExpired }
      return call.redirect(to: path(state.page))
    }
    if state.hasLedOn || authorization.code != nil { return try await proceed() }
    return marked(call.redirect(to: path(state.page)))
  }

  // MARK: The end

  /// Returns the response that continues after the user has signed in or acted.
  func proceed() async throws(Failure) -> Response {
    if let secret = state.deviceSecret {
      // The statements that follow need the device as the browser will have it.
      context.device = DeviceCredential(secret, isCookie: true, context)
      context.deviceRecord = nil
    }
    guard authorization.request.client != .pages else {
      let path = LocalPath(authorization.request.redirect) ?? .account
      guard let notice, let user = state.user else { return marked(call.redirect(to: path)) }
      let reporting = PageState(values: [.notice: notice.rawValue])
      return marked(call.redirect(to: try reporting.path(path, call, for: user)))
    }
    return marked(try await AuthorizationSteps.next(authorization, call))
  }

  private func deny() throws(Failure) -> Response {
    guard authorization.request.client != .pages else { return call.redirect(to: path(.signIn)) }
    return try AuthorizationSteps.deny(authorization, call)
  }

  /// Returns the response with the cookies of the device on which the user has signed in, and of the
  /// browser that has verified a credential.
  private func marked(_ response: Response) -> Response {
    var response = response
    call.set(signInDevice: state.deviceSecret, in: &response)
    if let pass = state.pass {
      let field = Cookie.setting(passCookie, to: pass, for: Authorization.lifetime, .lax)
      response.add(.setCookie, field)
    }
    return response
  }

  /// Whether no credential was verified yet, or the browser is the one where it was.
  var hasPass: Bool {
    guard let pass = authorization.state.pass else { return true }
    return areSame(sentPass.map { Array($0.utf8) }, Array(pass.utf8))
  }

  var sentPass: String? {
    Cookie.value(of: passCookie, in: call.request.field(.cookie))
  }

  private var passCookie: String { "__Host-dossier-pass-\(authorization.id)" }
}

extension AuthorizationState {
  /// The credentials that were verified here; empty before the first one.
  fileprivate var proof: [String] {
    [deviceSecret, stage.factorFlow, hasAuthenticated ? user?.text : nil].compactMap(\.self)
  }

  /// The page that the last form has led to.
  var page: SignInPage {
    get { pageName.flatMap(SignInPage.init) ?? .signIn }
    set { pageName = newValue.rawValue }
  }
}

extension Visit {
  /// Finds the authorization of a page or a form, and handles the request.
  ///
  /// If the authorization has expired, a new one begins with the same request and address. If it is
  /// finished, the user may go on: someone went back to its page, or opened it in another tab. In another
  /// browser, the user may start again.
  ///
  /// - Parameters:
  ///   - call: the request.
  ///   - work: returns the response.
  /// - Returns: the response.
  /// - Throws: `.databaseUnavailable`, and failures of the work and of a restart.
  static func respond(
    to call: Call, _ work: @EventLoop (Visit) async throws(Failure) -> Response
  ) async throws(Failure) -> Response {
    do throws(Failure) {
      return try await work(Visit(call))
    } catch .authorizationExpired {
      return try await restart(call)
    } catch .cookiesNeeded {
      return try await startAgain(call.originOfPath(), after: .cookiesNeeded, call)
    }
  }

  /// Returns the page that leads on after a sign-in that is finished.
  private static func finished(
    _ origin: AuthorizationOrigin, _ call: Call
  ) async throws(Failure) -> Response {
    let client = try await call.client(of: origin)
    let next =
      client.map { Link.back(to: $0.name, at: $0.home, style: .primary) }
      ?? .next(.account, to: .account)
    return call.response(with: .signedIn(next: next))
  }

  /// Returns the page that leads to a new sign-in, of the same client.
  ///
  /// Only the client can begin its sign-in, since it keeps the state of the request in the browser.
  static func startAgain(
    _ origin: AuthorizationOrigin?, after failure: Failure, _ call: Call
  ) async throws(Failure) -> Response {
    call.failure = failure
    let restart = try await call.client(of: origin)?.home ?? .account
    return failure.is(.cookiesNeeded)
      ? call.response(with: .otherBrowser(restart: restart), .forbidden)
      : call.response(with: .expired(restart: restart), failure.type.status)
  }

  /// Begins an expired authorization again, and tells the user so on the first page.
  ///
  /// The request is checked again, because clients change. Of the old state, only the address and the
  /// language remain.
  /// - Throws: `.authorizationExpired` if the resource server is gone; `.unknownApplication`,
  ///   `.unregisteredRedirect`, `.tooManyAttempts`, `.databaseUnavailable`.
  private static func restart(_ call: Call) async throws(Failure) -> Response {
    let context = call.context
    guard let id = AuthorizationID(call.text("authorization")), let browser = call.knownBrowser,
      let expired = try await Authorizations.expired(id, in: browser, context)
    else {
      let origin = try await call.originOfPath()
      if let origin, origin.isFinished, try await !call.browserUsers().isEmpty {
        return try await finished(origin, call)
      }
      return try await startAgain(origin, after: .authorizationExpired, call)
    }
    let request = expired.request
    if request.client != .pages {
      let client = try expired.requiredClient()
      guard client.mayReceive(at: request.redirect, by: request.mode) else {
        throw .unregisteredRedirect(request.redirect, client: client.name)
      }
      if request.audience != nil, try await request.server(context) == nil {
        throw .authorizationExpired
      }
    }
    let begun = try await Authorizations.begin(request, for: expired.client, in: browser, context)
    let visit = Visit(call, begun)
    let form = call.request.method == .post ? try? call.form(of: id.text) : nil
    visit.state.email = form?["email"] ?? expired.state.email
    return try await visit.finish(.errors([FormError(.signInExpired)], on: .signIn))
  }
}

extension Call {
  /// Returns where the authorization in the path began, in any browser and in any state.
  ///
  /// - Returns: its client and callback URL; nil for an unknown authorization.
  /// - Throws: `.databaseUnavailable`.
  func originOfPath() async throws(Failure) -> AuthorizationOrigin? {
    guard let id = AuthorizationID(text("authorization")) else { return nil }
    return try await Authorizations.origin(of: id, context)
  }

  /// Returns the client that began an authorization.
  ///
  /// - Returns: its name, and the page of it to which a link leads; nil if it has none on the web.
  /// - Throws: `.databaseUnavailable`.
  fileprivate func client(
    of origin: AuthorizationOrigin?
  ) async throws(Failure) -> (name: String, home: Destination)? {
    guard let origin,
      let client = try await Clients.client(origin.client, of: context.app.id, context)
    else { return nil }
    return client.home(besides: origin.redirect).map { (client.name, $0) }
  }
}

extension Client {
  /// Returns the page to which a link leads back; nil for a client without pages on the web.
  ///
  /// - Parameter redirect: a callback URL, which has the origin of the page.
  /// - Returns: a logout URL of that origin, or else the origin.
  func home(besides redirect: String) -> Destination? {
    guard let origin = RedirectTarget(redirect).origin else { return nil }
    let own = settings.logoutURLs.first {
      RedirectTarget($0).origin?.hasSameBytes(as: origin) == true
    }
    return Destination(url: own ?? origin)
  }
}
