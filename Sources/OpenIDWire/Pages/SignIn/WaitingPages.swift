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
import WireKit

/// A sign-in whose user opens the link of a mail, in another tab or on another device.
@EventLoop enum WaitingPages {
  nonisolated static let routes = [
    Route(
      .get, "/u/{authorization}/waiting", access: .open,
      summary: "Report whether a sign-in still waits for the link of a mail: 204, or 200 if not",
      report
    ),
    Route(
      .get, "/u/{authorization}/resume", access: .open,
      summary: "Continue a sign-in after the link of a mail was opened", resume
    ),
  ]

  private static func report(_ call: Call) async throws(Failure) -> Response {
    var isWaiting = false
    do throws(Failure) {
      isWaiting = try await Visit(call).isWaiting
    } catch .authorizationExpired {
      // The tab of the link has finished it.
    }
    var response = Response(isWaiting ? .noContent : .ok)
    response.add(.cacheControl, literal: "no-store")
    return response
  }

  private static func resume(_ call: Call) async throws(Failure) -> Response {
    try await Visit.respond(to: call) { visit async throws(Failure) in
      try await visit.resume()
    }
  }
}

extension Visit {
  /// Returns the sign-in of this browser that has asked for a mail; nil for none.
  ///
  /// - Throws: `.databaseUnavailable`.
  static func waiting(_ call: Call) async throws(Failure) -> Visit? {
    guard let id = BrowserNote.waiting.text(call).flatMap({ AuthorizationID($0) }) else {
      return nil
    }
    call.findSignInDevice()
    do throws(Failure) {
      return Visit(call, try await Authorizations.find(id, in: call.knownBrowser, call.context))
    } catch .authorizationExpired {
      return nil
    }
  }

  /// Keeps in the browser that this sign-in has asked for a mail.
  func wait(for mail: AuthorizationState.SentMail) {
    state.sentMail = mail
    BrowserNote.waiting.keep(authorization.id.text, call)
  }

  /// Where a user continues who has opened the link of the mail.
  var resumption: LocalPath { path(below: "resume") }

  /// Whether the tab of the sign-in has nothing to do but wait.
  ///
  /// The tab of the link takes the code to the client. If the client does not exchange it soon, it may
  /// have kept its state in the first tab, which then takes the code there.
  fileprivate var isWaiting: Bool {
    guard authorization.code == nil else { return authorization.isRecent }
    return state.page == .mailSent && !state.hasAuthenticated
  }

  /// Continues with the user who has signed in, or else leads to the form of the password.
  fileprivate func resume() async throws(Failure) -> Response {
    if authorization.code != nil || state.hasAuthenticated { return try await proceed() }
    guard state.page == .mailSent else { return call.redirect(to: path(state.page)) }
    if !state.isAnother, try await call.browserUsers().contains(where: \.isActive) {
      return try await proceed()
    }
    return call.redirect(to: path(.password))
  }

  /// Handles the form of a mailed link as one of this sign-in.
  ///
  /// A second click gets the response to the first one, although the token of a link works once.
  /// - Parameters:
  ///   - form: the form.
  ///   - work: changes `state`, and returns what follows; nil if it leaves the sign-in as it was.
  /// - Returns: the response; nil if the sign-in does not go on.
  /// - Throws: `.databaseUnavailable`, and failures of the work.
  func handle(
    ofLink form: FormValues, _ work: @EventLoop (Visit) async throws(Failure) -> Next?
  ) async throws(Failure) -> Response? {
    let key = call.browser.key
    let mark = key.mark(of: form.bytes, with: sentPass, context.keys.master)
    guard hasPass || hasHandled(mark) else { return nil }
    let step = authorization.step
    let (isFirst, stored): (Bool, Authorization)
    do throws(Failure) {
      isFirst = try await Authorizations.claim(authorization, step: step, in: key, context)
      // Another request may have settled it since it was read.
      stored = try await Authorizations.find(authorization.id, in: key, context)
    } catch .authorizationExpired {
      return nil
    }
    var visit = Visit(call, stored)
    if isFirst, !visit.hasHandled(mark), visit.hasPass { return try await visit.handle(mark, work) }
    if isFirst {
      do throws(Failure) {
        _ = try await Authorizations.settle(stored, stored.state, context)
      } catch .authorizationExpired {
        // The other request has ended it by a code meanwhile, which this one gets too.
        visit = Visit(call, try await Authorizations.find(authorization.id, in: key, context))
      }
    }
    guard visit.hasHandled(mark) else { return nil }
    return try await visit.current(after: visit.authorization.step - 1, mark)
  }

  /// Handles a form of a link that no other request handles.
  private func handle(
    _ mark: String, _ work: @EventLoop (Visit) async throws(Failure) -> Next?
  ) async throws(Failure) -> Response? {
    let before = state
    (state.errors, state.lastForm, state.hasLedOn) = ([], mark, false)
    do throws(Failure) {
      if let next = try await work(self) { return try await finish(next) }
    } catch {
      // The user may send the form again.
      _ = try? await Authorizations.settle(authorization, before, context)
      throw error
    }
    _ = try await Authorizations.settle(authorization, before, context)
    return nil
  }

  /// Returns whether the last form was the one with this mark, some seconds ago.
  private func hasHandled(_ mark: String) -> Bool {
    authorization.isRecent && areSame(state.lastForm.map { Array($0.utf8) }, Array(mark.utf8))
  }

  /// Returns whether the user has entered an address.
  func isOf(_ email: String) async throws(Failure) -> Bool {
    guard let own = state.email else { return false }
    let key = try await EmailAddress(email, context).key
    return try await EmailAddress(own, context).key.hasSameBytes(as: key)
  }
}
