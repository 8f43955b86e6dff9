import Accounts
import Encoding
import EventLoop
import Federation
import HTTP
import HostedPages
import JSON
import Localization
import OpenID
import Pages
import Runtime
import Tenancy
import WireKit
import Records
import OpenIDClient

/// The identities at other issuers: `/account/identities`.
@EventLoop enum IdentityPages {
  nonisolated static let path = "/account/identities"
  private nonisolated static let unlinkPath = "/account/identities/{identity}"
  private nonisolated static let page = LocalPath(checked: path)

  nonisolated static let routes = [
    AccountVisit.show(path, "List the linked identities") { (visit) async throws(Failure) in
      let identities = try await Identities.list(of: visit.user, visit.context)
      return visit.response(
        with: .identities(
          identities.compactMap { description(of: $0, among: identities, visit) },
          connections: visit.app.connections.all.map { connection in
            ConnectionButton(
              connection.label, mark: ConnectionMark(preset: connection.preset.name),
              to: Destination(LinkPages.path(to: connection)))
          },
          back: .account,
          errors: visit.state.errors.pageErrors
        )
      )
    },
    AccountVisit.handle(path, "Open the page that unlinks an identity") {
      (visit, form) async throws(Failure) in
      guard let id = form["identity"].flatMap({ IdentityID($0) }) else {
        return visit.call.redirect(to: page)
      }
      return visit.call.redirect(to: LocalPath(checked: "\(path)/\(id)"))
    },
    AccountVisit.show(unlinkPath, isFresh: true, "Ask whether to unlink an identity") {
      (visit) async throws(Failure) in
      let id: IdentityID = try visit.call.captured("identity")
      let identities = try await Identities.list(of: visit.user, visit.context)
      guard let identity = identities.first(where: { $0.id == id }),
        let issuer = identity.linkedName(in: visit.app)
      else { return visit.call.redirect(to: page) }
      return visit.response(
        with: .unlinkIdentity(
          visit.target("\(path)/\(id)"), issuer: issuer, back: .account,
          errors: visit.state.errors.pageErrors
        )
      )
    },
    AccountVisit.handle(unlinkPath, isFresh: true, "Unlink an identity") {
      (visit, _) async throws(Failure) in
      let id: IdentityID = try visit.call.captured("identity")
      return try await visit.change(
        on: LocalPath(checked: "\(path)/\(id)"), next: page, notice: .identityUnlinked
      ) { () async throws(Failure) in
        try await Identities.unlink(id, from: visit.user, visit.context)
      }
    },
  ]
}

extension IdentityPages {
  /// Returns the row of an identity; nil for one that has pages of its own.
  private static func description(
    of identity: IdentityInfo, among all: [IdentityInfo], _ visit: AccountVisit
  ) -> IdentityDescription? {
    guard let name = identity.linkedName(in: visit.app) else { return nil }
    let connection = visit.app.connections.connection(of: identity.provider)
    let account = identity.claims["email"]?.string ?? identity.claims["name"]?.string
    return IdentityDescription(
      issuer: .name(name),
      mark: connection.map { ConnectionMark(preset: $0.preset.name) },
      account: account,
      linkedOn: identity.createdAt.day,
      unlink: all.count > 1
        ? visit.target(path, [HiddenField("identity", identity.id.text)]) : nil
    )
  }
}

/// The applications that the user has given access: `/account/applications`.
@EventLoop enum ApplicationPages {
  nonisolated static let path = "/account/applications"
  private nonisolated static let removalPath = "/account/applications/{client}"
  private nonisolated static let page = LocalPath(checked: path)

  nonisolated static let routes = [
    AccountVisit.show(path, "List the applications with access") {
      (visit) async throws(Failure) in
      let consents = try await Consents.list(of: visit.user, visit.context)
      var clients: [ClientID] = []
      for consent in consents where !clients.contains(consent.client) {
        clients.append(consent.client)
      }
      let servers = try await ResourceServers.find(
        anyOf: consents.map(\.audience), of: visit.app.id, visit.context
      )
      let shown = clients.map { client in
        description(of: consents.filter { $0.client == client }, at: servers, client, visit)
      }
      return visit.response(with: .applications(shown, back: .account))
    },
    AccountVisit.handle(path, "Open the page that removes an application") {
      (visit, form) async throws(Failure) in
      guard let id = form["client"].flatMap({ ClientID($0) }) else {
        return visit.call.redirect(to: page)
      }
      return visit.call.redirect(to: LocalPath(checked: "\(path)/\(id)"))
    },
    AccountVisit.show(removalPath, "Ask whether to remove an application") {
      (visit) async throws(Failure) in
      let id: ClientID = try visit.call.captured("client")
      let consents = try await Consents.list(of: visit.user, visit.context)
      guard let consent = consents.first(where: { $0.client == id }) else {
        return visit.call.redirect(to: page)
      }
      return visit.response(
        with: .removeApplication(
          visit.target("\(path)/\(id)"), client: consent.name ?? id.text, back: .account
        )
      )
    },
    AccountVisit.handle(removalPath, from: page, "Remove an application") {
      (visit, _) async throws(Failure) in
      do throws(Failure) {
        try await Consents.revoke(visit.call.captured("client"), by: visit.user, visit.context)
      } catch .notFound {
        // Another tab was first.
      }
      return try visit.report(.applicationRemoved, on: page)
    },
  ]

  private static func description(
    of consents: [Consent], at servers: [ResourceServer], _ client: ClientID, _ visit: AccountVisit
  ) -> ApplicationDescription {
    let groups = consents.flatMap { consent in
      ScopeGroup.groups(
        of: consent.scopes, at: servers.first { $0.identifier.hasSameBytes(as: consent.audience) }
      )
    }
    let newest = consents.map(\.updatedAt.microseconds).max() ?? 0
    return ApplicationDescription(
      name: consents.first?.name ?? client.text, groups: groups,
      grantedOn: Timestamp(microseconds: newest).day,
      remove: visit.target(path, [HiddenField("client", client.text)])
    )
  }
}

extension Timestamp {
  /// The day, in UTC.
  var day: CalendarDay {
    CalendarTime(seconds: seconds, nanoseconds: 0).day
  }
}

extension IdentityInfo {
  /// Returns the issuer as people know it, or the linked address; nil for another identity.
  func linkedName(in app: App) -> String? {
    provider == .linkedPassword ? subject : provider.issuer.map(app.label(ofIssuer:))
  }
}
