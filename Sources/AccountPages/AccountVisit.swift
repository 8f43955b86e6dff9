import Accounts
import Encoding
import EventLoop
package import HTTP
import HostedPages
import JSON
import Localization
import OpenID
import Pages
import Runtime
import Sessions
import Tenancy
import WireKit

/// A page of the account, and not a page of a list.
typealias Page = Pages.Page

/// A request of a signed-in user for a page of the account.
@EventLoop final class AccountVisit {
  let call: Call
  /// The active user of the browser.
  let browserUser: BrowserUser
  /// The state that the last form of this page has left.
  let state: PageState

  var user: UserID { browserUser.user }
  var context: RequestContext { call.context }
  var app: App { context.app }

  /// Finds the active user of the browser, and acts as this user from here on.
  ///
  /// - Returns: nil if no user is active.
  /// - Throws: `.databaseUnavailable`.
  fileprivate init?(_ call: Call) async throws(Failure) {
    let users = try await call.browserUsers()
    guard let active = users.first(where: \.isActive) else { return nil }
    self.call = call
    browserUser = active
    call.context.principal = active.principal(in: call.context.app.id)
    state = PageState(of: call)
  }

  /// The flow of a user's forms, so that a form of one user changes no other.
  private static func flow(of user: UserID) -> String { "account \(user)" }

  // MARK: Routes

  /// Returns the route that shows a page.
  ///
  /// - Parameters:
  ///   - pattern: the path.
  ///   - page: the path of the page whose link the user must have followed; nil for any.
  ///   - isFresh: whether the user must have authenticated within the last minutes.
  ///   - summary: what the page shows.
  ///   - show: returns the response.
  /// - Returns: the route.
  nonisolated static func show(
    _ pattern: String, from page: LocalPath? = nil, isFresh: Bool = false, _ summary: String,
    _ show: @escaping @EventLoop (AccountVisit) async throws(Failure) -> Response
  ) -> Route {
    Route(.get, pattern, access: .open, summary: summary) { (call) async throws(Failure) in
      if let page, call.isFromOtherSite { return call.redirect(to: page) }
      try await call.keepWayBack()
      guard let visit = try await AccountVisit(call) else { return try await signIn(call) }
      do throws(Failure) {
        if isFresh { try await Sessions.requireFreshProof(of: visit.user, visit.context) }
        return try await show(visit)
      } catch .reauthenticationRequired {
        return visit.confirmation(for: call.request.path)
      } catch .sessionEnded {
        return try await signIn(call)
      }
    }
  }

  /// Returns the route that handles a form.
  ///
  /// - Parameters:
  ///   - pattern: the path.
  ///   - page: the path of the page with the form; nil if it is the same.
  ///   - isFresh: whether the user must have authenticated within the last minutes.
  ///   - isOnce: whether a second click gets the response to the first one. The response sets no
  ///     cookie.
  ///   - summary: what the form does.
  ///   - work: returns the response, a redirect.
  /// - Returns: the route.
  nonisolated static func handle(
    _ pattern: String, from page: LocalPath? = nil, isFresh: Bool = false, isOnce: Bool = false,
    _ summary: String,
    _ work: @escaping @EventLoop (AccountVisit, FormValues) async throws(Failure) -> Response
  ) -> Route {
    Route(.post, pattern, access: .open, body: .form, summary: summary) {
      (call) async throws(Failure) in
      let page = page ?? LocalPath(String(call.request.path)) ?? .account
      // The form of a user who is signed out meanwhile has no token to check.
      try call.requireOwnBrowser()
      guard let visit = try await AccountVisit(call) else { return call.redirect(to: page) }
      let form = try call.form(of: flow(of: visit.user))
      return try await visit.handle(from: page, isFresh: isFresh) { () async throws(Failure) in
        guard isOnce else { return try await work(visit, form) }
        return try await call.respondOnce(
          to: form, keyed: { .init($0, of: visit.user, in: visit.app.id) }, orShow: .account
        ) { () async throws(Failure) in
          try await work(visit, form)
        }
      }
    }
  }

  /// Handles a form whose origin was checked.
  func handle(
    from page: LocalPath, isFresh: Bool, _ work: @EventLoop () async throws(Failure) -> Response
  ) async throws(Failure) -> Response {
    do throws(Failure) {
      if isFresh { try await Sessions.requireFreshProof(of: user, context) }
      return try await work()
    } catch .reauthenticationRequired {
      return confirmation(for: page.text[...])
    } catch .sessionEnded {
      // The page then begins a sign-in.
      return call.redirect(to: page)
    }
  }

  /// Returns the route of a form with a file.
  nonisolated static func upload(
    _ pattern: String, limit: Int, _ summary: String,
    _ work: @escaping @EventLoop (AccountVisit, Multipart) async throws(Failure) -> Response
  ) -> Route {
    Route(.post, pattern, access: .open, body: .file(limit: limit), summary: summary) {
      (call) async throws(Failure) in
      try call.requireOwnBrowser()
      guard let visit = try await AccountVisit(call), case .multipart(let form) = call.body else {
        return call.redirect(to: LocalPath(checked: pattern))
      }
      try call.requireOwnForm(form["csrf"]?.text, of: flow(of: visit.user))
      return try await visit.handle(from: LocalPath(checked: pattern), isFresh: false) {
        () async throws(Failure) in try await work(visit, form)
      }
    }
  }

  // MARK: Responses

  /// Returns the target of a form.
  func target(_ path: String, _ hidden: [HiddenField] = []) -> FormTarget {
    target(LocalPath(checked: path), hidden)
  }

  func target(_ path: LocalPath, _ hidden: [HiddenField] = []) -> FormTarget {
    call.target(path, of: Self.flow(of: user), [.once()] + hidden)
  }

  /// Returns the response with a page, which shows the errors or the result of the last form.
  func response(with page: Page) -> Response {
    var page = page
    if let notice = state.values[.notice].flatMap(MessageKey.init) {
      page.notices.append(Notice(.success, .message(notice)))
    }
    return call.response(with: page, errors: state.errors)
  }

  /// Returns the redirect after a change, to a page that reports it.
  ///
  /// - Throws: `.internalError` if the state of the page cannot be encrypted.
  func report(_ notice: MessageKey, on page: LocalPath = .account) throws(Failure) -> Response {
    try call.redirect(to: page, showing: PageState(values: [.notice: notice.rawValue]))
  }

  /// Returns the response to a form.
  ///
  /// - Parameters:
  ///   - errors: the errors, with which the page of the form is shown again.
  ///   - page: the path of the form.
  ///   - values: what the user has entered.
  ///   - next: the path of the next page; by default the overview.
  ///   - notice: the text by which the next page reports the change; nil for none.
  /// - Returns: a redirect.
  /// - Throws: `.internalError` if the errors cannot be encrypted.
  func response(
    to errors: [FormError], of page: LocalPath, _ values: [PageState.Value: String] = [:],
    next: LocalPath = .account, notice: MessageKey? = .changesSaved
  ) throws(Failure) -> Response {
    guard errors.isEmpty else {
      return try call.redirect(to: page, showing: PageState(errors: errors, values: values))
    }
    guard let notice else { return call.redirect(to: next) }
    return try report(notice, on: next)
  }

  /// Changes a thing of the user, such as an identity, which another tab may have removed meanwhile.
  ///
  /// - Parameters:
  ///   - page: the path of the form.
  ///   - list: the path of the next page.
  ///   - notice: the text by which that page reports the change.
  ///   - work: the change; its failure `.notFound` counts as done.
  /// - Returns: a redirect.
  /// - Throws: `.internalError`, and failures of the work that have pages of their own.
  func change(
    on page: LocalPath, next list: LocalPath, notice: MessageKey,
    _ work: @EventLoop () async throws(Failure) -> Void
  ) async throws(Failure) -> Response {
    var errors: [FormError] = []
    do throws(Failure) {
      errors = try await call.errors(wrong: .changedMeanwhile, of: work)
    } catch .notFound {
      // Another tab was first.
    }
    return try response(to: errors, of: page, next: list, notice: notice)
  }

  /// Sets the cookie of a session that has replaced the one of the request.
  func keep(_ session: OpenSession?, in response: Response) -> Response {
    var response = response
    call.set(signInDevice: session?.deviceSecret, in: &response)
    return response
  }

  /// Returns the redirect to the page that asks for a credential again.
  private func confirmation(for page: Substring) -> Response {
    call.redirect(to: ConfirmationPages.path(to: String(page)))
  }

  /// Begins a sign-in that returns to the page of the request.
  static func signIn(_ call: Call) async throws(Failure) -> Response {
    let users = try await call.browserUsers()
    guard users.isEmpty else { return call.redirect(to: SwitchPages.path) }
    let page = String(call.request.path)
    return try await call.beginSignIn(AuthorizationRequest(client: .pages, redirect: page))
  }
}

extension Call {
  /// Whether a page of another site has sent the browser here; false if the browser does not state it.
  ///
  /// - Source: W3C Fetch Metadata Request Headers section 2.4.
  fileprivate var isFromOtherSite: Bool {
    guard let site = request.field(.fetchSite) else { return false }
    return !["same-origin", "none"].contains(where: site.hasSameBytes)
  }
}

extension Multipart.Part {
  /// The content as text; nil if it is not UTF-8.
  var text: String? { String(validating: content, as: UTF8.self) }
}

extension FieldName {
  /// Where the page is that has sent the browser here; absent in older browsers.
  package static let fetchSite = FieldName("Sec-Fetch-Site")
}
