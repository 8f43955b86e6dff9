import DomainNames
import Encoding
package import EventLoop
import Glibc
package import Localization
import Outbound
package import Runtime

/// The texts of an app's mail of one kind.
struct AppMail {
  let subject: String
  let text: String
  /// The default texts in the language of the text, or in the language of the app.
  let catalog: Catalog
  /// The language tag of the text.
  let language: String

  /// Returns an address spelled out, such as `ada at example dot com`.
  ///
  /// Mail programs turn text that looks like an address or a host name into links. The user who
  /// requests the mail chooses the address. An attacker could therefore put a link into our text
  /// with `you+evil.example.net@example.com`.
  static func inWords(_ email: String) -> String {
    email.unicodeScalars.map { scalar in
      switch scalar {
      case "@": " at "
      case ".": " dot "
      case ":", "/": " "
      default: String(scalar)
      }
    }.joined()
  }
}

extension RequestContext {
  /// Returns a mail with a code.
  @EventLoop package func mail(
    withCode code: String, for purpose: CodePurpose, to email: String, in language: String?
  ) -> QueuedMail? {
    mail(.code, to: email, in: language) { catalog, app in
      ["code": code, "title": catalog.text(of: purpose.title, ["app": .name(app)])]
    }
  }

  /// Returns a mail of a kind without a secret.
  @EventLoop package func mail(
    _ kind: MailKind, to email: String, in language: String?
  ) -> QueuedMail? {
    mail(kind, to: email, in: language) { _, _ in [:] }
  }

  /// Returns a mail of the app; reports one that cannot be composed, and returns nil.
  ///
  /// - Parameters:
  ///   - kind: the kind of the mail.
  ///   - email: also fills `{{email}}`, spelled out, with the domain in the form that people read.
  ///   - language: the language of the recipient, a tag of BCP 47; nil for the languages
  ///     of the request.
  ///   - values: returns the values of the other placeholders for a language and the app's name.
  /// - Returns: the mail.
  @EventLoop func mail(
    _ kind: MailKind, to email: String, in language: String?,
    _ values: (Catalog, String) -> [String: String]
  ) -> QueuedMail? {
    let settings = app.mailSettings
    let name = mailer.design.name(of: app)
    let words = settings.texts(
      of: kind, in: language.map { [$0] } ?? languages, mailer.design.languages(of: app),
      app.texts
    )
    let own = values(words.catalog, name)
    do {
      let template = try MailTemplate(subject: words.subject, text: words.text, names: kind.places)
      let sender = MailAddress(
        settings.sender, name: settings.senderName.isEmpty ? name : settings.senderName
      )
      let message = try template.message(
        from: sender,
        to: MailAddress(email),
        values: own.merging([
          "email": AppMail.inWords(DomainName.shown(inAddress: email)), "app": name,
          "time": words.catalog.text(of: CalendarTime(seconds: time(nil), nanoseconds: 0)),
          "device": words.catalog.device(agent.map(BrowserName.init)),
        ]) { $1 }
      )
      var label = own["button"]
      if case .token(let purpose) = kind { label = words.catalog.text(of: purpose.button) }
      return QueuedMail(
        message, language: words.language, secret: own["code"] ?? own["token"] ?? own["link"],
        label: label
      )
    } catch {
      mailer.abandon("\(kind.name): \(error)")
      return nil
    }
  }
}

/// The purpose of a mailed code.
package enum CodePurpose: Sendable {
  case signIn
  case registration
  case newAddress
  case newPassword

  /// The title of the mail.
  var title: MessageKey {
    switch self {
    case .signIn: .signInCodeTitle
    case .registration: .registrationCodeTitle
    case .newAddress: .newAddressCodeTitle
    case .newPassword: .newPasswordCodeTitle
    }
  }
}

extension EmailToken.Purpose {
  /// The label of the button that opens the link of a mail.
  var button: MessageKey {
    switch self {
    case .verify: .verifyMailButton
    case .reset: .resetMailButton
    case .restore: .restoreMailButton
    }
  }
}

extension Catalog {
  /// Returns the name of the device of a request.
  ///
  /// It has only known names: the client chooses the text of its `User-Agent`.
  func device(_ name: BrowserName?) -> String {
    switch (name?.browser, name?.system) {
    case (let browser?, let system?):
      text(of: .deviceOnSystem, ["browser": .name(browser), "system": .name(system)])
    case (let name?, nil), (nil, let name?): name
    case (nil, nil): text(of: .someDevice)
    }
  }
}

/// The kind of a mail.
///
/// An app has a text for each: the settings of its name with `_subject` and `_text`.
package enum MailKind: CaseIterable, Sendable {
  /// Contains a token.
  case token(EmailToken.Purpose)
  /// Informs the owner of an address that a client has tried to register it.
  case taken
  /// Informs the reader of an address without a user that a client has tried to sign in with it.
  case unknown
  /// Informs a user that a credential of the account has changed.
  case change
  /// Contains a code that completes a login, a registration or a change of address.
  case code
  /// Informs an administrator of what needs one; apps have no settings for its text.
  case operation

  /// Those whose texts an app has.
  package static let allCases =
    EmailToken.Purpose.allCases.map(token) + [.taken, .unknown, .change, .code]

  /// The name of the kind in the settings and in the queue.
  package var name: String {
    switch self {
    case .token(let purpose): purpose.rawValue
    case .taken: "taken"
    case .unknown: "unknown"
    case .change: "change"
    case .code: "code"
    case .operation: "operation"
    }
  }

  /// The default subject and text.
  package var texts: (subject: MessageKey, text: MessageKey) {
    switch self {
    case .token(.verify): (.verifyMailSubject, .verifyMailText)
    case .token(.reset): (.resetMailSubject, .resetMailText)
    case .token(.restore): (.restoreMailSubject, .restoreMailText)
    case .taken: (.takenMailSubject, .takenMailText)
    case .unknown: (.unknownMailSubject, .unknownMailText)
    case .change: (.changeMailSubject, .changeMailText)
    case .code: (.codeMailSubject, .codeMailText)
    case .operation: (.changeMailSubject, .operationMailText)
    }
  }

  /// The placeholders that a text may have.
  ///
  /// No default text contains the address: the recipient knows it, and an attacker may have chosen
  /// it.
  var places: Set<String> { texts.text.placeholders }

  /// The placeholders that a subject may have: no secrets, which lock screens and logs would show.
  var subjectPlaces: Set<String> { texts.subject.placeholders }

  /// The description for operators.
  var meaning: String {
    switch self {
    case .token(.verify): "the mail that verifies an address"
    case .token(.reset): "the mail that resets a password"
    case .taken: "the mail to the user of an address that a client has tried to register"
    case .unknown: "the mail to an address without a user that a client has tried to sign in with"
    case .change: "the mail to the user when a credential of the account has changed"
    case .token(.restore): "the mail to an address that was changed or unlinked, which restores it"
    case .code: "the mail with a code"
    case .operation: "the mail to an administrator about what needs one"
    }
  }
}

/// The pages of this deployment that the links of mails lead to.
///
/// Their address comes from the configuration. A request could claim any host.
package struct MailPages: Sendable {
  /// The deployment's URL, without a slash at its end.
  private let origin: Substring
  private let usualApp: String

  /// - Parameters:
  ///   - issuer: the deployment's URL.
  ///   - usualApp: the name of the default app, whose pages have that URL.
  package init(issuer: String, usualApp: String) {
    origin = issuer.hasSuffix("/") ? issuer.dropLast() : issuer[...]
    self.usualApp = usualApp
  }

  /// Returns the link for a token; nil if the app has no host name.
  func link(for purpose: EmailToken.Purpose, _ token: String, of app: App) -> String? {
    origin(of: app).map { "\($0)/u/\(purpose.rawValue)?token=\(token)" }
  }

  /// Returns the link that secures an account; nil if the app has no host name.
  func securityLink(of app: App) -> String? {
    origin(of: app).map { "\($0)/u/\(EmailToken.Purpose.reset.rawValue)" }
  }

  /// Returns the scheme, host and port of an app's pages; nil if the app has no host name.
  package func origin(of app: App) -> String? { origins(of: app).first }

  /// Returns the scheme, host and port of an app's pages at each of its hosts.
  ///
  /// The hosts of apps have the scheme and the port of the deployment.
  package func origins(of app: App) -> [String] {
    if app.hosts.isEmpty {
      return app.name.utf8.elementsEqual(usualApp.utf8) ? [String(origin)] : []
    }
    guard let mark = origin.firstRange(of: "://") else { return [] }
    let rest = origin[mark.upperBound...]
    let port = rest.utf8.lastIndex(of: UInt8(ascii: ":")).map { rest[$0...] }
    let isPort = port?.utf8.dropFirst().allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    return app.hosts.map {
      "\(origin[..<mark.upperBound])\($0)\(isPort == true ? port ?? "" : "")"
    }
  }
}

/// The look of the mails of each app, which the module of its pages supplies.
@EventLoop package protocol MailDesign: AnyObject {
  /// Returns the name of an app, as its users know it.
  func name(of app: App) -> String

  /// Returns the page or the email address that helps users; nil for none.
  func support(of app: App) -> String?

  /// Returns the languages of an app; the first is for users who prefer none of them.
  func languages(of app: App) -> Languages

  /// Returns the HTML part of a mail, with the words of its text.
  ///
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  func html(of mail: QueuedMail, for app: AppID, _ context: RequestContext)
    async throws(Failure) -> String
}

extension Failure {
  /// The request needs a mail, but mail delivery is not configured.
  package static let mailNotConfigured = Failure(
    "mail_not_configured", .unavailable, retryAfter: .seconds(3_600)
  )
  .titled("This deployment does not send email.")
  .remedied("Set the setting mail to a relay or a folder.")
}

extension MailError {
  /// Whether a later attempt may succeed, by itself or after the operator's action.
  var isPassing: Bool {
    switch self {
    case .tryAgain, .misconfigured: true
    case .refused, .notConfigured: false
    }
  }
}
