import Accounts
import Encoding
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

/// The passkeys of the user: `/account/passkeys`.
@EventLoop enum PasskeyPages {
  nonisolated static let path = AssociationFile.accountPath
  private nonisolated static let addPath = "/account/passkeys/new"
  private nonisolated static let onePath = "/account/passkeys/{identity}"
  private nonisolated static let removalPath = "/account/passkeys/{identity}/remove"
  private nonisolated static let page = LocalPath(checked: path)

  nonisolated static let routes = [
    AccountVisit.show(path, "List the passkeys", show),
    AccountVisit.show(addPath, isFresh: true, "Show the form that adds a passkey") {
      (visit) async throws(Failure) in
      try Passkeys.requireOpen(visit.context)
      var form = PasskeyForm(
        try await Passkeys.beginAdding(to: visit.user, visit.context), .create,
        visit.target(addPath), .addPasskey)
      form.style = .primary
      return visit.response(
        with: .addPasskey(
          form, back: Destination(page), errors: visit.state.errors.pageErrors))
    },
    AccountVisit.handle(addPath, isFresh: true, "Add a passkey") {
      (visit, form) async throws(Failure) in
      var session: OpenSession?
      let errors = try await visit.call.errors(wrong: .passkeyWrong) { () async throws(Failure) in
        let (credential, flow) = try visit.call.passkey(of: form)
        session = try await Passkeys.add(
          credential, flow, named: nil, to: visit.user, as: .pages, visit.context
        ).session
        visit.call.keep(passkey: credential, of: visit.user)
      }
      return visit.keep(
        session,
        in: try visit.response(
          to: errors, of: LocalPath(checked: addPath), next: page, notice: .passkeyAdded))
    },
    AccountVisit.show(onePath, isFresh: true, "Show the form that renames or removes a passkey") {
      (visit) async throws(Failure) in
      let id: IdentityID = try visit.call.captured("identity")
      let passkeys = try await Passkeys.list(of: visit.user, visit.context)
      guard let passkey = passkeys.first(where: { $0.id == id }) else {
        return visit.call.redirect(to: page)
      }
      return visit.response(
        with: .passkey(
          visit.target("\(path)/\(id)"), name: passkey.name,
          removal: visit.target("\(path)/\(id)/remove"), back: Destination(page),
          errors: visit.state.errors.pageErrors))
    },
    AccountVisit.handle(onePath, isFresh: true, "Rename a passkey") {
      (visit, form) async throws(Failure) in
      let id: IdentityID = try visit.call.captured("identity")
      return try await visit.change(
        on: LocalPath(checked: "\(path)/\(id)"), next: page, notice: .changesSaved
      ) { () async throws(Failure) in
        try await Passkeys.rename(id, to: form.trimmed("name"), of: visit.user, visit.context)
      }
    },
    AccountVisit.handle(removalPath, from: page, isFresh: true, "Remove a passkey") {
      (visit, _) async throws(Failure) in
      let id: IdentityID = try visit.call.captured("identity")
      return try await visit.change(
        on: LocalPath(checked: "\(path)/\(id)"), next: page, notice: .passkeyRemoved
      ) { () async throws(Failure) in
        try await Passkeys.remove(id, of: visit.user, visit.context)
      }
    },
  ]

  private static func show(_ visit: AccountVisit) async throws(Failure) -> Response {
    let passkeys = try await Passkeys.current(of: visit.user, visit.context)
    let settings = visit.app.passkeySettings
    let mayAdd = settings.isOpen && passkeys.count < settings.limit
    return visit.response(
      signaling: passkeys,
      with: .passkeys(
        passkeys.map { passkey in
          PasskeyDescription(
            name: passkey.name, madeOn: passkey.createdAt.day, lastUsed: passkey.lastUsedAt?.day,
            page: LocalPath(checked: "\(path)/\(passkey.id)"))
        },
        add: mayAdd ? Destination(LocalPath(checked: addPath)) : nil, back: .account,
        errors: visit.state.errors.pageErrors))
  }
}

extension AccountVisit {
  /// Returns the response with a page that tells the browser which passkeys the user has.
  func response(signaling passkeys: [PasskeyInfo], with page: Page) -> Response {
    let signal = Passkeys.signal(
      passkeys, of: user, named: browserUser.email, browserUser.name, in: app)
    var page = page
    page.automation = signal.map { .signal(String(decoding: $0.serialized(), as: UTF8.self)) }
    return response(with: page)
  }
}
