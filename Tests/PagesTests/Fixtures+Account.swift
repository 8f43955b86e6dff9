import Encoding
import Testing

@testable import Localization
@testable import Pages

extension Fixtures {
  static let paths: AccountPaths = {
    var paths = AccountPaths()
    paths.profile = path("/account/profile")
    paths.picture = path("/account/picture")
    paths.address = path("/account/address")
    paths.password = path("/account/password")
    paths.authenticator = path("/account/authenticator")
    paths.recoveryCodes = path("/account/recovery-codes")
    paths.passkeys = path("/account/passkeys")
    paths.sessions = path("/account/sessions")
    paths.identities = path("/account/identities")
    paths.applications = path("/account/applications")
    paths.data = path("/account/data")
    paths.deletion = path("/account/deletion")
    return paths
  }()

  private var overview: AccountOverview {
    AccountOverview(
      person: person, language: text("English"), zone: text("Europe/London"), isVerified: true,
      signIn: (hasPassword: true, hasAuthenticator: true, recoveryCodes: 1),
      counts: (sessions: 3, identities: 1, applications: 0)
    )
  }

  /// A user of an issuer that shares nothing, who can link more.
  private var namelessOverview: AccountOverview {
    var overview = AccountOverview(
      person: Person(), isVerified: false,
      signIn: (hasPassword: false, hasAuthenticator: false, recoveryCodes: 0),
      counts: (sessions: 1, identities: 0, applications: 0)
    )
    overview.canLink = true
    return overview
  }

  private var bareOverview: AccountOverview {
    AccountOverview(
      person: Person(email: email), isVerified: false,
      signIn: (hasPassword: false, hasAuthenticator: false, recoveryCodes: 0),
      counts: (sessions: 1, identities: 0, applications: 1)
    )
  }

  /// A user who signs in with passkeys only.
  private var passkeyOverview: AccountOverview {
    var overview = bareOverview
    (overview.passkeys, overview.verification) = (1, target("/account/address/verify"))
    return overview
  }

  /// The same page as the browser gets it, with what its script tells managers of passkeys.
  private var signalingPage: Page {
    var page = Page.account(passkeyOverview, paths: Self.paths, signOut: target())
    page.automation = .signal(text(#"{"rpId":"id.example"}"#))
    return page
  }

  var accountPages: [(name: String, page: Page)] {
    [
      ("account-passkey", signalingPage),
      ("account", .account(overview, paths: Self.paths, signOut: target())),
      ("account-nameless", .account(namelessOverview, paths: Self.paths, signOut: target())),
      ("account-bare", .account(bareOverview, paths: AccountPaths(), signOut: target())),
    ] + listPages + changePages + factorPages + confirmationPages
  }

  private var undoDescriptions: [UndoDescription] {
    var settings = UndoDescription(.settingsDocument)
    settings.notes = [.undoDeletion, .undoIncomplete]
    settings.lists = [
      .init(
        nil,
        [
          .change(text("theme"), now: .name(text("dark")), after: .name(text("light"))),
          .change(text("sound"), now: .message(.valueYes), after: .message(.valueNo)),
          .removal(text("size.width"), now: .name("12")),
          .creation(text("tags"), after: .message(.valueEntries, ["count": .count(3)])),
          .change(text("nick"), now: .message(.valueEmpty), after: .name(text("Ada"))),
        ], rest: 3, isPartial: false),
      .init(
        .undoConflicts, [.kept(text("language"), now: .name(text("fr")))], rest: 2, isPartial: true),
      .init(.undoNotWritable, [.kept(text("plan"), now: nil)], rest: 0, isPartial: false),
    ]
    let others = [MessageKey.undoCreation, .undoHistoryGone, .undoTooLarge, .undoMismatch]
    return [settings]
      + others.map { note in
        var data = UndoDescription(.appDocument)
        data.notes = [note]
        return data
      }
  }

  private var listPages: [(name: String, page: Page)] {
    let time = CalendarTime(seconds: 1_900_000_000, nanoseconds: 0)
    let day = CalendarDay(number: 20_514)
    let sessions = [
      SessionDescription(
        device: .name(text("Firefox on Debian")),
        place: text("London"), clients: [text("Contoso Mail"), text("Contoso Desk")], time: time,
        isCurrent: true
      ),
      SessionDescription(
        device: .name(text("Safari on iOS")), time: time, isUsed: true,
        undos: [.init(of: nil, Self.path("/account/sessions/1/undo"))], end: target()
      ),
      SessionDescription(
        device: .name(text("Chrome on Windows")), clients: [text("Contoso Mail")], time: time,
        undos: [
          .init(of: nil, Self.path("/account/sessions/2/undo")),
          .init(of: text("Contoso Mail"), Self.path("/account/sessions/3/undo")),
        ], end: target()
      ),
    ]
    return [
      ("sessions", .sessions(sessions, endOthers: target(), back: back)),
      ("session-undo", .undoSession(undoDescriptions, undo: target(), back: back)),
      (
        "session-undo-stale",
        .undoSession(
          undoDescriptions, undo: target(), back: back,
          errors: [PageError(.message(.changedMeanwhile))])
      ),
      ("session-undo-nothing", .undoSession([], undo: nil, back: back)),
      (
        "identities",
        .identities(
          [
            IdentityDescription(issuer: .name(text("Contoso")), linkedOn: day, unlink: target()),
            IdentityDescription(issuer: .message(.password)),
          ],
          back: back
        )
      ),
      ("identities-none", .identities([], back: back)),
      (
        "applications",
        .applications(
          [
            ApplicationDescription(
              name: text("Contoso Mail"), groups: scopeGroups, grantedOn: day, remove: target()
            )
          ],
          back: back
        )
      ),
      (
        "data",
        .data(
          download: Self.link("/account/export"), deletion: Self.link("/account/deletion"),
          back: back
        )
      ),
    ]
  }

  private var changePages: [(name: String, page: Page)] {
    let languages = [
      Field.Option("en", .name("English")), Field.Option(text("de"), .name(text("Deutsch"))),
    ]
    let zones = ["Europe/Berlin", "Europe/London"].map { Field.Option($0, .name($0)) }
    return [
      (
        "profile",
        .changeProfile(
          target(), name: name, language: "en", languages: languages, zone: "Europe/London",
          zones: zones, back: back
        )
      ),
      ("picture", .changePicture(target(), person: person, remove: target(), back: back)),
      (
        "picture-missing",
        .changePicture(
          target(), person: Person(name: name), back: back, errors: [.form(.pictureMissing)]
        )
      ),
      (
        "picture-unreadable",
        .changePicture(target(), person: person, back: back, errors: [.form(.pictureUnreadable)])
      ),
      ("address", .changeAddress(target(), current: email, back: back)),
      ("address-first", .changeAddress(target(), current: nil, back: back)),
      (
        "address-malformed",
        .changeAddress(
          target(), current: email, email: text("ada@"), back: back,
          errors: [.form(.emailMalformed)]
        )
      ),
      ("change-password", .changePassword(target(), email: email, minimumPassword: 15, back: back)),
      (
        "change-password-wrong",
        .changePassword(
          target(), email: email, minimumPassword: 15, back: back,
          errors: [.form(.passwordWrong), .form(.passwordCommon)]
        )
      ),
      ("support", support(nil)), ("support-code", support(text("7k2m-x4qd"))),
      (
        "support-session",
        .support(
          code: nil, sessions: [CalendarTime(seconds: 1_700_000_000, nanoseconds: 0)],
          create: target(), end: target(), back: back)
      ),
      ("unlink", .unlinkIdentity(target(), issuer: text("Contoso"), back: back)),
      ("remove-application", .removeApplication(target(), client: text("Contoso"), back: back)),
      (
        "delete",
        .deleteAccount(target(), email: email, download: Self.link("/account/export"), back: back)
      ),
      (
        "delete-wrong",
        .deleteAccount(target(), email: email, back: back, errors: [.form(.confirmationWrong)])
      ),
    ]
  }

  private func support(_ code: String?) -> Page {
    .support(code: code, sessions: [], create: target(), end: target(), back: back)
  }

  private static let keyURI =
    "otpauth://totp/Northwind:ada%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    + "&issuer=Northwind"

  private var factorPages: [(name: String, page: Page)] {
    let key = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    let codes = (0..<10).map { text("ab\($0)cd-efgh\($0)") }
    return [
      (
        "set-up-authenticator",
        .setUpAuthenticator(
          target(), key: text(key), uri: Self.keyURI, person: person, cancel: target()
        )
      ),
      (
        "set-up-authenticator-wrong",
        .setUpAuthenticator(
          target(), key: text(key), uri: Self.keyURI, person: Person(email: email),
          errors: [.form(.authenticatorCodeWrong)]
        )
      ),
      (
        "recovery-codes",
        .recoveryCodes(codes, download: Self.link("/account/codes.txt"), next: target())
      ),
      ("offer-authenticator", .offerAuthenticator(target(), back: back)),
      ("turn-off-authenticator", .turnOffAuthenticator(target(), back: back)),
      (
        "turn-off-for-passkey", .turnOffAuthenticator(target(), leavesPasskey: true, back: back)
      ),
      ("replace-authenticator", .replaceAuthenticator(target(), back: back)),
      ("replace-recovery-codes", .replaceRecoveryCodes(target(), back: back)),
    ]
  }

  private var confirmationPages: [(name: String, page: Page)] {
    let methods: [(name: String, method: Page.ConfirmationMethod, wrong: PageError)] = [
      ("password", .password, .form(.passwordWrong)),
      ("mailCode", .mailCode(digits: 8), .form(.mailCodeWrong)),
      ("authenticator", .authenticator, .form(.authenticatorCodeWrong)),
    ]
    let toClient = Page.confirmIdentity(
      target(), email: email, method: .password, resend: target(), another: target(),
      client: text("Contoso Mail"), cancel: target()
    )
    return [("confirm-identity-client", toClient)]
      + methods.flatMap { name, method, wrong in
        [nil, wrong].map { error in
          (
            "confirm-identity-\(name)\(error == nil ? "" : "-wrong")",
            Page.confirmIdentity(
              target(), email: email, method: method, resend: target(),
              others: Page.OtherConfirmations(page: Self.link("/u/confirm/other")),
              cancel: target(),
              errors: error.map { [$0] } ?? []
            )
          )
        }
      }
  }
}
