import ConsoleKit
import ConsolePages
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// The form of the schema for a kind of documents.
///
/// A schema is replaced only in the version that the form has shown. If another version is stored,
/// the form shows what has changed, and saves nothing.
@EventLoop enum SchemaPages {
  /// The values of a form.
  private struct Entry {
    /// The text in the editor.
    var text: String
    /// The text that the form has shown; empty if there was no schema.
    var base: String
    /// The version of the base; 0 if there was no schema.
    var version: Int
    var conflict: Conflict?
  }

  private static let usual = "{\n  \"type\": \"object\"\n}"
  private static let choiceName = "fill"

  private static func document(_ visit: ConsoleVisit) throws(Failure) -> ConsoleDocument {
    guard let document = ConsoleDocument(rawValue: visit.call.text("kind")) else { throw .notFound }
    return document
  }

  /// Reads the schema of the path; nil if the app has none.
  private static func read(_ visit: ConsoleVisit) async throws(Failure) -> ConsoleAnswer? {
    do throws(Failure) {
      return try await visit.read("schemas", try document(visit).rawValue)
    } catch {
      guard error.type.kind == .notFound else { throw error }
      return nil
    }
  }

  static func page(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    try await page(visit, nil, mistakes: [])
  }

  private static func page(
    _ visit: ConsoleVisit, _ typed: Entry?, mistakes: [Mistake]
  ) async throws(Failure) -> ConsolePage {
    let document = try document(visit)
    let stored = try await read(visit)
    var page = ConsolePage("Schema of \(document.field)", section: .schemas)
    page.back = ConsoleLink("Schemas", to: visit.path("schemas"))
    page.mistakes = mistakes
    page.hasTimes = true
    if visit.right >= .admin {
      let text = stored?.json.edited
      let entry =
        typed ?? Entry(text: text ?? usual, base: text ?? "", version: stored?.version ?? 0)
      let field = ConsoleField(
        "schema", "JSON Schema", .json, value: entry.text,
        hint: "It checks each write. Documents that are stored already stay.")
      // Enter and Ctrl+S press the first button, which must not be one that fills the form.
      page.body = [
        Part.card(
          nil,
          Part.form(
            visit.target(
              visit.path("schemas", document.rawValue),
              [.version(entry.version), HiddenField("schema_base", entry.base)]), isWide: true,
            """
            <button class="first" name="save" value="yes" tabindex="-1" aria-hidden="true" data-save>\
            Save</button>\(entry.conflict?.markup(choosingIn: choiceName))\([field].markup(mistakes))\
            \(Part.buttons(Part.submit("Save", value: HiddenField("save", "yes"))))
            """))
      ]
      if let stored {
        page.actions = [
          Part.button(
            "Remove schema",
            visit.target(
              visit.path("schemas", document.rawValue, "remove"), [.version(stored.version)]))
        ]
      }
    } else {
      page.body = [
        stored.map { Part.card(nil, Part.code($0.json.edited, label: "JSON Schema")) }
          ?? Part.empty("These documents may have any form."),
        Part.paragraph("An admin or owner can change the schema.", isMuted: true),
      ]
    }
    page.body.append(
      try await ObjectHistory.card("schema_*", visit) {
        $0["kind"]?.string == document.rawValue
      })
    page.commands = ["dossier schema set \(document.rawValue) FILE --app \(visit.place)"]
    return page
  }

  // MARK: Changes

  static func save(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let document = try document(visit)
    func text(_ name: String) -> String { (form[name] ?? "").replacing("\r\n", with: "\n") }
    var entry = Entry(
      text: text("schema"), base: text("schema_base"), version: try form.seenVersion)
    let value: JSON
    do throws(JSONError) {
      value = try JSON.parse(Array(entry.text.utf8))
    } catch {
      let mistake = Mistake(error.text(in: entry.text), field: "schema")
      return .refused(try await page(visit, entry, mistakes: [mistake]), .unprocessable)
    }
    if let choice = form[choiceName] { return try await fill(entry, by: choice, value, visit) }
    var request = ConsoleRequest(.put, "schemas", document.rawValue)
    (request.body, request.version) = (value, entry.version)
    do throws(Failure) {
      _ = try await visit.send(request)
      return .done(visit.path("schemas", document.rawValue), "The schema is saved.")
    } catch {
      guard error.isMendable else { throw error }
      visit.call.failure = error
      guard error.is(.preconditionFailed) else {
        let mistakes = error.mistakes([]).map { Mistake($0.text, field: "schema") }
        return .refused(try await page(visit, entry, mistakes: mistakes), .unprocessable)
      }
      entry.conflict = try await conflict(with: entry, value, visit)
      let text = "The schema has changed since you opened it. Nothing was saved."
      let mistake = Mistake(text, field: Conflict.heading(of: Self.name))
      return .refused(try await page(visit, entry, mistakes: [mistake]), .preconditionFailed)
    }
  }

  static func remove(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let document = try document(visit)
    var request = ConsoleRequest(.delete, "schemas", document.rawValue)
    request.version = try form.seenVersion
    do throws(Failure) {
      _ = try await visit.send(request)
      return .done(visit.path("schemas"), "The schema is removed. The documents stay.")
    } catch {
      guard error.is(.preconditionFailed) else { throw error }
      visit.call.failure = error
      let text = "The schema has changed since you opened it. Nothing was removed; check it first."
      let page = try await page(visit, nil, mistakes: [Mistake(text)])
      return .refused(page, .preconditionFailed)
    }
  }

  // MARK: Conflicts

  /// The name of the text in the view of a conflict.
  private static let name = "schema"

  private static func base(of entry: Entry) -> JSON {
    (try? JSON.parse(Array(entry.base.utf8))) ?? .object(JSONObject())
  }

  private static func conflict(
    with entry: Entry, _ mine: JSON, _ visit: ConsoleVisit
  ) async throws(Failure) -> Conflict {
    let stored = try await read(visit)
    let kind = try document(visit).rawValue
    let latest = try await ObjectHistory.events("schema_*", visit).first {
      $0["detail"]?["kind"]?.string == kind
    }
    let author = latest.map {
      EventWords.actor($0["actor"]?.string ?? "", named: $0["actor_name"]?.string)
    }
    return Conflict(
      document: name, author: author, time: latest?["at"]?.string, base: base(of: entry),
      theirs: stored?.json ?? .object(JSONObject()), mine: mine)
  }

  /// Fills the form by a button of a conflict; the next save replaces what is stored now.
  private static func fill(
    _ entry: Entry, by choice: String, _ mine: JSON, _ visit: ConsoleVisit
  ) async throws(Failure) -> ConsoleOutcome {
    let stored = try await read(visit)
    let conflict = try await conflict(with: entry, mine, visit)
    let theirs = stored?.json.edited ?? ""
    var entry = Entry(text: entry.text, base: theirs, version: stored?.version ?? 0)
    switch choice {
    case "theirs": entry.text = stored == nil ? usual : theirs
    case "merged": entry.text = conflict.merged.edited
    default: break
    }
    let words = ["theirs": "their text", "merged": "the merged text"]
    var page = try await page(visit, entry, mistakes: [])
    page.notice = "The form has \(words[choice] ?? "your text"). Nothing is saved yet."
    return .refused(page, .ok)
  }
}
