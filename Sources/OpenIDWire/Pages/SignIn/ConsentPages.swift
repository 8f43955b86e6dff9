import EventLoop
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

/// The pages on which the user decides about the client.
@EventLoop enum ConsentPages {
  nonisolated static let routes = [
    SignInPages.show(.consent, "Ask whether a client may use the account", consentPage),
    SignInPages.handle("consent", "Allow or deny a client the use of the account", decide),
    SignInPages.show(.confirm, "Ask whether the user signs in to an app of the device") {
      (visit) async throws(Failure) in
      guard let decision = try await Decision(visit), case .confirm(let user) = decision.step else {
        return nil
      }
      return .confirmApplication(
        visit.target(.confirm, [.user(user.user)]), client: decision.client.name,
        person: visit.call.person(user), cancel: visit.cancel
      )
    },
    SignInPages.handle("confirm", "Confirm that the user signs in to an app of the device") {
      (visit, form) async throws(Failure) in
      guard let decision = try await Decision(visit), case .confirm(let user) = decision.step,
        form.names(user.user)
      else { return .proceed }
      visit.state.user = user.user
      visit.state.hasActed = true
      return .proceed
    },
  ]

  private static func consentPage(_ visit: Visit) async throws(Failure) -> Page? {
    guard let decision = try await Decision(visit),
      case .consent(let user, let scopes) = decision.step
    else { return nil }
    let settings = decision.client.settings
    let client = Pages.ClientDescription(
      name: decision.client.name,
      logo: settings.logoURL.flatMap { ImageSource(url: $0) },
      target: RedirectTarget(visit.authorization.request.redirect).name,
      terms: settings.termsURL.flatMap { Destination(url: $0) },
      privacy: settings.privacyURL.flatMap { Destination(url: $0) }
    )
    return .consent(
      visit.target(.consent, [.user(user.user)]), client: client, person: visit.call.person(user),
      groups: ScopeGroup.groups(of: scopes, at: decision.server), otherUser: visit.link(.choose)
    )
  }

  private static func decide(
    _ visit: Visit, _ form: FormValues
  ) async throws(Failure) -> Visit.Next {
    guard form["decision"]?.utf8.elementsEqual("allow".utf8) == true else { return .deny }
    guard let decision = try await Decision(visit), case .consent(let user, _) = decision.step,
      form.names(user.user)
    else { return .proceed }
    visit.context.principal = user.principal(in: visit.app.id)
    try await Consents.allow(visit.authorization.request, by: user.user, visit.context)
    visit.state.user = user.user
    visit.state.hasConsented = true
    visit.state.hasActed = true
    return .proceed
  }
}

/// The decision that the user of an authorization has to make.
private struct Decision {
  let client: Client
  let server: ResourceServer?
  let step: AuthorizationStep

  /// Reads the step of an authorization; nil for the account page.
  @EventLoop init?(_ visit: Visit) async throws(Failure) {
    guard let client = try visit.client() else { return nil }
    self.client = client
    server = try await visit.authorization.request.server(visit.context)
    step = try await Authorizations.step(
      of: visit.authorization, for: client, at: server, visit.context
    )
  }
}
