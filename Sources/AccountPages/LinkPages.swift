import Accounts
import EventLoop
import Federation
import HTTP
import HostedPages
import OpenID
import Pages
import Runtime
import Sessions
import Tenancy
import WireKit
import Records
import JSON
import Localization

/// The link of an account at another service: `/account/connect/{connection}`.
///
/// The redirect there and back belongs to one user, who must still be the active one at its end.
@EventLoop enum LinkPages {
  private nonisolated static let startPath = "/account/connect/{connection}"
  private nonisolated static let endPath = "/account/connected"
  private nonisolated static let list = LocalPath(checked: IdentityPages.path)

  nonisolated static let routes = [
    AccountVisit.show(
      startPath, from: list, isFresh: true, "Send the browser to another service to link it"
    ) { (visit) async throws(Failure) in
      guard let connection = visit.app.connections.named(visit.call.text("connection")) else {
        return visit.call.redirect(to: list)
      }
      let state = RedirectState(connection, to: endPath, note: visit.user.text)
      var wishes = Redirects.Wishes()
      wishes.choosesAccount = true
      return try await shown(visit, connection) { () async throws(Failure) in
        let url = try await Redirects.url(
          at: connection, state, in: visit.call.browser.key.text, of: visit.call.issuer, wishes,
          visit.context)
        return visit.call.redirect(toService: url)
      }
    },
    AccountVisit.show(endPath, isFresh: true, "Link the account at another service") {
      (visit) async throws(Failure) in
      guard let text = FormValues(visit.call.request.query)?[RedirectResponse.parameter] else {
        return visit.call.redirect(to: list)
      }
      let response = try RedirectResponse(text, at: endPath, visit.context)
      guard let connection = visit.app.connections.named(response.state.connection),
        response.state.note.hasSameBytes(as: visit.user.text)
      else { throw .redirectStateInvalid }
      return try await shown(visit, connection) { () async throws(Failure) in
        try await link(response, visit)
      }
    },
  ]

  /// Returns the path that begins a link.
  static func path(to connection: Connection) -> LocalPath {
    LocalPath(checked: "/account/connect/\(connection.key)")
  }

  private static func link(
    _ response: RedirectResponse, _ visit: AccountVisit
  ) async throws(Failure) -> Response {
    let account = try await Redirects.account(
      from: response, in: visit.call.knownBrowser?.text, of: visit.call.issuer, visit.context)
    guard let account else { return visit.call.redirect(to: list) }
    var session: OpenSession?
    let errors = try await visit.call.errors(wrong: .identityTaken) { () async throws(Failure) in
      session = try await account.link(to: visit.user, as: .pages, visit.context)
    }
    return visit.keep(
      session,
      in: try visit.response(to: errors, of: list, next: list, notice: .identityLinked))
  }

  private static func shown(
    _ visit: AccountVisit, _ connection: Connection,
    _ work: @EventLoop () async throws(Failure) -> Response
  ) async throws(Failure) -> Response {
    try await visit.shown(
      connection, again: path(to: connection), back: .account(Destination(list)), work)
  }
}

extension AccountVisit {
  /// Runs a step of a redirect, and shows a page for what goes wrong at the service.
  ///
  /// - Parameters:
  ///   - connection: the connection.
  ///   - again: begins the redirect again.
  ///   - back: leads to the page where it began.
  ///   - work: returns the response.
  /// - Returns: the response, or the page.
  /// - Throws: failures that have no page here.
  func shown(
    _ connection: Connection, again: LocalPath, back: Link,
    _ work: @EventLoop () async throws(Failure) -> Response
  ) async throws(Failure) -> Response {
    do throws(Failure) { return try await work() } catch {
      let page: Page
      switch error {
      case .connectionFailed:
        page = .connectionFailed(
          connection.label, requestID: "\(call.request.id)",
          again: Destination(again), other: back)
      case .connectionUnavailable:
        page = .connectionUnavailable(connection.label, wait: error.retryAfter, other: back)
      case .identityNotAllowed:
        page = .connectionRefused(connection.label, .notAllowed, other: back)
      case .freshSignInUnproved:
        page = .connectionRefused(connection.label, .notConfirmed, other: back)
      default: throw error
      }
      call.failure = error
      return call.response(with: page, error.type.status)
    }
  }
}
