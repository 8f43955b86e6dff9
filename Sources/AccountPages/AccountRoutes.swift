import Records
import Accounts
import Delivery
package import EventLoop
import Federation
package import HTTP
import HostedPages
import JSON
import Localization
import OpenID
import Pages
import Passkeys
package import Runtime
import Tenancy
import Sessions
import Transfer
package import WireKit

/// The account page, with which users manage their accounts: `/account`.
@EventLoop package enum AccountRoutes {
  package nonisolated static let routes =
    StartPage.routes + overview + ProfilePages.routes + AddressPages.routes + PasswordPages.routes
    + AuthenticatorPages.routes + PasskeyPages.routes + SessionPages.routes + UndoPages.routes
    + IdentityPages.routes + LinkPages.routes + SupportPages.routes
    + ApplicationPages.routes + ConfirmationPages.routes + ServiceConfirmationPages.routes
    + SwitchPages.routes + DeletionPages.routes

  private nonisolated static let overview = [
    AccountVisit.show("/account", "Show the account", show),
    AccountVisit.handle("/account/sign-out", from: .account, "Sign out") {
      (visit, _) async throws(Failure) in
      try await Sessions.logout(visit.user, next: .none, visit.context)
      return visit.call.redirect(to: signedOut)
    },
    Route(
      .get, signedOut.text, access: .open, summary: "Show that the user is signed out"
    ) { (call) async throws(Failure) in try await call.signedOut() },
    AccountVisit.show("/account/data", "Show the download of the data") {
      (visit) async throws(Failure) in
      visit.response(
        with: .data(
          download: Destination(export),
          deletion: Destination(LocalPath(checked: DeletionPages.path)), back: .account
        )
      )
    },
    AccountVisit.show(export.text, "Download all data of the user") {
      (visit) async throws(Failure) in
      let export = try await Export.all(of: visit.user, visit.context)
      var response = Response(.ok, json: export.text(picturePath: PicturePaths.path))
      response.add(.contentDisposition, literal: "attachment; filename=\"account.json\"")
      return response
    },
    Route(
      .get, "/.well-known/change-password", access: .open,
      summary: "Lead password managers to the page of the password"
    ) { (call) throws(Failure) in call.redirect(to: LocalPath(checked: PasswordPages.path)) },
  ]

  private nonisolated static let signedOut = LocalPath(checked: "/account/signed-out")
  private nonisolated static let export = LocalPath(checked: "/account/export")

  private static func show(_ visit: AccountVisit) async throws(Failure) -> Response {
    let (user, context) = (visit.user, visit.context)
    var batch = ReadBatch()
    let readSummary = AccountSummary.addRead(of: user, to: &batch, context)
    let readSessions = AccountSessions.addList(of: user, to: &batch, context)
    let results = try await context.read(batch)
    let (summary, sessions) = (try readSummary(results), try readSessions(results))
    let profile = summary.profile
    var overview = AccountOverview(
      person: visit.person(profile),
      language: profile.locale.flatMap(visit.name(ofLanguage:)),
      zone: profile.zone.map(visit.name(ofZone:)),
      isVerified: profile.isEmailVerified,
      signIn: (summary.hasPassword, summary.hasFactor, summary.recoveryCodesLeft),
      counts: (sessions.count, summary.linkedIdentities, summary.applications)
    )
    overview.canLink = !visit.app.connections.all.isEmpty
    overview.passkeys = summary.passkeys
    let paths = Self.paths(visit, summary)
    // The link of the mail needs an open password.
    if profile.email != nil, !profile.isEmailVerified, paths.address != nil,
      visit.app.accountSettings.isOpen(.password)
    {
      overview.verification = visit.target(AddressPages.verificationPath)
      overview.needsVerification = summary.needsVerification
    }
    overview.mustKeepAuthenticator =
      visit.app.sessionSettings.mfa == .required
      && (summary.passkeys == 0 || !visit.app.passkeySettings.isOpen)
    let isOpen = visit.app.passkeySettings.isOpen
    return visit.response(
      signaling: isOpen ? try await Passkeys.current(of: user, context) : [],
      with: .account(
        overview, back: try await visit.call.wayBack(),
        paths: paths,
        switchAccount: Destination(SwitchPages.path), signOut: visit.target("/account/sign-out"),
        errors: visit.state.errors.pageErrors
      )
    )
  }

  private static func paths(_ visit: AccountVisit, _ summary: AccountSummary) -> AccountPaths {
    func path(_ text: String) -> LocalPath { LocalPath(checked: text) }
    var paths = AccountPaths()
    paths.profile = path(ProfilePages.path)
    paths.picture = path(ProfilePages.picturePath)
    if !summary.profile.isAnonymous, visit.context.mailer.isConfigured {
      paths.address = path(AddressPages.path)
    }
    if summary.hasOwnIdentity, visit.app.accountSettings.isOpen(.password) {
      paths.password = path(PasswordPages.path)
    }
    if visit.app.sessionSettings.mfa != .off {
      paths.authenticator = path(AuthenticatorPages.path)
      paths.recoveryCodes = path(AuthenticatorPages.codesPath)
    }
    if visit.app.passkeySettings.isOpen || summary.passkeys > 0 {
      paths.passkeys = path(PasskeyPages.path)
    }
    paths.sessions = path(SessionPages.path)
    paths.identities = path(IdentityPages.path)
    paths.applications = path(ApplicationPages.path)
    paths.support = path(SupportPages.path)
    paths.data = path("/account/data")
    paths.deletion = path(DeletionPages.path)
    return paths
  }
}

extension Call {
  /// The label of the service at which this browser has last signed in; nil without one.
  private var lastService: String? {
    BrowserNote.connection.text(self).flatMap { context.app.connections.named($0)?.label }
  }

  /// Returns the page after a sign-out.
  ///
  /// It names the service at which this browser has last signed in: its session there goes on, unless
  /// the browser comes from the sign-out there.
  ///
  /// - Throws: `.databaseUnavailable`.
  package func signedOut() async throws(Failure) -> Response {
    let hasOthers = try await !browserUsers().isEmpty
    var back = try await wayBack()
    let values = PageState(of: self).values
    if let id = values[.client].flatMap({ ClientID($0) }),
      let client = try await Clients.client(id, of: context.app.id, context),
      let url = client.settings.logoutPage,
      let destination = Destination(url, of: RedirectTarget(url))
    {
      back = .back(to: client.name, at: destination)
    }
    let next = Destination(hasOthers ? SwitchPages.path : .account)
    let issuer = values[.afterSignOut] == nil ? lastService : nil
    return response(
      with: .signedOut(back: back, next: next, hasOthers: hasOthers, issuer: issuer))
  }
}

extension AccountVisit {
  func person(_ profile: Profile) -> Person {
    Person(name: profile.name, email: profile.email, picture: call.image(profile.picture))
  }

  /// Returns a time zone as people write it.
  func name(ofZone zone: String) -> String { zone.replacing("_", with: " ") }

  /// Returns the name of the language of the pages that fits a locale, in that language.
  func name(ofLanguage locale: String) -> String? {
    call.pages.languages.best(for: locale)?.name ?? locale
  }
}

/// The deletion of the account: `/account/delete`.
@EventLoop enum DeletionPages {
  nonisolated static let path = "/account/delete"

  nonisolated static let routes = [
    AccountVisit.show(path, isFresh: true, "Show the form that deletes the account") {
      (visit) async throws(Failure) in
      visit.response(
        with: .deleteAccount(
          visit.target(path), email: name(of: visit),
          download: Destination(LocalPath(checked: "/account/export")), back: .account,
          errors: visit.state.errors.pageErrors
        )
      )
    },
    AccountVisit.handle(path, isFresh: true, "Delete the account") {
      (visit, form) async throws(Failure) in
      let typed = EmailAddress.canonical(form.trimmed("confirmation"))
      guard typed.hasSameBytes(as: EmailAddress.canonical(name(of: visit))) else {
        let errors = [FormError(.confirmationWrong)]
        return try visit.response(to: errors, of: LocalPath(checked: path))
      }
      try await Users.delete(visit.user, next: .none, visit.context)
      return visit.call.redirect(to: Page.CompletedTask.accountDeleted.path)
    },
  ]

  /// Returns what the user types: the address, or the id of a user without one.
  private static func name(of visit: AccountVisit) -> String {
    visit.browserUser.email ?? visit.user.text
  }
}
