import Accounts
import Delivery
import EventLoop
import HTTP
import HostedPages
import Localization
import OpenID
import Pages
import Passkeys
import Runtime
import Sessions
import WireKit

/// A hosted page, and not a page of a list.
typealias Page = Pages.Page

/// The pages that the links of mails open.
///
/// Opening one changes nothing, since programs that scan mails open links. Its form sends the token.
@EventLoop enum MailLinkPages {
  nonisolated static let routes: [Route] =
    VerificationPages.routes + ResetPages.routes + RestorePages.routes + [
      Route(
        .get, "/u/done/{task}", access: .open,
        summary: "Show that the task of a mailed link is done"
      ) { (call) async throws(Failure) in
        let name = call.text("task")
        guard let task = Page.CompletedTask(rawValue: name) else { throw .routeNotFound }
        return try await done(task, call)
      }
    ]

  /// Returns the page of a completed task.
  ///
  /// After a verification, it leads on in the sign-in that waits for it here. Otherwise it leads back to
  /// the client that has sent the user to the account.
  static func done(_ task: Page.CompletedTask, _ call: Call) async throws(Failure) -> Response {
    if task == .passwordSaved, let page = try await passwordSaved(call) {
      return call.response(with: page)
    }
    guard task == .addressConfirmed || task == .alreadyVerified else {
      return call.response(with: task.page)
    }
    guard let waiting = try await Visit.waiting(call), waiting.authorization.code == nil,
      waiting.state.sentMail == .verification
    else {
      let back = try await call.wayBack()
      return call.response(with: back.map { .done(task, next: $0) } ?? task.page)
    }
    let next = Link.next(.continue, to: Destination(waiting.resumption))
    return call.response(with: .done(task, next: next))
  }

  /// Returns the page after a new password that names the passkeys that still sign in; nil if none
  /// does.
  ///
  /// It leads on in the sign-in of this browser that has waited for the password.
  private static func passwordSaved(_ call: Call) async throws(Failure) -> Page? {
    guard let passkeys = PageState(of: call).values[.passkeys].flatMap({ Int($0) }) else {
      return nil
    }
    let waiting = try await Visit.waiting(call)
    guard let waiting, waiting.state.hasAuthenticated else {
      let next = Link.next(.signIn, to: .account)
      return .done(.passwordSaved, next: next, passkeys: passkeys)
    }
    let next = Link.next(.continue, to: Destination(waiting.resumption))
    return .done(.passwordSaved, next: next, passkeys: passkeys, isSignedIn: true)
  }

  /// Returns the path of the page after a new password, which names the passkeys of the user.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - call: the request that has set the password.
  /// - Returns: the path; nil if the user has no passkeys.
  /// - Throws: `.internalError`, `.databaseUnavailable`.
  static func passwordSavedPath(
    of user: UserID, _ call: Call
  ) async throws(Failure) -> LocalPath? {
    let passkeys = try await Passkeys.count(of: user, call.context)
    guard passkeys > 0 else { return nil }
    return try PageState(values: [.passkeys: String(passkeys)])
      .path(Page.CompletedTask.passwordSaved.path, call, for: nil)
  }

  /// Reads the token of a link or of its form.
  ///
  /// - Throws: `.invalidMailToken`, `.databaseUnavailable`.
  static func token(
    _ text: String?, for purpose: EmailToken.Purpose, _ call: Call
  ) async throws(Failure) -> PresentedEmailToken {
    guard let text else { throw .invalidMailToken }
    return try await PresentedEmailToken(text, for: purpose, call.context)
  }

  /// Returns the path of a page with its token.
  static func path(_ name: String, _ token: String) -> LocalPath {
    LocalPath(checked: "/u/\(name)").with("token", token)
  }

  /// Returns the target of a form that sends the token.
  static func target(_ path: String, _ token: String, _ call: Call) -> FormTarget {
    call.target(LocalPath(checked: path), of: path, [HiddenField("token", token)])
  }

  /// Returns the response after the task of a token: to the URL of its ticket, or to a page of ours, by
  /// default that of the task.
  static func completed(
    _ task: Page.CompletedTask, by token: PresentedEmailToken, on page: LocalPath? = nil,
    _ call: Call
  ) -> Response {
    if let url = token.subject.resultURL {
      let target = RedirectTarget(url)
      if let destination = Destination(target.url(with: [("success", "true")]), of: target) {
        return call.response(with: .handOver(to: destination), hasLanguages: false)
      }
    }
    return call.redirect(to: page ?? task.path)
  }

  /// Returns the page of a link that has expired or was used.
  ///
  /// - Parameters:
  ///   - call: the request.
  ///   - label: the label of the link that leads on.
  ///   - next: where it leads.
  /// - Returns: the page.
  static func expired(
    _ call: Call, _ label: MessageKey, to next: LocalPath = .account
  ) -> Response {
    call.response(with: .expiredLink(next: .next(label, to: Destination(next))), .notFound)
  }
}
