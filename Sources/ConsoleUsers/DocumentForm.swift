import Documents
import ConsoleKit
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// A form with one or several documents, each with the version and the text that were read.
///
/// Each document is replaced only in its version. If another version is stored, the form shows what
/// has changed, and saves nothing.
struct DocumentForm {
  /// One document in the form.
  struct Entry {
    let document: ConsoleDocument
    /// The version that was read; nil for a document without versions.
    var version: Int?
    /// The text that was read.
    var base: String
    /// The text in the editor.
    var text: String
    var conflict: Conflict?
  }

  var entries: [Entry]

  /// The longest text in an editor, in bytes.
  ///
  /// Two documents with their bases, percent-encoded, fit into the longest body.
  private static let longest = 80_000
  private static let choiceName = "fill"

  /// Reads documents.
  ///
  /// - Throws: the failure of the request.
  @EventLoop static func read(
    _ documents: [ConsoleDocument], _ visit: ConsoleVisit
  ) async throws(Failure) -> DocumentForm {
    var entries: [Entry] = []
    for document in documents {
      let answer = try await visit.read("users", visit.userID, document.rawValue)
      let text = answer.json.edited
      entries.append(Entry(document: document, version: answer.version, base: text, text: text))
    }
    return DocumentForm(entries: entries)
  }

  /// Reads the values of a form.
  init(_ documents: [ConsoleDocument], _ form: FormValues) {
    entries = documents.map { document in
      let name = document.field
      // Browsers send line breaks as CR LF.
      func text(_ field: String) -> String { (form[field] ?? "").replacing("\r\n", with: "\n") }
      return Entry(
        document: document, version: form["\(name)_version"].flatMap { Int($0) },
        base: text("\(name)_base"), text: text(name))
    }
  }

  private init(entries: [Entry]) { self.entries = entries }

  /// Returns when a document was last changed, as its newest version tells; nil without versions.
  ///
  /// - Throws: the failure of the request.
  @EventLoop static func lastChange(
    of document: ConsoleDocument, _ visit: ConsoleVisit
  ) async throws(Failure) -> Markup? {
    let versions = try await visit.read(
      "users", visit.userID, document.rawValue, "versions", query: [("limit", "1")])
    guard let last = versions.items.first, let time = last["changed_at"]?.string else { return nil }
    let actor = last["actor"]?.string ?? ""
    let name = try await visit.actors([actor])[actor] ?? actor
    return "Last change: \(Part.time(time)), \(Part.address(name))."
  }

  // MARK: Markup

  /// Returns the card with the form; without the right to save, it only shows the documents.
  ///
  /// Throws the failure of a request.
  @EventLoop func card(
    _ heading: String?, to path: LocalPath, _ visit: ConsoleVisit, _ mistakes: [Mistake]
  ) async throws(Failure) -> Markup {
    let isKept = try await visit.versionsKept() > 0
    var dates: [ConsoleDocument: Markup] = [:]
    for entry in entries where isKept {
      dates[entry.document] = try await Self.lastChange(of: entry.document, visit)
    }
    func hint(of document: ConsoleDocument) -> Markup {
      let (label, path) =
        isKept
        ? ("Earlier versions of \(document.field)", visit.userPath(document.rawValue, "versions"))
        : ("No earlier versions are kept", visit.path("settings", "document"))
      return """
        \(document.hint) \(dates[document].map { "\($0) " as Markup })\
        \(Part.link(label, to: path))
        """
    }
    guard visit.right >= .admin else {
      let texts = entries.map { entry -> Markup in
        """
        <h3>\(entry.document.label)</h3><p class="hint">\(hint(of: entry.document))</p>\
        \(Part.code(entry.text, label: entry.document.label))
        """
      }
      return Part.card(
        heading, "\(texts)\(Part.paragraph("An admin or owner can change it.", isMuted: true))")
    }
    guard entries.allSatisfy({ $0.text.utf8.count <= Self.longest }) else {
      return Part.card(
        heading,
        Part.paragraph("This document is too large for an editor. Use the command line below."))
    }
    let conflicts = entries.compactMap { $0.conflict?.markup(choosingIn: Self.choiceName) }
    let hidden = entries.flatMap { entry in
      [
        HiddenField(
          "\(entry.document.field)_version", entry.version.map { "\($0)" } ?? ""),
        HiddenField("\(entry.document.field)_base", entry.base),
      ]
    }
    let fields = entries.map { entry in
      ConsoleField(
        entry.document.field, entry.document.label, .json, value: entry.text,
        hint: hint(of: entry.document)
      ).with(mistakes).markup
    }
    // Enter and Ctrl+S press the first button, which must not be one that fills the form.
    let form = Part.form(
      visit.target(path, hidden), isWide: true,
      """
      <button class="first" name="save" value="yes" tabindex="-1" aria-hidden="true" data-save>Save\
      </button>\(conflicts)<div class="grid">\(fields)</div>\
      \(Part.buttons(Part.submit("Save")))
      """)
    return Part.card(heading, form)
  }

  // MARK: Saving

  enum Result {
    case saved
    case nothing
    /// The form is shown again with these errors.
    case refused([Mistake], Status)
    /// The form is filled, and is shown again.
    case filled(String)
  }

  /// Saves the documents that the administrator has changed, or fills the form by a button of a
  /// conflict.
  ///
  /// - Throws: the failure of a request.
  @EventLoop mutating func save(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> Result {
    var (mistakes, values): ([Mistake], [JSON]) = ([], [])
    for entry in entries {
      do throws(JSONError) {
        let value = try JSON.parse(Array(entry.text.utf8))
        if value.object == nil {
          mistakes.append(
            Mistake("The text must be an object: { … }.", field: entry.document.field))
        }
        values.append(value)
      } catch {
        mistakes.append(Mistake(error.text(in: entry.text), field: entry.document.field))
      }
    }
    guard mistakes.isEmpty else { return .refused(mistakes, .unprocessable) }
    var stored: [ConsoleAnswer] = []
    for entry in entries {
      stored.append(try await visit.read("users", visit.userID, entry.document.rawValue))
    }
    let bases = entries.map { (try? JSON.parse(Array($0.base.utf8))) ?? .null }
    if let choice = form[Self.choiceName] {
      return fill(choice, bases, stored, values)
    }
    let changed = entries.indices.filter { bases[$0] != values[$0] }
    guard !changed.isEmpty else { return .nothing }
    let moved = changed.filter { entries[$0].version != stored[$0].version }
    guard moved.isEmpty else {
      return try await conflict(in: moved, bases, stored, values, visit)
    }
    var body = JSONObject()
    for index in changed {
      body[entries[index].document.member] = [
        "document": values[index], "version": .number(JSONNumber(entries[index].version ?? 0)),
      ]
    }
    var request = ConsoleRequest(.put, "users", visit.userID, "documents")
    request.body = .object(body)
    do throws(Failure) {
      _ = try await visit.send(request)
      return .saved
    } catch .preconditionFailed {
      for index in changed {
        let document = entries[index].document
        stored[index] = try await visit.read("users", visit.userID, document.rawValue)
      }
      let moved = changed.filter { entries[$0].version != stored[$0].version }
      return try await conflict(in: moved, bases, stored, values, visit)
    } catch {
      guard error.isMendable else { throw error }
      visit.call.failure = error
      return .refused(errors(of: error), .unprocessable)
    }
  }

  /// Returns the errors of the documents, each with its place there.
  private func errors(of failure: Failure) -> [Mistake] {
    guard !failure.faults.isEmpty else { return failure.mistakes([]) }
    return failure.faults.map { fault in
      for entry in entries {
        let start = "/\(entry.document.member)/document"
        guard fault.place.hasPrefix(start) else { continue }
        let place = fault.place.dropFirst(start.count)
        return Mistake("\(place): \(fault.detail)", field: entry.document.field)
      }
      return Mistake("\(fault.place): \(fault.detail)")
    }
  }

  @EventLoop private mutating func conflict(
    in indexes: [Int], _ bases: [JSON], _ stored: [ConsoleAnswer], _ values: [JSON],
    _ visit: ConsoleVisit
  ) async throws(Failure) -> Result {
    var mistakes: [Mistake] = []
    for index in indexes {
      let document = entries[index].document
      let versions = try await visit.read("users", visit.userID, document.rawValue, "versions")
      let latest = versions.items.first { $0["version"]?.number?.int == stored[index].version }
      let author = latest?["actor"]?.string
      entries[index].conflict = Conflict(
        document: document.field,
        author: try await visit.actors([author].compactMap(\.self)).values.first,
        time: latest?["changed_at"]?.string, base: bases[index], theirs: stored[index].json,
        mine: values[index])
      mistakes.append(
        Mistake(
          "\(document.field) has changed since you opened it. Nothing was saved.",
          field: Conflict.heading(of: document.field)))
    }
    return .refused(mistakes, .preconditionFailed)
  }

  /// Fills each document that has changed meanwhile.
  private mutating func fill(
    _ choice: String, _ bases: [JSON], _ stored: [ConsoleAnswer], _ values: [JSON]
  ) -> Result {
    for index in entries.indices where entries[index].version != stored[index].version {
      let theirs = stored[index].json
      switch choice {
      case "theirs": entries[index].text = theirs.edited
      case "merged":
        let merge = DocumentMerge(base: bases[index], theirs: theirs, mine: values[index])
        entries[index].text = merge.merged.edited
      default: break
      }
      // The next save compares with what is stored now.
      (entries[index].base, entries[index].version) = (theirs.edited, stored[index].version)
    }
    let words = ["theirs": "their text", "merged": "the merged text"]
    return .filled("The form has \(words[choice] ?? "your text"). Nothing is saved yet.")
  }
}

extension ConsoleVisit {
  /// Returns how many earlier versions of each document the app keeps.
  ///
  /// - Throws: the failure of the request.
  func versionsKept() async throws(Failure) -> Int {
    let settings = try await read("apps", place).json["settings"]
    return settings?["document_versions_kept"]?.number?.int ?? 0
  }
}
