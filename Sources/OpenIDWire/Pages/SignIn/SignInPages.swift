import EventLoop
import HTTP
import HostedPages
import OpenID
import Pages
import Runtime
import WireKit

/// The pages that sign a user in: `/u/{authorization}/…`.
@EventLoop enum SignInPages {
  nonisolated static let routes =
    IdentifierPages.routes + CodePages.routes + FactorPages.routes + ForgotPages.routes
    + ChooserPages.routes + ConsentPages.routes + ConnectionPages.routes + WaitingPages.routes
    + PasskeyPages.routes + PasskeyDemandPages.routes

  /// Returns the route that shows a page.
  ///
  /// - Parameters:
  ///   - page: the page.
  ///   - summary: what the page shows.
  ///   - show: returns the page; nil if its form cannot be sent yet, which leads to the current page.
  /// - Returns: the route.
  nonisolated static func show(
    _ page: SignInPage, _ summary: String,
    _ show: @escaping @EventLoop (Visit) async throws(Failure) -> Page?
  ) -> Route {
    Route(.get, path(page.rawValue), access: .open, summary: summary) {
      (call) async throws(Failure) in
      try await Visit.respond(to: call) { visit async throws(Failure) in
        visit.shown = page
        if let content = try await show(visit) {
          return visit.response(with: visit.linking(content, on: page))
        }
        let current = visit.state.page
        return call.redirect(to: visit.path(current == page ? .signIn : current))
      }
    }
  }

  /// Returns the route of a file.
  ///
  /// - Parameters:
  ///   - name: the path below the authorization.
  ///   - summary: the content of the file.
  ///   - file: returns the response; nil if there is no file now, which leads to the current page.
  /// - Returns: the route.
  nonisolated static func download(
    _ name: String, _ summary: String, _ file: @escaping @EventLoop (Visit) -> Response?
  ) -> Route {
    Route(.get, path(name), access: .open, summary: summary) { (call) async throws(Failure) in
      let visit = try await Visit(call)
      return file(visit) ?? call.redirect(to: visit.path(visit.state.page))
    }
  }

  /// Returns the route that handles a form.
  ///
  /// - Parameters:
  ///   - name: the path below the authorization.
  ///   - summary: what the form does.
  ///   - work: as for `Visit.handle`.
  /// - Returns: the route.
  nonisolated static func handle(
    _ name: String, _ summary: String,
    _ work: @escaping @EventLoop (Visit, FormValues) async throws(Failure) -> Visit.Next
  ) -> Route {
    Route(.post, path(name), access: .open, body: .form, summary: summary) {
      (call) async throws(Failure) in try await Visit.handle(call, work)
    }
  }

  private nonisolated static func path(_ name: String) -> String { "/u/{authorization}/\(name)" }
}
