import ConsoleKit
import ConsolePages
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// The undo of what a session has written, with its preview.
@EventLoop enum SessionUndoPages {
  private nonisolated static let path = "/console/{app}/users/{user}/sessions/{session}/undo"

  nonisolated static let routes = [
    ConsoleVisit.page(path, "Show what an undo of a session's writes would change") {
      (visit) async throws(Failure) in try await page(visit)
    },
    ConsoleVisit.form(path, limit: KeptForm.bodyLimit, "Undo what a session has written", undo),
  ]

  /// Returns the path of the page of a session.
  static func path(of session: String, _ visit: ConsoleVisit) -> LocalPath {
    visit.userPath("sessions", session, "undo")
  }

  private static func page(
    _ visit: ConsoleVisit, _ form: FormValues? = nil, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let session = visit.call.text("session")
    let user = try await visit.read("users", visit.userID).json
    let preview = try await visit.read("users", visit.userID, "sessions", session, "changes").json
    let documents = ConsoleDocument.allCases.compactMap { kind in
      preview["documents"]?[kind.member].map { (kind: kind, undo: $0) }
    }
    var page = UserPages.page(of: user, .sessions, visit)
    page.mistakes = mistakes
    page.back = ConsoleLink("Sessions", to: visit.userPath("sessions"))
    page.commands = [
      "dossier session undo \(visit.userID) \(session) --app \(visit.place)",
      "dossier session end \(visit.userID) \(session) --app \(visit.place)",
    ]
    let heading: Markup = "<h2>Undo what a session has written</h2>"
    guard !documents.isEmpty else {
      page.body = [
        heading,
        Part.empty(
          "No stored version of a document names this session. The setting “Document versions kept” "
            + "(document_versions_kept) is \(try await visit.versionsKept()).",
          Part.link("Settings", to: visit.path("settings", "document"), style: .secondary)),
      ]
      return page
    }
    let actors = try await visit.actors(
      documents.flatMap { ($0.undo["conflicts"]?.array ?? []).compactMap { $0["actor"]?.string } })
    let cards = documents.map { card(of: $0.kind, $0.undo, actors, form) }
    page.body = [heading, introduction]
    guard visit.right >= .admin, documents.contains(where: { isPossible($0.undo) }) else {
      page.body += cards
      return page
    }
    let hidden = documents.filter { isPossible($0.undo) }.flatMap { (kind, undo) in
      [HiddenField("version:\(kind.member)", undo["version"]?.text ?? "")]
        + pointers(of: undo).enumerated().map { index, pointer in
          HiddenField("pointer:\(kind.member):\(index)", pointer)
        }
    }
    page.body.append(
      Part.form(
        visit.target(path(of: session, visit), hidden), isWide: true,
        "\(cards)\(Part.buttons(Part.submit("Undo these changes", .danger)))"))
    return page
  }

  private static let introduction: Markup = """
    <p>Members that only this session has changed go back to their values before it. A member that \
    another writer has changed later is a conflict. It stays, unless you choose it.</p>
    """

  private static func isPossible(_ undo: JSON) -> Bool {
    undo["obstacle"]?.string == nil
      && (undo["outcome"]?.string != "unchanged" || !pointers(of: undo).isEmpty)
  }

  private static func pointers(of undo: JSON) -> [String] {
    (undo["conflicts"]?.array ?? []).compactMap { $0["pointer"]?.string }
  }

  // MARK: A document

  private static func card(
    of kind: ConsoleDocument, _ undo: JSON, _ actors: [String: String], _ form: FormValues?
  ) -> Markup {
    var parts: [Markup] = [Part.paragraph(sentence(of: undo))]
    let changes = undo["changes"]?.array ?? []
    if !changes.isEmpty {
      var table = ConsoleTable(
        "Changes of \(kind.field)", [.init("Member"), .init("Now"), .init("After the undo")])
      for change in changes { table.rows.append(cells(of: change)) }
      parts.append(table.markup)
    }
    let conflicts = undo["conflicts"]?.array ?? []
    if !conflicts.isEmpty {
      var table = ConsoleTable(
        "Conflicts of \(kind.field)",
        [
          .init("Member"), .init("Now"), .init("Before the session"), .init("Changed by"),
          .init("Changed"), .init("Undo too"),
        ])
      for (index, conflict) in conflicts.enumerated() {
        let name = "conflict:\(kind.member):\(index)"
        let label = "Undo \(conflict["pointer"]?.string ?? "") too"
        let actor = conflict["actor"]?.string.flatMap { actors[$0] } ?? "Unknown"
        table.rows.append(
          cells(of: conflict) + [
            Part.address(actor), Part.time(conflict["changed_at"]?.string),
            """
            <input type="checkbox" name="\(name)" value="true" aria-label="\(label)"\
            \(if: form?[name] == "true", " checked")>
            """,
          ])
      }
      parts.append("<h3>Conflicts</h3>\(table.markup)")
    }
    return Part.card(kind.label, "\(parts)")
  }

  private static func cells(of member: JSON) -> [Markup] {
    [
      Part.identifier(member["pointer"]?.string ?? ""), value(member["now"]),
      value(member["after"]),
    ]
  }

  /// Returns the beginning of a value; a page with whole documents would be too long.
  private static func value(_ value: JSON?) -> Markup {
    guard let value else { return Part.muted("none") }
    let text = value.text
    let start = String(text.unicodeScalars.prefix(200))
    return Part.identifier(start.utf8.count < text.utf8.count ? start + "…" : text)
  }

  private static func sentence(of undo: JSON) -> String {
    switch undo["obstacle"]?.string {
    case "history_gone":
      return
        "It cannot be undone: the version before a write of the session is not stored any more."
    case "too_large": return "It cannot be undone: its versions are too long to compare."
    case "schema_mismatch":
      return "It cannot be undone: the document would break the schema of the app."
    default: break
    }
    var sentences: [String] = []
    switch undo["outcome"]?.string {
    case "created":
      sentences.append("The session has deleted the document, which is created again.")
    case "deleted": sentences.append("The session has created the document, which is deleted.")
    case "changed": sentences.append("The undo becomes a new version.")
    default: sentences.append("Nothing changes.")
    }
    if undo["more"]?.bool == true { sentences.append("There are more members than are listed.") }
    if undo["complete"]?.bool == false {
      sentences.append("Earlier writes of the session may not be stored any more.")
    }
    return sentences.joined(separator: " ")
  }

  // MARK: The form

  private static func undo(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    var body = JSONObject()
    for kind in ConsoleDocument.allCases {
      guard let version = form["version:\(kind.member)"].flatMap({ Int($0) }) else { continue }
      var chosen: [JSON] = []
      var index = 0
      while let pointer = form["pointer:\(kind.member):\(index)"] {
        if form["conflict:\(kind.member):\(index)"] == "true" { chosen.append(.string(pointer)) }
        index += 1
      }
      body[kind.member] = [
        "version": .number(JSONNumber(version)), "conflicts": .array(chosen),
      ]
    }
    var request = ConsoleRequest(
      .post, "users", visit.userID, "sessions", visit.call.text("session"), "undo")
    request.body = .object(body)
    do throws(Failure) {
      _ = try await visit.send(request)
    } catch .preconditionFailed {
      let mistake = Mistake(
        "A document has changed since you opened this page. Check the changes again.")
      return .refused(try await page(visit, form, mistakes: [mistake]), .preconditionFailed)
    }
    return .done(
      path(of: visit.call.text("session"), visit),
      "The writes of the session are undone.")
  }
}
