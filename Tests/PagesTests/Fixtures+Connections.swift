import Encoding
import Testing

@testable import Localization
@testable import Pages

extension Fixtures {
  /// A button for each mark, and for an issuer without one.
  var connections: [ConnectionButton] {
    [
      ("Google", .google), ("Apple", .apple), ("Microsoft", .microsoft), ("GitHub", .github),
      ("GitLab", .gitlab), ("Facebook", .facebook), ("Discord", .discord), ("LinkedIn", .linkedin),
      ("X", .x), ("Slack", .slack), ("Contoso Industries", .other),
    ].map { button($0, $1) }
  }

  func button(
    _ label: String, _ mark: ConnectionMark, isLastUsed: Bool = false
  ) -> ConnectionButton {
    ConnectionButton(
      text(label), mark: mark, to: Self.link("/u/t/0123/connect/\(mark)"), isLastUsed: isLastUsed
    )
  }

  var connectionPages: [(name: String, page: Page)] {
    let signUp = Self.link("/u/t/0123/sign-up")
    let few = [
      button("Google", .google, isLastUsed: true), button("Apple", .apple),
      button("Contoso Industries", .other),
    ]
    let many = (0..<9).map { button("Issuer \($0)", .other) }
    let unfolded = connections + [button("Last", .other, isLastUsed: true)]
    return [
      ("sign-in-connections", .signIn(target(), signUp: signUp, connections: few)),
      (
        "sign-in-connections-error",
        .signIn(target(), signUp: signUp, connections: few, errors: [.form(.emailMissing)])
      ),
      (
        "sign-in-connections-20",
        .signIn(target(), signUp: signUp, connections: connections + many)
      ),
      ("sign-in-connections-unfolded", .signIn(target(), connections: unfolded)),
      ("sign-in-only-connections", .signIn(nil, client: text("Contoso Mail"), connections: few)),
      (
        "sign-up-connections",
        .signUp(
          target(), minimumPassword: 15, signIn: Self.link("/u/t/0123"),
          terms: Self.link("/terms"), connections: [few[0]]
        )
      ),
      (
        "confirm-identity-connections",
        .confirmIdentity(
          target(), email: email, method: .password, resend: target(),
          others: Page.OtherConfirmations(connections: few), cancel: target()
        )
      ),
      (
        "confirm-identity-only-connections",
        .confirmIdentity(
          target(), email: "", method: .other,
          others: Page.OtherConfirmations(connections: [few[1]]), cancel: target()
        )
      ),
      (
        "password-linking",
        Page.password(target(), email: email, change: Self.link("/u/t/0123")).linking(
          text("Google")
        )
      ),
    ] + connectionResults + linkedPages
  }

  private var connectionResults: [(name: String, page: Page)] {
    let issuer = text("Google")
    let again = Self.link("/u/t/0123/connect/google")
    let other = Link.otherSignIn(Self.link("/u/t/0123"))
    let account = Person(name: name, email: text("ada@contoso.example"))
    return [
      (
        "connection-failed",
        .connectionFailed(issuer, requestID: text("5f2b6c1e9a7d"), again: again, other: other)
      ),
      (
        "connection-failed-account",
        .connectionFailed(
          issuer, requestID: text("5f2b6c1e9a7d"), again: again, other: .account(back)
        )
      ),
      ("connection-unavailable", .connectionUnavailable(issuer, wait: .seconds(30), other: other)),
      ("connection-unavailable-always", .connectionUnavailable(issuer)),
      ("not-linked", .notLinked(next: target(), .form(.identityLimit))),
      (
        "account-exists",
        .accountExists(issuer, email: email, signIn: Self.link("/u/t/0123"), another: again)
      ),
    ]
      + Page.ConnectionRefusal.allCases.map { refusal in
        (
          "connection-refused-\(refusal)",
          .connectionRefused(
            issuer, refusal, account: account, another: refusal == .signUpClosed ? nil : again,
            other: other
          )
        )
      }
  }

  private var linkedPages: [(name: String, page: Page)] {
    let day = CalendarDay(number: 20_514)
    let identities = [
      IdentityDescription(
        issuer: .name(text("Google")), mark: .google, account: text("ada@contoso.example"),
        linkedOn: day, lastUsed: day, unlink: target()
      ),
      IdentityDescription(
        issuer: .name(text("https://login.contoso.example/tenants/0123")), mark: .other,
        account: text("Ada Lovelace"), linkedOn: day
      ),
    ]
    return [
      (
        "link-identity",
        .linkIdentity(target(), issuer: text("Google"), to: Person(name: name, email: email))
      ),
      ("link-identity-guest", .linkIdentity(target(), issuer: text("Google"), to: Person())),
      ("identities-link", .identities(identities, connections: connections, back: back)),
      (
        "identities-taken",
        .identities(
          [], connections: [button("Google", .google)], back: back,
          errors: [.form(.identityTaken)]
        )
      ),
    ]
  }
}
