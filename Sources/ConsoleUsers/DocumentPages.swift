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

/// The documents of a user: the editors, the stored versions, and their restoration.
@EventLoop enum DocumentPages {
  private nonisolated static let path = "/console/{app}/users/{user}"

  nonisolated static let routes =
    [
      ConsoleVisit.form(
        "\(path)/metadata", below: 1, limit: KeptForm.bodyLimit,
        "Replace both metadata of a user"
      ) { (visit, form) async throws(Failure) in
        var documents = DocumentForm([.metadata, .appMetadata], form)
        let result = try await documents.save(visit, form)
        return try await outcome(result, documents, visit, done: visit.userPath()) {
          (mistakes) async throws(Failure) in
          try await UserPages.details(visit, documents: documents, mistakes: mistakes)
        }
      },
      ConsoleVisit.page("\(path)/custom-data", "Show the custom data of a user") {
        (visit) async throws(Failure) in
        try await customData(visit, try await DocumentForm.read([.customData], visit))
      },
      ConsoleVisit.form(
        "\(path)/custom-data", limit: KeptForm.bodyLimit, "Replace the custom data of a user"
      ) { (visit, form) async throws(Failure) in
        var documents = DocumentForm([.customData], form)
        let result = try await documents.save(visit, form)
        let next = visit.userPath("custom-data")
        return try await outcome(result, documents, visit, done: next) {
          (mistakes) async throws(Failure) in
          try await customData(visit, documents, mistakes)
        }
      },
    ] + ConsoleDocument.allCases.flatMap(versionRoutes)

  private nonisolated static func versionRoutes(of document: ConsoleDocument) -> [Route] {
    let path = "\(path)/\(document.rawValue)/versions"
    return [
      ConsoleVisit.page(path, "List the stored versions of \(document.field)") {
        (visit) async throws(Failure) in try await versions(of: document, visit)
      },
      ConsoleVisit.page("\(path)/{version}", "Compare a stored version of \(document.field)") {
        (visit) async throws(Failure) in try await version(of: document, visit)
      },
      ConsoleVisit.form("\(path)/{version}", "Restore a stored version of \(document.field)") {
        (visit, form) async throws(Failure) in try await restore(document, visit, form)
      },
    ]
  }

  // MARK: Editors

  private static func outcome(
    _ result: DocumentForm.Result, _ documents: DocumentForm, _ visit: ConsoleVisit,
    done path: LocalPath, _ page: ([Mistake]) async throws(Failure) -> ConsolePage
  ) async throws(Failure) -> ConsoleOutcome {
    switch result {
    case .saved: return .done(path, "Saved.")
    case .nothing: return .done(path, "Nothing has changed.")
    case .refused(let mistakes, let status): return .refused(try await page(mistakes), status)
    case .filled(let text):
      var page = try await page([])
      page.notice = "\(text)"
      return .refused(page, .ok)
    }
  }

  private static func customData(
    _ visit: ConsoleVisit, _ documents: DocumentForm, _ mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let user = try await visit.read("users", visit.userID).json
    var page = UserPages.page(of: user, .customData, visit)
    page.mistakes = mistakes
    page.body = [
      try await documents.card(nil, to: visit.userPath("custom-data"), visit, mistakes)
    ]
    page.commands = [
      "dossier api GET /v1/users/\(visit.userID)/custom-data --app \(visit.place)"
    ]
    return page
  }

  // MARK: Versions

  private static func tab(of document: ConsoleDocument) -> UserPages.Tab {
    document == .customData ? .customData : .details
  }

  private static func versions(
    of document: ConsoleDocument, _ visit: ConsoleVisit
  ) async throws(Failure) -> ConsolePage {
    let user = try await visit.read("users", visit.userID).json
    let list = try await visit.read(
      "users", visit.userID, document.rawValue, "versions",
      query: [("limit", versionsOfPage), ("cursor", visit.cursor)])
    var page = UserPages.page(of: user, tab(of: document), visit)
    page.commands = [
      "dossier api GET /v1/users/\(visit.userID)/\(document.rawValue)/versions --app \(visit.place)"
    ]
    guard !list.items.isEmpty else {
      let kept = try await visit.versionsKept()
      let setting = "the setting “Document versions kept” (document_versions_kept) is \(kept)"
      page.body = [
        Part.empty(
          kept == 0
            ? "This app keeps no earlier versions: \(setting)."
            : "\(document.field) has not changed since versions are kept: \(setting).",
          Part.link("Settings", to: visit.path("settings", "document"), style: .secondary))
      ]
      return page
    }
    let actors = try await visit.actors(list.items.compactMap { $0["actor"]?.string })
    var table = ConsoleTable(
      "Versions of \(document.field)",
      [.init("Version"), .init("Changed"), .init("By"), .init("What it changed")])
    let summaries = try await summaries(of: list, document, visit)
    for (item, summary) in zip(list.items, summaries) {
      let number = item["version"]?.text ?? ""
      let path = visit.userPath(document.rawValue, "versions", number)
      table.rows.append([
        "\(Part.link(number, to: path))\(if: item["deleted"]?.bool == true, " \(Part.tag("Deleted"))")",
        Part.time(item["changed_at"]?.string),
        Part.address(item["actor"]?.string.flatMap { actors[$0] } ?? ""), summary,
      ])
    }
    page.body = ["<h2>Versions of \(document.field)</h2>", table.markup]
    if visit.right < .admin { page.body.append(restorers) }
    page.body += visit.pager(list) {
      visit.userPath(document.rawValue, "versions", query: $0)
    }
    return page
  }

  /// The versions on a page, whose texts are all read.
  private static let versionsOfPage = "20"
  private static let restorers = Part.paragraph(
    "An admin or owner can restore a version.", isMuted: true)

  /// Returns what each version of a page has changed.
  private static func summaries(
    of list: ConsoleAnswer, _ document: ConsoleDocument, _ visit: ConsoleVisit
  ) async throws(Failure) -> [Markup] {
    var items = list.items
    if let next = list.next {
      items += try await visit.read(
        "users", visit.userID, document.rawValue, "versions",
        query: [("limit", "1"), ("cursor", next)]
      ).items
    }
    var bodies: [JSON?] = []
    for item in items { bodies.append(try await body(of: item, document, visit)) }
    return list.items.indices.map { index in
      guard let after = bodies[index] else { return Part.muted("all was deleted") }
      guard index + 1 < bodies.count else { return Part.muted("the oldest version that is kept") }
      return VersionSummary(from: bodies[index + 1] ?? [:], to: after).markup
    }
  }

  /// Returns the text of a version; nil for a deletion, and for a version that is gone meanwhile.
  private static func body(
    of item: JSON, _ document: ConsoleDocument, _ visit: ConsoleVisit
  ) async throws(Failure) -> JSON? {
    guard item["deleted"]?.bool != true, let number = item["version"]?.text else { return nil }
    do throws(Failure) {
      return try await visit.read("users", visit.userID, document.rawValue, "versions", number).json
    } catch .notFound {
      return nil
    }
  }

  /// Returns the card with what a version has changed; nil if the version before it is not kept.
  private static func change(
    by number: String, _ old: JSON, _ document: ConsoleDocument, _ visit: ConsoleVisit
  ) async throws(Failure) -> Markup? {
    let before = try await visit.read(
      "users", visit.userID, document.rawValue, "versions",
      query: [("limit", "1"), ("cursor", number)]
    ).items.first
    guard let before else { return nil }
    let body = try await body(of: before, document, visit) ?? [:]
    let label = "What this version changed"
    return Part.card(label, Difference(from: body.edited, to: old.edited).markup(label: label))
  }

  private static func version(
    of document: ConsoleDocument, _ visit: ConsoleVisit, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let number = visit.call.text("version")
    let user = try await visit.read("users", visit.userID).json
    let old = try await visit.read(
      "users", visit.userID, document.rawValue, "versions", number)
    let current = try await visit.read("users", visit.userID, document.rawValue)
    var page = UserPages.page(of: user, tab(of: document), visit)
    page.mistakes = mistakes
    page.back = ConsoleLink("Versions", to: visit.userPath(document.rawValue, "versions"))
    let isCurrent = current.version.map { "\($0)" } == number
    page.body = ["<h2>Version \(number) of \(document.field)</h2>"]
    if let change = try await change(by: number, old.json, document, visit) {
      page.body.append(change)
    }
    if !isCurrent {
      let label = "From this version to the stored one"
      page.body.append(
        Part.card(
          label, Difference(from: old.json.edited, to: current.json.edited).markup(label: label)))
    }
    page.body.append(Part.card("The whole text", Part.code(old.json.edited, label: "Version")))
    if !isCurrent, visit.right >= .admin {
      let target = visit.target(
        visit.userPath(document.rawValue, "versions", number),
        [.version(current.version)])
      page.body.append(Part.button("Restore as a new version", target, style: .primary))
    }
    if !isCurrent, visit.right < .admin { page.body.append(restorers) }
    return page
  }

  private static func restore(
    _ document: ConsoleDocument, _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let number = visit.call.text("version")
    let old = try await visit.read("users", visit.userID, document.rawValue, "versions", number)
    var request = ConsoleRequest(.put, "users", visit.userID, document.rawValue)
    (request.body, request.version) = (old.json, try form.seenVersion)
    do throws(Failure) {
      _ = try await visit.send(request)
    } catch .preconditionFailed {
      let mistake = Mistake(
        "The document has changed since you opened this page. Compare again before you restore.")
      return .refused(
        try await version(of: document, visit, mistakes: [mistake]), .preconditionFailed)
    }
    let next =
      document == .customData ? visit.userPath("custom-data") : visit.userPath()
    return .done(next, "Version \(number) of \(document.field) is restored as a new version.")
  }
}
