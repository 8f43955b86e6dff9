import Accounts
import Delivery
import EventLoop
import Federation
import HTTP
import HostedPages
import OpenID
import Pages
import RateLimiting
import Runtime
import Sessions
import Tenancy
import WireKit
import JSON
import Records
import OpenIDClient

/// The sign-in at other services: `/u/{authorization}/connect/{connection}`.
@EventLoop enum ConnectionPages {
  private nonisolated static let startPath = "/u/{authorization}/connect/{connection}"
  private nonisolated static let endPath = "/u/{authorization}/connected"

  nonisolated static let routes = [
    Route(.get, startPath, access: .open, summary: "Send the browser to another service") {
      (call) async throws(Failure) in
      try await Visit.respond(to: call) { visit async throws(Failure) in
        try await visit.shown(visit.connection(named: call.text("connection"))) {
          (connection) async throws(Failure) in try await start(visit, at: connection)
        }
      }
    },
    Route(.get, endPath, access: .open, summary: "Sign in by the response of another service") {
      (call) async throws(Failure) in
      guard let text = FormValues(call.request.query)?[RedirectResponse.parameter] else {
        return try await Visit.respond(to: call) { visit in
          call.redirect(to: visit.path(visit.state.page))
        }
      }
      let response = try RedirectResponse(text, at: String(call.request.path), call.context)
      guard response.state.isOf(call.knownBrowser?.text, call.context) else {
        return try await Visit.startAgain(call.originOfPath(), after: .cookiesNeeded, call)
      }
      return try await Visit.respond(to: call) { visit async throws(Failure) in
        try await finish(visit, by: response, text)
      }
    },
    // A redirect after the form of the address would break its `form-action`, also over two hops.
    SignInPages.show(.service, "Lead to the service of a domain") {
      (visit) async throws(Failure) in
      try visit.connectionOfAddress().map { connection in
        .handOver(to: Destination(visit.path(to: connection.key)), client: connection.label)
      }
    },
    SignInPages.show(.link, "Ask to sign in to the account with the same address") {
      (visit) async throws(Failure) in
      guard let pending = visit.pending else { return nil }
      let methods = try visit.methods()
      return .accountExists(
        visit.title(of: pending), email: pending.email,
        signIn: visit.link(methods.takesPassword ? .password : .signIn),
        another: Destination(visit.path(to: pending.connection, choosing: true)))
    },
    SignInPages.show(.notLinked, "Tell that the account at another service was not linked") {
      (visit) async throws(Failure) in
      visit.state.linkError.flatMap(FormError.init).map {
        .notLinked(next: visit.target(.notLinked), $0.pageError())
      }
    },
    SignInPages.handle("not-linked", "Continue without the account at another service") {
      (visit, _) async throws(Failure) in
      guard visit.state.hasAuthenticated else { return .page(.signIn) }
      visit.state.linkError = nil
      return .proceed
    },
  ]

  // MARK: The redirect

  /// Returns the path that begins the sign-in of an authorization at a service.
  static func path(
    to connection: String, of authorization: Authorization, choosing: Bool = false
  ) -> LocalPath {
    let path = "/u/\(authorization.id)/connect/\(connection)"
    return LocalPath(checked: choosing ? "\(path)?\(Visit.choosing)=1" : path)
  }

  private static func start(
    _ visit: Visit, at connection: Connection
  ) async throws(Failure) -> Response {
    try await RateLimitSet(
      RateLimit.ofNetwork(.authorization, visit.context), visit.context
    ).spend()
    let request = visit.authorization.request
    let asksAgain = request.prompts.contains(.login) && !visit.state.isAnother
    // Without a user to confirm, a sign-in there is as good as any. A client that sends `max_age`
    // compares the time itself.
    var needsProof = request.maxAge != nil
    if asksAgain, !needsProof {
      needsProof =
        try await Authorizations.stepUpUser(of: visit.authorization, visit.context) != nil
    }
    let state = RedirectState(
      connection, to: "/u/\(visit.authorization.id)/connected",
      note: String(visit.authorization.step), needsProof: needsProof)
    var wishes = Redirects.Wishes()
    wishes.scopes = request.connectionScopes
    wishes.asksAgain = asksAgain || needsProof
    wishes.choosesAccount =
      request.prompts.contains(.selectAccount) || visit.state.isAnother
      || FormValues(visit.call.request.query)?[Visit.choosing] != nil
    wishes.loginHint = visit.state.email ?? request.loginHint
    wishes.locales = request.locales
    let url = try await Redirects.url(
      at: connection, state, in: visit.call.browser.key.text, of: visit.call.issuer, wishes,
      visit.context)
    return visit.call.redirect(toService: url)
  }

  // MARK: The response

  private static func finish(
    _ visit: Visit, by response: RedirectResponse, _ text: String
  ) async throws(Failure) -> Response {
    try await visit.shown(visit.connection(named: response.state.connection)) {
      (connection) async throws(Failure) in
      try await visit.handle(step: Int(response.state.note) ?? -1, Array(text.utf8)) {
        (visit) async throws(Failure) in
        try await signIn(visit, by: response, of: connection)
      }
    }
  }

  private static func signIn(
    _ visit: Visit, by response: RedirectResponse, of connection: Connection
  ) async throws(Failure) -> Visit.Next {
    let (call, context) = (visit.call, visit.context)
    let account = try await Redirects.account(
      from: response, in: call.knownBrowser?.text, of: call.issuer, context)
    guard let account else { return .page(.signIn) }
    visit.serviceAccount = account.person
    BrowserNote.connection.keep(connection.key, call)
    do throws(Failure) {
      return try await visit.signIn(on: .signIn, wrong: .signInWrong) { () async throws(Failure) in
        do throws(Failure) { return try await account.signIn(as: .pages, context) } catch {
          // The page of the address must not show the errors of an account elsewhere.
          switch error {
          case .wrongCredentials: throw .userBlocked
          case .signUpClosed: throw .identityNotAllowed(because: .signUpClosed)
          default: throw error
          }
        }
      }
    } catch let error where error.is(.accountExists) {
      guard let flow = error["flow"]?.string, let pending = PendingIdentity(flow, context) else {
        throw .identityNotAllowed(because: .addressTaken)
      }
      (visit.state.pendingIdentity, visit.state.email) = (flow, pending.email)
      guard !pending.hasProvedEmail, context.mailer.isConfigured else { return .page(.link) }
      // A stranger may have registered the address. The code takes the account over, and links.
      let code = try await EmailCodes.requestProof(of: pending.email, context)
      visit.state.stage = .mailedCode(flow: code, isOfNewUser: true)
      return .page(.code)
    }
  }
}

extension Visit {
  /// The parameter of a start that lets the user choose an account there.
  fileprivate static let choosing = "choose"

  /// Returns a connection by which the client signs users in; nil without one of this name.
  fileprivate func connection(named name: String) throws(Failure) -> Connection? {
    try methods().connections.first { $0.key.hasSameBytes(as: name) }
  }

  /// Returns the connection of the entered address's domain; nil without one.
  ///
  /// A user who is to link an account there signs in here.
  func connectionOfAddress() throws(Failure) -> Connection? {
    guard pending == nil, let domain = state.email?.split(separator: "@").last else { return nil }
    return try methods().connections.first { $0.isOf(domain: String(domain)) }
  }

  /// Returns the path that begins the sign-in at a service.
  func path(to connection: String, choosing: Bool = false) -> LocalPath {
    ConnectionPages.path(to: connection, of: authorization, choosing: choosing)
  }

  /// Returns the buttons of the services by which the client signs users in; to confirm a user, only
  /// those of services that can make the user sign in again.
  func connectionButtons(confirming confirms: Bool = false) throws(Failure) -> [ConnectionButton] {
    let last = BrowserNote.connection.text(call)
    let connections = try methods().connections
    return connections.filter { !confirms || $0.preset.canForceSignIn }.map { connection in
      ConnectionButton(
        connection.label, mark: ConnectionMark(preset: connection.preset.name),
        to: Destination(path(to: connection.key)),
        isLastUsed: last?.hasSameBytes(as: connection.key) == true)
    }
  }

  /// The account at a service that waits until the user has signed in here.
  var pending: PendingIdentity? {
    state.pendingIdentity.flatMap { PendingIdentity($0, context) }
  }

  func title(of pending: PendingIdentity) -> String {
    app.connections.named(pending.connection)?.label ?? pending.connection
  }

  /// Returns a page that tells that the account is linked after the sign-in, if one waits.
  func linking(_ content: Page, on page: SignInPage) -> Page {
    guard [.signIn, .password, .code].contains(page), let pending else { return content }
    return content.linking(title(of: pending))
  }

  /// Links the account that waits, if the user who has its address has just signed in.
  ///
  /// If it cannot be linked, the user is signed in all the same. `state.linkError` has the reason.
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  func linkPending(to user: UserID) async throws(Failure) {
    guard let pending else { return }
    state.pendingIdentity = nil
    // The user has chosen another account.
    guard pending.user == user else { return }
    let errors = try await call.errors(wrong: .changedMeanwhile) { () async throws(Failure) in
      try await pending.link(to: user, as: nil, context)
    }
    state.linkError = errors.first?.text
  }

  /// Runs a step of a sign-in at a service, and shows a page for what goes wrong there.
  fileprivate func shown(
    _ connection: Connection?, _ work: @EventLoop (Connection) async throws(Failure) -> Response
  ) async throws(Failure) -> Response {
    // The operator may have disabled it since the page was shown.
    guard let connection else { throw .unknownConnection }
    do throws(Failure) { return try await work(connection) } catch {
      guard let page = try page(for: error, of: connection) else { throw error }
      call.failure = error
      return call.response(with: page, error.type.status)
    }
  }

  private func page(for failure: Failure, of connection: Connection) throws(Failure) -> Page? {
    let methods = try methods()
    let hasOthers = methods.takesPassword || methods.takesCode || methods.connections.count > 1
    let other = hasOthers ? Link.otherSignIn(link(.signIn)) : nil
    let title = connection.label
    switch failure {
    case .connectionFailed:
      let again = Destination(path(to: connection.key))
      return .connectionFailed(
        title, requestID: "\(call.request.id)", again: again, other: other)
    case .connectionUnavailable:
      return .connectionUnavailable(title, wait: failure.retryAfter, other: other)
    case .identityNotAllowed, .freshSignInUnproved:
      let another = Destination(path(to: connection.key, choosing: true))
      return .connectionRefused(
        title, Page.ConnectionRefusal(failure), account: serviceAccount, another: another,
        other: other)
    default: return nil
    }
  }
}

extension ConnectedAccount {
  /// The account as pages show it: with its address, also if it does not count here.
  fileprivate var person: Person {
    Person(
      name: identity.profile["name"]?.string,
      email: identity.claims.values["email"]?.string ?? identity.profile["email"]?.string)
  }
}

extension Page.ConnectionRefusal {
  /// Creates the reason of a failure.
  fileprivate init(_ failure: Failure) {
    self =
      switch failure.refusal {
      case .signUpClosed: .signUpClosed
      case .addressTaken: .addressTaken
      case nil: failure.is(.freshSignInUnproved) ? .notConfirmed : .notAllowed
      }
  }
}
