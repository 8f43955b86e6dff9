import Encoding
import EventLoop
import HTTP
import HostedPages
import Localization
import OpenID
import Pages
import Runtime
import Sessions
import WireKit

/// The code by which support sees the account: `/account/support`.
@EventLoop enum SupportPages {
  nonisolated static let path = "/account/support"
  nonisolated static let endPath = "/account/support/end"
  private nonisolated static let page = LocalPath(checked: path)

  nonisolated static let routes = [
    AccountVisit.show(path, "Show the form that makes a code for support") {
      (visit) async throws(Failure) in
      let sessions = try await SupportSessions.list(of: visit.user, visit.context)
      return visit.response(
        with: .support(
          code: visit.state.values[.codes], sessions: sessions.map { CalendarTime($0.expiresAt) },
          create: visit.target(path), end: visit.target(endPath), back: .account,
          errors: visit.state.errors.pageErrors
        ))
    },
    AccountVisit.handle(path, "Make a code for support") { (visit, _) async throws(Failure) in
      var values: [PageState.Value: String] = [:]
      let errors = try await visit.call.errors(wrong: .changedMeanwhile) {
        () async throws(Failure) in
        values = [.codes: try await SupportSessions.makeCode(of: visit.user, visit.context).text]
      }
      return try visit.call.redirect(
        to: page, showing: PageState(errors: errors, values: values))
    },
    AccountVisit.handle(endPath, from: page, "End the access of support") {
      (visit, _) async throws(Failure) in
      try await SupportSessions.endAll(of: visit.user, visit.context)
      return try visit.report(.supportEnded, on: page)
    },
  ]
}

extension CalendarTime {
  init(_ time: Timestamp) {
    self.init(seconds: time.microseconds / 1_000_000, nanoseconds: 0)
  }
}
