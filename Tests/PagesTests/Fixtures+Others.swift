import Encoding
import Testing

@testable import Localization
@testable import Pages

extension Fixtures {
  private func client(hasLogo: Bool) -> ClientDescription {
    ClientDescription(
      name: text("Contoso Mail"),
      logo: hasLogo ? ImageSource(Self.path("/logo.svg")) : nil,
      target: text("mail.contoso.example"),
      terms: Destination(url: "https://contoso.example/terms"),
      privacy: Destination(url: "https://contoso.example/privacy")
    )
  }

  var scopeGroups: [ScopeGroup] {
    [
      ScopeGroup.standard(["openid", "profile", "email", "offline_access"]),
      ScopeGroup(
        .name(text("Northwind Orders")),
        scopes: [.name(text("Read your orders")), .name(text("Cancel your orders"))]
      ),
    ].compactMap(\.self)
  }

  var consentPages: [(name: String, page: Page)] {
    let others = [
      AccountChoice(person, choice: target(), removal: target()),
      AccountChoice(
        Person(name: nil, email: text("grace.brewster.murray.hopper@navy.example.org")),
        choice: target(), isSignedOut: true, removal: target()
      ),
      AccountChoice(Person(), choice: target(), removal: target()),
    ]
    return [
      (
        "consent",
        .consent(
          target(), client: client(hasLogo: true), person: person, groups: scopeGroups,
          otherUser: Self.link("/accounts")
        )
      ),
      (
        "consent-without-logo",
        .consent(
          target(), client: client(hasLogo: false), person: Person(email: email),
          groups: scopeGroups
        )
      ),
      (
        "confirm-application",
        .confirmApplication(
          target(), client: text("Contoso Desk"), person: person, cancel: target()
        )
      ),
      (
        "confirm-application-issuer",
        .confirmApplication(
          target(), client: text("Contoso Desk"),
          person: Person(name: name, email: email, issuer: text("Google")), cancel: target()
        )
      ),
      ("choose-account", .chooseAccount(others, another: target(), signOutAll: target())),
      ("choose-account-one", .chooseAccount([others[0]], another: target())),
      ("sign-out", .signOut(target(), person: person, stay: target())),
      ("signed-out", .signedOut(next: Self.link("/account"), hasOthers: false)),
      (
        "signed-out-issuer",
        .signedOut(next: Self.link("/account"), hasOthers: false, issuer: text("Google"))
      ),
      (
        "signed-out-client",
        .signedOut(
          back: Self.wayBack(text("Contoso Mail")), next: Self.link("/account/switch"),
          hasOthers: true
        )
      ),
    ]
  }

  var otherPages: [(name: String, page: Page)] {
    let restart = Self.link("/u/t")
    let support = Destination(mailTo: "help@example.com")
    let scheme = Destination(url: "com.contoso.desk:/cb", registeredScheme: "com.contoso.desk")
    return [
      ("hand-over", .handOver(to: Self.callback, client: text("Contoso Mail"))),
      ("hand-over-app", .handOver(to: Self.required(scheme))),
      (
        "form-post",
        .formPost(
          to: Self.callback,
          parameters: [HiddenField("code", text("a")), HiddenField(text("state"), text("b"))],
          nonce: Self.nonce
        )
      ),
      (
        "web-message",
        .webMessage(
          to: Self.clientOrigin, response: [("code", text("a")), ("state", text("b"))],
          nonce: Self.nonce
        )
      ),
      ("error-unknown-application", .unknownApplication()),
      (
        "error-unregistered-redirect",
        .unregisteredRedirect(
          client: text("Contoso Mail"),
          uri: text("https://contoso.example/an/address/that/nobody/has/registered?with=query")
        )
      ),
      ("error-expired", .expired(restart: restart)),
      ("error-other-browser", .otherBrowser(restart: restart)),
      ("signed-in", .signedIn(next: Self.wayBack(text("Contoso Mail")))),
      ("start", .start(nil, account: restart)),
      ("start-signed-in", .start(person, account: restart)),
      ("error-cookies", .cookiesDisabled(reload: restart)),
      ("error-throttled", .throttled(wait: .seconds(754))),
      ("error-blocked", .blocked(support: support)),
      ("error-unavailable", .unavailable(wait: .seconds(30))),
      ("error-link", .expiredLink(next: .next(.signIn, to: restart))),
      ("error-not-found", .notFound(back: restart)),
      ("error-internal", .internalError(requestID: text("5f2b6c1e9a7d4e30b1c2"), support: support)),
    ]
  }
}
