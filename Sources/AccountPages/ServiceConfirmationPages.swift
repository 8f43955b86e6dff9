import Accounts
import EventLoop
import Federation
import HTTP
import HostedPages
import JSON
import Localization
import OpenID
import OpenIDClient
import Pages
import Records
import Runtime
import Sessions
import Tenancy
import WireKit

/// The confirmation by a sign-in at another service: `/account/confirm/connect/{connection}`.
///
/// The service must state that it has just authenticated the user, and the account there must be one
/// of the user.
@EventLoop enum ServiceConfirmationPages {
  private nonisolated static let startPath = "/account/confirm/connect/{connection}"
  private nonisolated static let endPath = "/account/confirm/connected"
  private nonisolated static let target = PageState.Value.target.rawValue

  nonisolated static let routes = [
    AccountVisit.show(
      startPath, from: ConfirmationPages.page,
      "Send the browser to another service to confirm the user"
    ) { (visit) async throws(Failure) in
      let next = ConfirmationPages.next(FormValues(visit.call.request.query)?[target])
      guard let connection = visit.app.connections.named(visit.call.text("connection")) else {
        return visit.call.redirect(to: ConfirmationPages.path(to: next.text))
      }
      let state = RedirectState(
        connection, to: endPath, note: "\(visit.user) \(next.text)", needsProof: true)
      var wishes = Redirects.Wishes()
      wishes.asksAgain = true
      return try await shown(visit, connection, before: next) { () async throws(Failure) in
        let url = try await Redirects.url(
          at: connection, state, in: visit.call.browser.key.text, of: visit.call.issuer, wishes,
          visit.context)
        return visit.call.redirect(toService: url)
      }
    },
    AccountVisit.show(endPath, "Confirm the user by the response of another service") {
      (visit) async throws(Failure) in
      guard let text = FormValues(visit.call.request.query)?[RedirectResponse.parameter] else {
        return visit.call.redirect(to: ConfirmationPages.path(to: LocalPath.account.text))
      }
      let response = try RedirectResponse(text, at: endPath, visit.context)
      let note = response.state.note.split(separator: " ", maxSplits: 1).map(String.init)
      guard let connection = visit.app.connections.named(response.state.connection),
        note.count == 2, note[0].hasSameBytes(as: visit.user.text)
      else { throw .redirectStateInvalid }
      let next = ConfirmationPages.next(note[1])
      return try await shown(visit, connection, before: next) { () async throws(Failure) in
        try await confirm(visit, response, next: next)
      }
    },
  ]

  /// Returns the buttons of the services that can confirm the user before a page.
  static func buttons(
    _ visit: AccountVisit, before next: LocalPath
  ) async throws(Failure) -> [ConnectionButton] {
    let able = visit.app.connections.all.filter(\.preset.canForceSignIn)
    guard !able.isEmpty else { return [] }
    let identities = try await Identities.list(of: visit.user, visit.context)
    return able.filter { connection in
      identities.contains { connection.isOf($0.provider) }
    }.map { connection in
      ConnectionButton(
        connection.label, mark: ConnectionMark(preset: connection.preset.name),
        to: Destination(path(to: connection, before: next)))
    }
  }

  private static func path(to connection: Connection, before next: LocalPath) -> LocalPath {
    LocalPath(checked: "/account/confirm/connect/\(connection.key)").with(target, next.text)
  }

  private static func confirm(
    _ visit: AccountVisit, _ response: RedirectResponse, next: LocalPath
  ) async throws(Failure) -> Response {
    let page = ConfirmationPages.path(to: next.text)
    let account = try await Redirects.account(
      from: response, in: visit.call.knownBrowser?.text, of: visit.call.issuer, visit.context)
    guard let account else { return visit.call.redirect(to: page) }
    var session: OpenSession?
    let errors = try await visit.call.errors(wrong: .identityOfOther) { () async throws(Failure) in
      session = try await account.reauthenticate(visit.user, as: .pages, visit.context)
    }
    let values = [PageState.Value.target: next.text]
    return visit.keep(
      session,
      in: try visit.response(
        to: errors, of: ConfirmationPages.page, values, next: next, notice: nil))
  }

  private static func shown(
    _ visit: AccountVisit, _ connection: Connection, before next: LocalPath,
    _ work: @EventLoop () async throws(Failure) -> Response
  ) async throws(Failure) -> Response {
    try await visit.shown(
      connection, again: path(to: connection, before: next),
      back: .otherSignIn(Destination(ConfirmationPages.path(to: next.text))), work)
  }
}
