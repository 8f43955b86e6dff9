import Accounts
import EventLoop
import HTTP
import HostedPages
import JSON
import OpenID
import Pages
import Passkeys
import Runtime
import Sessions
import WireKit

/// The page of a mailed code.
@EventLoop enum CodePages {
  private nonisolated static let sendPath = "code/send"
  private nonisolated static let againPath = "code/send-again"
  nonisolated static let routes = [
    SignInPages.show(.code, "Show the form of a mailed code", page),
    SignInPages.handle("code", "Sign in with a mailed code", enter),
    SignInPages.handle(sendPath, "Mail a code") { (visit, _) async throws(Failure) in
      guard try await visit.knowsEmail() else { return .page(.signIn) }
      return try await send(visit, from: visit.state.page)
    },
    SignInPages.handle(againPath, "Mail another code to a new user") {
      (visit, _) async throws(Failure) in try await sendAgain(visit)
    },
  ]

  /// Returns the target of the form that mails a code.
  static func target(_ visit: Visit) -> FormTarget { visit.target(below: sendPath) }

  /// Mails a code to the address of the authorization.
  static func send(_ visit: Visit, from page: SignInPage) async throws(Failure) -> Visit.Next {
    guard try visit.methods().takesCode else {
      return .errors([FormError(.methodClosed)], on: page)
    }
    let errors = try await visit.call.errors(wrong: .mailCodeWrong) { () async throws(Failure) in
      let flow = try await EmailCodes.request(for: visit.email, visit.context)
      visit.state.stage = .mailedCode(flow: flow, isOfNewUser: false)
    }
    return errors.isEmpty ? .page(.code) : .errors(errors, on: page)
  }

  /// Mails another code to the address of a new user, who keeps the password or the passkey.
  private static func sendAgain(_ visit: Visit) async throws(Failure) -> Visit.Next {
    guard let flow = visit.state.stage.codeFlow, visit.state.stage.isOfNewUser else {
      return .page(.signIn)
    }
    var isWaiting = true
    let errors = try await visit.call.errors(wrong: .mailCodeWrong) { () async throws(Failure) in
      guard visit.state.pendingIdentity == nil else {
        let flow = try await EmailCodes.requestProof(of: visit.email, visit.context)
        visit.state.stage = .mailedCode(flow: flow, isOfNewUser: true)
        return
      }
      isWaiting = try await Users.mailCodeAgain(of: flow, to: visit.email, visit.context)
    }
    guard isWaiting else {
      visit.state.stage = .start
      return .errors([FormError(.signInExpired)], on: .signUp)
    }
    return errors.isEmpty ? .page(.code) : .errors(errors, on: .code)
  }

  private static func page(_ visit: Visit) async throws(Failure) -> Page? {
    guard visit.state.stage.codeFlow != nil else { return nil }
    let isSignIn = !visit.state.stage.isOfNewUser
    let methods = try visit.methods()
    return .mailCode(
      visit.target(.code),
      email: visit.email,
      for: isSignIn ? .signIn : .verification,
      digits: AuthenticationFlow.length,
      change: visit.link(isSignIn ? .signIn : .signUp),
      resend: isSignIn ? target(visit) : visit.target(below: againPath),
      password: isSignIn && methods.takesPassword ? visit.link(.password) : nil,
      errors: visit.pageErrors
    )
  }

  private static func enter(
    _ visit: Visit, _ form: FormValues
  ) async throws(Failure) -> Visit.Next {
    guard let flow = visit.state.stage.codeFlow else { return .page(.signIn) }
    guard let code = form.code(digits: AuthenticationFlow.length) else {
      return .errors([form.malformedCode(digits: AuthenticationFlow.length)], on: .code)
    }
    return try await visit.signIn(on: .code, wrong: .mailCodeWrong, flow: flow) {
      () async throws(Failure) in
      guard case .newPasskey(_, let text, let ceremony) = visit.state.stage else {
        return try await EmailCodes.signIn(code, flow, as: .pages, visit.context)
      }
      guard let credential = try? JSON.parse(Array(text.utf8)) else {
        throw .passkeyInvalid(reason: "the kept credential is no JSON")
      }
      do throws(Failure) {
        return try await visit.register(by: credential, ceremony, code: code)
      } catch .passkeyFlowExpired {
        // The code has expired with it.
        throw .invalidCode
      }
    }
  }
}

extension Visit {
  /// Returns the target of a form without a page of its own.
  func target(below name: String, _ hidden: [HiddenField] = []) -> FormTarget {
    target(path(below: name), hidden)
  }
}
