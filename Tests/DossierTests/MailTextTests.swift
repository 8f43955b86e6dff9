import TestSupport
import EventLoop
import Localization
import Postgres
import Records
import Runtime
import Tenancy
import Testing

@testable import Delivery

/// The default texts of mails in each language.
@Suite struct MailTextTests {
  private static let issuer = IdentityProvider(ofIssuer: "https://a.example")
  private static let notices: [SecurityNotice] = [
    .linked(.password), .linked(.email), .linked(.apiKey), .linked(issuer), .unlinked(.password),
    .unlinked(issuer), .keyDisabled, .keyEnabled,
    .emailVerified, .takenOver, .passwordChanged, .passwordReset(passkeys: 2), .passwordSet,
    .emailRestored,
    .emailReplaced,
    .emailDisplaced, .factorAdded, .factorRemoved, .secondFactorsRemoved, .recoveryCodesMade,
    .signedIn, .deleted,
  ]

  @Test(arguments: MailKind.allCases)
  func `each text has its placeholders, and no subject has a secret`(kind: MailKind) throws {
    for catalog in Languages.shipped.catalogs {
      let subject = catalog.source(of: kind.texts.subject)
      let text = catalog.source(of: kind.texts.text)
      _ = try MailTemplate(subject: subject, text: text, names: kind.places)
      _ = try MailTemplate(subject: subject, text: "", names: kind.subjectPlaces)
      #expect(kind.subjectPlaces.isDisjoint(with: ["code", "token", "link", "change", "advice"]))
      let places = ["link", "code", "change", "advice"].filter(kind.places.contains)
      #expect(places.allSatisfy { text.contains("{{\($0)}}") }, "\(catalog.language)")
      #expect(text.contains("{{time}}") == kind.places.contains("time"), "\(catalog.language)")
      #expect(text.hasSuffix("\n") && !text.contains("{{email}}"))
    }
  }

  @Test func `each language has its own text for each mail`() {
    var texts: [String] = []
    for catalog in Languages.shipped.catalogs {
      texts += MailKind.allCases.map { catalog.source(of: $0.texts.text) }
      texts += EmailToken.Purpose.allCases.map { catalog.text(of: $0.button) }
      texts += [CodePurpose.signIn, .registration, .newAddress, .newPassword]
        .map { catalog.text(of: $0.title, ["app": .name("App")]) }
      let notices = Self.notices.map { $0.values(in: catalog, on: "Firefox", "App") }
      texts += notices.map { $0["change"] ?? "" }
      texts += Set(notices.map { $0["advice"] ?? "" })
    }
    #expect(Set(texts).count == texts.count)
    #expect(texts.allSatisfy { !$0.isEmpty })
  }

  /// The remedies of `notices` that the operator knows.
  private static let contacts: Set = ["emailReplaced", "emailDisplaced", "factorAdded", "deleted"]

  @Test func `each notice leads the owner to a new password, or to the support`() {
    let links = SecurityNotice.Links(
      security: "https://a.example/u/reset", support: "https://help.example"
    )
    for notice in Self.notices {
      let values = notice.values(in: .english, on: "Firefox", "App", links)
      let isContact =
        Self.contacts.contains("\(notice)")
        || notice.action == "unlink"
          && values["change"]?.contains("password") == true
      let link = isContact ? links.support : links.security
      #expect(values["link"] == link, "\(notice)")
      #expect(values["advice"]?.hasSuffix("\n\n\(link ?? "")") == true, "\(notice)")
      #expect(values["button"] == (isContact ? "Contact support" : "Secure my account"))
    }
  }

  /// Knows one issuer.
  private struct Labels: IssuerLabels {
    @EventLoop static func load(
      _ database: Database, _ known: [AppID: Self]
    ) async throws(DatabaseError) -> [AppID: Self] { [:] }

    func label(ofIssuer issuer: String) -> String? {
      issuer == "https://accounts.google.com" ? "Google" : nil
    }

    func name(ofIssuer issuer: String) -> String? { nil }

    func issuer(named name: String) -> String? { nil }
  }

  @Test(arguments: [
    ("https://accounts.google.com", "Google"),
    ("https://accounts.google.com/", "accounts.google.com"),
    ("https://a.example/realms/one", "a.example/realms/one"), ("auth0", "auth0"),
  ])
  func `a notice names an issuer by its label, or else without the scheme`(
    issuer: String, name: String
  ) {
    let app = App(
      .deployment, "App", AppSettings(stored: [], RecordShape([])), hosts: [], version: 0,
      parts: [Labels()]
    )
    #expect(app.label(ofIssuer: issuer) == name)
    let notice = SecurityNotice.linked(IdentityProvider(ofIssuer: issuer))
    let values = notice.values(
      in: .english, on: "", "App", issuer: app.label(ofIssuer: issuer)
    )
    #expect(
      values["change"] == "An account at \(name) can now be used to sign in to your account."
    )
  }

  @Test func `the address of a support is shown, and opened by a button`() {
    let links = SecurityNotice.Links(security: nil, support: "help@example.com")
    let contact = SecurityNotice.deleted.values(in: .english, on: "", "App", links)
    #expect(contact["advice"]?.hasSuffix("yourself.\n\nhelp@example.com") == true)
    #expect(contact["link"] == "help@example.com" && contact["button"] == "Contact support")
    let bare = SecurityNotice.passwordChanged.values(in: .english, on: "", "App", links)
    #expect(bare["link"] == nil && bare["advice"]?.contains("\n") == false)
  }

  @Test(arguments: [
    ("de", "de"), ("DE-at", "de"), ("en-GB-oed", "en"), ("nl", nil), ("pt-PT", "pt"), ("", nil),
    ("d", nil),
    ("de_CH", "de"), (String(repeating: "de-", count: 40), nil),
  ])
  func `a language tag finds the texts of its language`(tag: String, language: String?) {
    #expect(Languages.shipped.best(for: tag)?.language == language)
  }
}
