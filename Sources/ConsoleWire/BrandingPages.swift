import ConsoleKit
import Administration
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Records
import Runtime
import Tenancy
import WireKit

/// The look of an app's pages, with a preview of changes before they are published.
@EventLoop enum BrandingPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/{app}/branding", "Show the look of the pages, with a preview") {
      (visit) async throws(Failure) in
      try await page(visit, draft: visit.draft)
    },
    ConsoleVisit.form(
      "/console/{app}/branding",
      "Preview changes of the look, or list them before they are published",
      save),
    frame("/console/{app}/branding/preview/{scheme}", "Show the preview of a page") {
      (preview, visit) throws(Failure) in
      let path = visit.path("branding", "stylesheet", visit.call.text("scheme"))
      return preview.page(stylesheet: try visit.path(path, with: visit.draft))
    },
    frame("/console/{app}/branding/stylesheet/{scheme}", "Read the stylesheet of the preview") {
      preview, _ in preview.stylesheet
    },
  ]

  private static func subject(_ visit: ConsoleVisit) throws(Failure) -> SettingPages.Subject {
    try SettingPages.subject(visit, named: "branding")
  }

  // MARK: The page

  private static func page(
    _ visit: ConsoleVisit, _ typed: FormValues? = nil, draft: JSONObject, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let subject = try subject(visit)
    let answer = try await visit.read("apps", visit.place)
    var page = ConsolePage(subject.label, section: .branding)
    page.mistakes = mistakes
    page.hasFrames = true
    page.commands = ["dossier app set --app \(visit.place) brand_color=#1f57c3"]
    let changed = DraftApp(answer, with: draft, visit)
    let values = (answer.json["settings"]?.object ?? JSONObject()).merging(draft)
    let form = RecordForm(columns: ordered(subject.columns))
    if draft.count > 0 {
      page.tags = [Part.tag("Draft")]
      page.actions = [
        Part.link("Discard the draft", to: visit.path("branding"), style: .secondary)
      ]
    }
    var parts: [Markup] = []
    for scheme in ColorScheme.allCases {
      let path = visit.path("branding", "preview", scheme.rawValue)
      let preview = BrandingPreview(of: changed.app, in: scheme, visit.context)
      parts.append(
        Part.card(
          scheme == .light ? "Light" : "Dark",
          """
          \(Part.frame(try visit.path(path, with: draft), title: "Sign-in page, \(scheme.rawValue)"))\
          \(contrasts(preview))
          """))
    }
    let settings: Markup
    if visit.right >= .admin {
      settings = Part.card(
        nil,
        Part.form(
          visit.target(visit.path("branding"), [.version(answer.version)]), isWide: true,
          """
          \(form.fields(values, typed).markup(mistakes))\
          <div class="buttons keep">\
          \(Part.submit("Preview", .secondary, value: HiddenField("action", "preview")))\
          \(Part.submit("Publish…", value: HiddenField("action", "publish")))</div>
          """))
    } else {
      settings = """
        <div>\(Part.card(nil, form.definitions(values)))\
        \(Part.paragraph("An admin or owner can change the look.", isMuted: true))</div>
        """
    }
    page.body = [#"<div class="beside">\#(settings)<div class="previews">\#(parts)</div></div>"#]
    return page
  }

  /// The settings that stand first, since the preview shows them most.
  private static let first = ["display_name", "brand_color", "corner_radius"]

  private static func ordered(_ columns: [Column]) -> [Column] {
    first.compactMap { name in columns.first { $0.name == name } }
      + columns.filter { !first.contains($0.name) }
  }

  private static func contrasts(_ preview: BrandingPreview) -> Markup {
    let isEnough = preview.contrasts.allSatisfy(\.isEnough)
    let rows = preview.contrasts.map { contrast -> (label: String, value: Markup) in
      let hundredths = Int(contrast.ratio * 100)
      let least = Int(contrast.least * 10)
      let ratio = "\(hundredths / 100).\(String(hundredths % 100, digits: 2))"
      return (
        contrast.name,
        """
        \(Part.identifier(contrast.color.text)) \
        \(Part.tag("\(ratio), needs \(least / 10).\(least % 10)", contrast.isEnough ? .success : .danger))
        """
      )
    }
    return """
      <details\(if: !isEnough, " open")><summary>Contrast\(if: isEnough, ": enough")</summary>\
      \(Part.definitions(rows))</details>
      """
  }

  private static func save(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    try visit.require(.admin)
    let subject = try subject(visit)
    let answer = try await visit.read("apps", visit.place)
    let fields = RecordForm(columns: subject.columns)
    var (draft, mistakes) = fields.patch(form, answer.json["settings"]?.object)
    mistakes += DraftApp(answer, with: draft, visit).mistakes
    if JSON.object(draft).text.utf8.count > ConsoleVisit.longestDraft {
      mistakes.append(
        Mistake("The changes are too long for a preview. Publish some of them first."))
    }
    guard mistakes.isEmpty else {
      return .refused(
        try await page(visit, form, draft: JSONObject(), mistakes: mistakes), .unprocessable)
    }
    guard draft.count > 0 else {
      return .done(visit.path("branding"), "Nothing differs from the published look.")
    }
    // Otherwise a form with older values would take back what someone else has changed.
    guard form.version == answer.version else {
      let first = Mistake(
        "The app has changed since you opened this page. Nothing was saved; check the values.")
      let values = answer.json["settings"]?.object
      mistakes = [first] + fields.differences(of: draft, from: values)
      return .refused(
        try await page(visit, form, draft: JSONObject(), mistakes: mistakes), .preconditionFailed)
    }
    if form["action"]?.hasSameBytes(as: "publish") == true {
      return .refused(SettingPlan.page(visit, subject, draft, answer), .ok)
    }
    return .redirect(try visit.path(visit.path("branding"), with: draft))
  }

  // MARK: Frames

  /// Returns a route whose response a frame of the page shows.
  private nonisolated static func frame(
    _ pattern: String, _ summary: String,
    _ respond: @escaping @EventLoop (BrandingPreview, ConsoleVisit) throws(Failure) -> Response
  ) -> Route {
    ConsoleVisit.content(pattern, summary) { (visit) async throws(Failure) in
      guard let scheme = ColorScheme(rawValue: visit.call.text("scheme")) else { throw .notFound }
      let answer = try await visit.read("apps", visit.place)
      let app = DraftApp(answer, with: visit.draft, visit).app
      return try respond(BrandingPreview(of: app, in: scheme, visit.context), visit)
    }
  }
}
