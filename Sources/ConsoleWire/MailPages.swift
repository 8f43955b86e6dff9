import ConsoleKit
import Administration
import ConsolePages
import Delivery
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Localization
import Outbound
import Pages
import Records
import Runtime
import Tenancy
import WireKit

/// The texts of an app's emails, with a preview, and their sender.
@EventLoop enum MailPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/{app}/mail", "Show the texts of an email, with a preview") {
      (visit) async throws(Failure) in try await page(visit)
    },
    ConsoleVisit.form(
      "/console/{app}/mail/texts", below: 1, limit: 131_072,
      "Preview or save the texts of an email", save),
    ConsoleVisit.form(
      "/console/{app}/mail/sender", below: 1,
      "List the changes of the sender before they are applied",
      checkSender),
    ConsoleVisit.form("/console/{app}/mail/test", below: 1, "Send an email to oneself", test),
    ConsoleVisit.content(
      "/console/{app}/mail/preview/{kind}/{language}", "Show the preview of an email"
    ) { (visit) async throws(Failure) in
      guard let kind = MailKind(named: visit.call.text("kind")) else { throw .notFound }
      let answer = try await visit.read("apps", visit.place)
      let app = DraftApp(answer, with: visit.draft, visit).app
      let language = visit.call.text("language")
      guard let mail = example(of: kind, language, app, visit) else { throw .notFound }
      return BrandingPreview.response(with: mail, of: app, visit.context)
    },
  ]

  // MARK: The choice

  /// The kind and the language that the page shows.
  private struct Choice {
    let kind: MailKind
    let language: String

    var query: [(name: String, value: String)] { [("kind", kind.name), ("language", language)] }

    /// Returns a merge patch of the settings; an empty text is that of the language.
    func patch(subject: String, text: String) -> JSONObject {
      let keys = kind.texts
      func value(_ text: String) -> JSON { text.isEmpty ? .null : .string(text) }
      let texts: JSON = .object(
        JSONObject([
          (keys.subject.rawValue, value(subject)), (keys.text.rawValue, value(text)),
        ]))
      return JSONObject([("texts", .object(JSONObject([(language, texts)])))])
    }
  }

  private static func choice(_ values: FormValues?, _ languages: Languages) -> Choice {
    let tags = languages.catalogs.map(\.language)
    let language = tags.first { $0.hasSameBytes(as: values?["language"] ?? "") }
    return Choice(
      kind: values?["kind"].flatMap(MailKind.init(named:)) ?? .token(.verify),
      language: language ?? tags.first ?? Languages.english)
  }

  private static func example(
    of kind: MailKind, _ language: String, _ app: App, _ visit: ConsoleVisit
  ) -> QueuedMail? {
    RequestContext(visit.context.dependencies, app: app)
      .example(of: kind, to: visit.session.email, in: language)
  }

  private static func languages(_ app: App, _ visit: ConsoleVisit) -> Languages {
    visit.context.dependencies[AppPages.self].languages(of: app)
  }

  // MARK: The page

  private static func page(
    _ visit: ConsoleVisit, _ typed: FormValues? = nil, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let answer = try await visit.read("apps", visit.place)
    let draft = visit.draft
    let app = DraftApp(answer, with: draft, visit).app
    let languages = languages(app, visit)
    let choice = choice(typed ?? FormValues(visit.call.request.query), languages)
    var page = ConsolePage("Email texts", section: .mail)
    page.mistakes = mistakes
    page.hasFrames = true
    if draft.count > 0 {
      page.tags = [Part.tag("Draft")]
      page.actions = [
        Part.link(
          "Discard the draft", to: visit.path("mail", query: choice.query), style: .secondary)
      ]
    }
    page.commands = ["dossier app set --app \(visit.place) texts=@FILE"]
    page.body = [filter(visit, choice, languages)]
    let isWriter = visit.right >= .admin
    var parts: [Markup] = []
    if isWriter {
      parts.append(texts(visit, choice, answer, draft, typed, languages, mistakes))
    }
    parts.append(try preview(visit, choice, app, draft))
    page.body.append(#"<div class="grid">\#(parts)</div>"#)
    if isWriter {
      page.body.append(sender(visit, answer))
      page.body.append(
        Part.card(
          "Test",
          """
          <p>The saved texts with example values, to \(Part.address(visit.session.email)).</p>\
          \(Part.button(
            "Send a test",
            visit.target(
              visit.path("mail", "test"), choice.query.map { HiddenField($0.name, $0.value) })))
          """))
    }
    return page
  }

  private static func filter(
    _ visit: ConsoleVisit, _ choice: Choice, _ languages: Languages
  ) -> Markup {
    let fields = [
      ConsoleField(
        "kind", "Email", .choice(MailKind.allCases.map { ($0.name, $0.label) }),
        value: choice.kind.name),
      ConsoleField(
        "language", "Language", .choice(languages.catalogs.map { ($0.language, $0.name) }),
        value: choice.language),
    ]
    return """
      <form class="filter" method="get" action="\(visit.path("mail").text)">\
      \(fields.map(\.markup))<button class="secondary">Show</button></form>
      """
  }

  private static func texts(
    _ visit: ConsoleVisit, _ choice: Choice, _ app: ConsoleAnswer, _ draft: JSONObject,
    _ typed: FormValues?, _ languages: Languages, _ mistakes: [Mistake]
  ) -> Markup {
    let keys = choice.kind.texts
    let stored = (app.json["settings"]?.object ?? JSONObject()).merging(draft)
    let own = stored["texts"]?[choice.language]
    let catalog = languages.best(for: choice.language)
    func field(_ name: String, _ label: String, _ key: MessageKey, _ kind: ConsoleField.Kind)
      -> ConsoleField
    {
      let value = typed?[name]?.replacing("\r\n", with: "\n") ?? own?[key.rawValue]?.string ?? ""
      let places = key.placeholders.sorted().map { "{{\($0)}}" }.joined(separator: " ")
      return ConsoleField(
        name, label, kind, value: value,
        hint: "Placeholders: \(places). If it is empty: \(catalog?.source(of: key) ?? "")")
    }
    let fields = [
      field("subject", "Subject", keys.subject, .text), field("text", "Text", keys.text, .lines),
    ]
    let hidden =
      choice.query.map { HiddenField($0.name, $0.value) } + [.version(app.version)]
    return Part.card(
      "Texts",
      Part.form(
        visit.target(visit.path("mail", "texts"), hidden), isWide: true,
        """
        \(fields.markup(mistakes))\
        \(Part.buttons(
          Part.submit("Preview", .secondary, value: HiddenField("action", "preview")),
          Part.submit("Save", value: HiddenField("action", "save"))))
        """))
  }

  private static func preview(
    _ visit: ConsoleVisit, _ choice: Choice, _ app: App, _ draft: JSONObject
  ) throws(Failure) -> Markup {
    guard let mail = example(of: choice.kind, choice.language, app, visit) else {
      return Part.card("Preview", Part.paragraph("These texts make no email."))
    }
    let path = try visit.path(
      visit.path("mail", "preview", choice.kind.name, choice.language), with: draft)
    return Part.card(
      "Preview",
      """
      \(Part.definitions([
        ("From", Part.name(
          "\(mail.message.from.name ?? "") <\(mail.message.from.address)>")),
        ("Subject", Part.name(mail.message.subject)),
      ]))\
      \(Part.frame(path, title: "The email"))\
      <h3>Text</h3>\(Part.code(mail.message.text, label: "The text of the email"))
      """)
  }

  private static func sender(_ visit: ConsoleVisit, _ app: ConsoleAnswer) -> Markup {
    let values = app.json["settings"]?.object
    let form = RecordForm(columns: senderColumns(visit))
    return Part.card(
      "Sender",
      Part.form(
        visit.target(visit.path("mail", "sender")), isWide: true,
        "\(form.fields(values, nil).markup([]))\(Part.buttons(Part.submit("Check the changes", .secondary)))"
      ))
  }

  private static func senderColumns(_ visit: ConsoleVisit) -> [Column] {
    ["mail_from", "mail_from_name"].compactMap(
      visit.context.apps.catalog.settings.column(named:))
  }

  // MARK: Forms

  private static func save(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    try visit.require(.admin)
    let answer = try await visit.read("apps", visit.place)
    let stored = DraftApp(answer, with: JSONObject(), visit).app
    let choice = choice(form, languages(stored, visit))
    let text = (form["text"] ?? "").replacing("\r\n", with: "\n")
    let changes = choice.patch(subject: form.trimmed("subject"), text: text)
    let next = visit.path("mail", query: choice.query)
    let mistakes = DraftApp(answer, with: changes, visit).mistakes.map {
      Mistake($0.text, field: "text")
    }
    guard mistakes.isEmpty else {
      return .refused(try await page(visit, form, mistakes: mistakes), .unprocessable)
    }
    if form["action"]?.hasSameBytes(as: "preview") == true {
      // The draft is in the addresses of the preview.
      guard JSON.object(changes).text.utf8.count <= ConsoleVisit.longestDraft else {
        let mistake = Mistake("The text is too long for a preview. Save it to see it.")
        return .refused(try await page(visit, form, mistakes: [mistake]), .unprocessable)
      }
      return .redirect(try visit.path(next, with: changes))
    }
    var request = ConsoleRequest(.patch, "apps", visit.place)
    (request.body, request.version) = (["settings": .object(changes)], form.version)
    return try await visit.submit(
      request, ["subject", "text"], naming: ["/settings/texts": "text"]
    ) {
      _ in
      .done(next, "The texts are saved.")
    } orShow: { (mistakes) async throws(Failure) in
      try await page(visit, form, mistakes: mistakes)
    }
  }

  private static func checkSender(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    try visit.require(.admin)
    let subject = try SettingPages.subject(visit, named: "mail")
    let answer = try await visit.read("apps", visit.place)
    let (changes, _) = RecordForm(columns: senderColumns(visit))
      .patch(form, answer.json["settings"]?.object)
    guard changes.count > 0 else { return .done(visit.path("mail"), "Nothing has changed.") }
    let mistakes = DraftApp(answer, with: changes, visit).mistakes
    guard mistakes.isEmpty else {
      return .refused(try await page(visit, mistakes: mistakes), .unprocessable)
    }
    return .refused(SettingPlan.page(visit, subject, changes, answer), .ok)
  }

  private static func test(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    var request = ConsoleRequest(.post, "mails", "test")
    request.body = [
      "kind": .string(form["kind"] ?? ""), "language": .string(form["language"] ?? ""),
    ]
    _ = try await visit.send(request)
    let query = ["kind", "language"].map { (name: $0, value: form[$0] ?? "") }
    return .done(
      visit.path("mail", query: query), "The email is under way to", name: visit.session.email)
  }
}

extension MailKind {
  /// The name of the kind for people.
  fileprivate var label: String {
    switch self {
    case .token(.verify): "Verify an address"
    case .token(.reset): "Reset a password"
    case .token(.restore): "Restore an address"
    case .taken: "The address has an account"
    case .unknown: "The address has no account"
    case .change: "A credential has changed"
    case .code: "A code"
    case .operation: "A notice to administrators"
    }
  }
}
