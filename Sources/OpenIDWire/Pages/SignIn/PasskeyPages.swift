import Accounts
import EventLoop
import HTTP
import HostedPages
import JSON
import Localization
import OpenID
import Pages
import Passkeys
import Runtime
import Sessions
import Tenancy
import WireKit

/// Passkeys on the pages of a sign-in.
@EventLoop enum PasskeyPages {
  nonisolated static let routes = [
    SignInPages.handle("passkey", "Sign in with a passkey") {
      (visit, form) async throws(Failure) in
      guard try visit.methods().takesPasskey else {
        return .errors([FormError(.methodClosed)], on: .signIn)
      }
      let page: SignInPage =
        visit.lacksWantedPasskey ? .passkey : visit.state.page == .password ? .password : .signIn
      // A passkey of a phone or a security key, and a device that can keep one too.
      let mayOffer =
        form["platform"] == "1"
        && (try? visit.call.passkey(of: form))?.credential["authenticatorAttachment"]
          == "cross-platform"
      return try await visit.signIn(on: page, wrong: .passkeyWrong, mayOffer: mayOffer) {
        () async throws(Failure) in
        let (credential, flow) = try visit.call.passkey(of: form)
        let session = try await Passkeys.signIn(credential, flow, as: .pages, visit.context)
        visit.call.keep(passkey: credential, of: session.user)
        return session
      }
    },
    SignInPages.handle("sign-up/passkey", "Create an account with a passkey") {
      (visit, form) async throws(Failure) in
      guard try visit.takesPasskeySignUp else {
        return .errors([FormError(.signUpClosed)], on: .signIn)
      }
      guard visit.app.accountSettings.signUp == .verifyFirst else {
        return try await visit.signIn(on: .signUp, wrong: .passkeyWrong) {
          () async throws(Failure) in
          let (credential, flow) = try visit.call.passkey(of: form)
          return try await visit.register(by: credential, flow)
        }
      }
      let errors = try await visit.call.errors(wrong: .passkeyWrong) { () async throws(Failure) in
        let (credential, flow) = try visit.call.passkey(of: form)
        let code = try Passkeys.awaitCode(credential, flow, visit.context)
        visit.state.email = code.email
        visit.state.stage = .newPasskey(
          flow: code.flow, credential: String(decoding: credential.serialized(), as: UTF8.self),
          ceremony: flow)
      }
      return errors.isEmpty ? .page(.code) : .errors(errors, on: .signUp)
    },
    SignInPages.handle("factor/passkey", "Complete a sign-in with a passkey") {
      (visit, form) async throws(Failure) in
      guard case .secondFactor(let flow, _) = visit.state.stage else { return .page(.signIn) }
      return try await visit.signIn(on: .factor, wrong: .passkeyWrong) { () async throws(Failure) in
        let (credential, options) = try visit.call.passkey(of: form)
        let passkey = try await Passkeys.secondStep(credential, options, visit.context)
        let session = try await SecondFactorFlow.complete(
          flow, by: passkey, as: .pages, visit.context)
        visit.call.keep(passkey: credential, of: session.user)
        return session
      }
    },
    SignInPages.show(.offer, "Offer a passkey after another sign-in") {
      (visit) async throws(Failure) in
      guard visit.state.hasAuthenticated, let user = visit.state.user,
        try await visit.actAsUser()
      else { return nil }
      return .offerPasskey(
        try await visit.newPasskeyForm(for: user, .createPasskey, isForThisDevice: true),
        later: visit.target(below: "passkey-offer/later"),
        never: visit.target(below: "passkey-offer/never"), errors: visit.pageErrors)
    },
    SignInPages.handle("passkey-offer", "Add a passkey after another sign-in") {
      (visit, form) async throws(Failure) in
      guard visit.state.hasAuthenticated, let user = visit.state.user,
        try await visit.actAsUser()
      else { return .page(.signIn) }
      let errors = try await visit.call.errors(wrong: .passkeyWrong) { () async throws(Failure) in
        let (credential, flow) = try visit.call.passkey(of: form)
        let added = try await Passkeys.add(
          credential, flow, named: nil, to: user, as: .pages, visit.context)
        visit.state.deviceSecret = added.session.deviceSecret
        visit.call.keep(passkey: credential, of: user)
      }
      let page = visit.lacksWantedPasskey ? SignInPage.passkey : .offer
      return errors.isEmpty ? visit.nextAfterSignIn : .errors(errors, on: page)
    },
    decline("later", .passkeyLater, "Continue without a passkey for some days"),
    decline("never", .passkeyNever, "Continue without a passkey in this browser"),
  ]

  /// Returns the route of an answer that makes no passkey, which the browser keeps.
  private nonisolated static func decline(
    _ name: String, _ note: BrowserNote, _ summary: String
  ) -> Route {
    SignInPages.handle("passkey-offer/\(name)", summary) { (visit, _) async throws(Failure) in
      guard visit.state.hasAuthenticated, let user = visit.state.user else { return .page(.signIn) }
      let others = note.users(visit.call).filter { $0 != user.text }.suffix(30)
      note.keep((others + [user.text]).joined(separator: " "), visit.call)
      return visit.nextAfterSignIn
    }
  }
}

extension BrowserNote {
  /// Returns the users who have given an answer to the offer of a passkey.
  @EventLoop fileprivate func users(_ call: Call) -> [String] {
    text(call)?.split(separator: " ").map(String.init) ?? []
  }
}

extension Visit {
  /// Returns the form that signs in with a passkey; nil if the client takes none.
  ///
  /// - Parameters:
  ///   - fillsAddress: whether the field of the address offers passkeys too.
  ///   - mayBeFirst: whether it stands above the other ways, if the app or the client prefers it.
  ///   - isOnly: whether the page has no other way.
  /// - Returns: the form.
  /// - Throws: `.unknownApplication`, `.internalError`.
  func passkeyForm(
    fillsAddress: Bool = false, mayBeFirst: Bool = false, isOnly: Bool = false
  ) throws(Failure) -> PasskeyForm? {
    guard try methods().takesPasskey else { return nil }
    var form = try call.passkeyForm(passkeyTarget, .signInWithPasskey, errors: errors)
    form?.fillsAddress = fillsAddress
    form?.isFirst = mayBeFirst && (app.passkeySettings.comesFirst || wantsPasskey)
    if isOnly || form?.isFirst == true { form?.style = .primary }
    return form
  }

  /// Returns the form for the user of the address: with the passkey that was used here last, if any.
  func passkeyForm(of email: String) async throws(Failure) -> PasskeyForm? {
    guard try methods().takesPasskey else { return nil }
    if let used = try await call.usedPasskeyForm(of: email, passkeyTarget, .signInWithPasskey) {
      return used
    }
    return try passkeyForm()
  }

  private var passkeyTarget: FormTarget {
    target(below: "passkey", [HiddenField("platform", "")])
  }

  /// Registers the user of a new passkey.
  ///
  /// - Parameters:
  ///   - credential: what the browser has returned.
  ///   - flow: the flow of the options.
  ///   - code: the mailed code; nil if none was mailed.
  /// - Returns: the session.
  /// - Throws: as `Passkeys.register`.
  func register(
    by credential: JSON, _ flow: String, code: String? = nil
  ) async throws(Failure) -> OpenSession {
    let session = try await Passkeys.register(
      credential, flow, named: nil, code: code, as: .pages, context)
    call.keep(passkey: credential, of: session.user)
    return session
  }

  /// Returns the form that makes an account with a passkey; nil if the app takes none.
  ///
  /// Its script gets the options for the address that the user has entered. With `verify_first`, they
  /// mail a code.
  func passkeySignUpForm(hidden: [HiddenField] = []) throws(Failure) -> PasskeyForm? {
    guard try takesPasskeySignUp else { return nil }
    let domain: JSON = ["rp": ["id": .string(app.passkeySettings.relyingPartyID)]]
    var form = PasskeyForm(
      target(below: "sign-up/passkey", hidden), .create, flow: "",
      options: String(decoding: domain.serialized(), as: UTF8.self), label: .signUpWithPasskey)
    form.renewal = LocalPath(checked: "/v1/register/passkey/options")
    return form
  }

  /// Whether a new user may have a passkey in place of a password.
  var takesPasskeySignUp: Bool {
    get throws(Failure) {
      let methods = try methods()
      return methods.takesSignUp && methods.takesPasskey
    }
  }

  /// Acts as the user who has signed in here; returns whether the browser still has its session, and
  /// the user has authenticated there within the last minutes.
  ///
  /// An authorization waits for an hour, in which another person may come to the browser.
  func actAsUser() async throws(Failure) -> Bool {
    let users = try await call.browserUsers()
    guard let own = users.first(where: { $0.user == state.user }) else { return false }
    context.principal = own.principal(in: app.id)
    let authentication = try await Sessions.authentication(of: own.user, context)
    return authentication.isRecent && authentication.meetsSecondFactor
  }

  /// Returns whether to offer a passkey to a user who has just signed in in another way than with a
  /// passkey of this device.
  ///
  /// - Parameters:
  ///   - user: the user, as whom the request acts.
  ///   - isAble: whether the device of the browser can keep passkeys, as its script states.
  /// - Returns: whether the page of the offer comes next.
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  func offersPasskey(to user: UserID, _ isAble: Bool) async throws(Failure) -> Bool {
    guard isAble, !wantsPasskey, authorization.request.client != .pages,
      app.passkeySettings.isOffered,
      try methods().takesPasskey,
      !(BrowserNote.passkeyLater.users(call) + BrowserNote.passkeyNever.users(call))
        .contains(user.text)
    else { return false }
    return try await Passkeys.list(of: user, context).count < app.passkeySettings.limit
  }
}
