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

/// The merge of another user into a user, with its preview and its undo.
@EventLoop enum UserMergePages {
  private nonisolated static let path = "/console/{app}/users/{user}/merge"

  nonisolated static let routes = [
    ConsoleVisit.page(path, for: .admin, isRecent: true, "Show what a merge of two users would do")
    {
      (visit) async throws(Failure) in
      try await page(visit, FormValues(visit.call.request.query))
    },
    ConsoleVisit.form(path, for: .admin, isRecent: true, "Merge another user into a user", merge),
    ConsoleVisit.form(
      "\(path)/undo", below: 1, for: .admin, isRecent: true, "Undo a merge of users", undo),
  ]

  /// The documents, by their names in requests.
  private static let documents = ConsoleDocument.allCases.map { ($0.member, $0.label) }
  private static let choices = ["merge", "keep", "take"]

  /// Returns the choices for a document, in words with the names and the dates of both sides.
  private static func options(
    for document: String, _ preview: JSON, _ mine: String, _ theirs: String
  ) -> [(value: String, label: String)] {
    let (kept, taken) = (
      date(of: document, preview["user"]), date(of: document, preview["other"])
    )
    func label(_ verb: String, _ name: String, _ date: String?, isNewer: Bool) -> String {
      let words = date.map { ", of \(day($0))" } ?? ""
      return "\(verb) that of \(name)\(words)\(isNewer ? " (the newer one)" : "")"
    }
    let isOlder = kept.flatMap { mine in taken.map { mine < $0 } }
    return [
      ("merge", "Join both; where both have a value, that of \(mine) stays"),
      ("keep", label("Keep", mine, kept, isNewer: isOlder == false)),
      ("take", label("Take", theirs, taken, isNewer: isOlder == true)),
    ]
  }

  /// Returns when a document of a party was last changed; nil without a document.
  private static func date(of document: String, _ party: JSON?) -> String? {
    party?["documents"]?[document]?["updated_at"]?.string
  }

  /// Returns the day and the minute of a time, in UTC as the database writes it.
  private static func day(_ time: String) -> String {
    String(time.prefix(16).map { $0 == "T" ? " " : $0 })
  }

  // MARK: The page

  private static func page(
    _ visit: ConsoleVisit, _ form: FormValues?, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let user = try await visit.read("users", visit.userID).json
    let name = UserPages.title(of: user)
    var page = ConsolePage(
      "Merge into \(name)", heading: "Merge into \(UserPages.heading(of: user))", section: .users)
    page.back = ConsoleLink(name, to: visit.userPath())
    page.hasTimes = true
    page.mistakes = mistakes
    let typed = form?.trimmed("other") ?? ""
    var preview: JSON?
    var other: String?
    if !typed.isEmpty {
      other = try await id(of: typed, visit)
      if let other {
        do throws(Failure) {
          var request = ConsoleRequest(.post, "users", visit.userID, "merge")
          request.body = body(form, from: other, isDry: true)
          preview = try await visit.send(request).json
        } catch {
          guard error.isMendable else { throw error }
          visit.call.failure = error
          if mistakes.isEmpty {
            page.mistakes = [Mistake(sentence(of: error), field: "other")]
          }
        }
      } else if mistakes.isEmpty {
        page.mistakes = [Mistake("No user has this address or id.", field: "other")]
      }
    }
    page.body = [chooser(visit, form, page.mistakes, hasPreview: preview != nil)]
    if let preview, let other {
      page.body += comparison(preview)
      page.body.append(confirmation(preview, (name, other), form, visit, page.mistakes))
    }
    page.body += try await earlier(visit)
    page.commands = [
      "dossier user merge \(visit.userID) \(other ?? "OTHER") --app \(visit.place)",
      "dossier user undo-merge MERGE --app \(visit.place)",
    ]
    return page
  }

  private static func sentence(of failure: Failure) -> String {
    let faults = failure.faults.map { "\($0.place): \($0.detail)" }
    return faults.isEmpty
      ? ConsoleResponses.explanation(of: failure).joined(separator: " ")
      : faults.joined(separator: " ")
  }

  /// Returns the id of a user by its id or address; nil if no user has the address.
  private static func id(of text: String, _ visit: ConsoleVisit) async throws(Failure) -> String? {
    UserID(text) == nil ? try await visit.user(withAddress: text) : text.lowercased()
  }

  private static func body(_ form: FormValues?, from other: String, isDry: Bool) -> JSON {
    var body = JSONObject([("from", .string(other)), ("dry_run", .bool(isDry))])
    for (name, _) in documents {
      guard let choice = form?[name], choices.contains(choice) else { continue }
      body[name] = .string(choice)
    }
    return .object(body)
  }

  /// Returns the form that chooses the other user.
  private static func chooser(
    _ visit: ConsoleVisit, _ form: FormValues?, _ mistakes: [Mistake], hasPreview: Bool
  ) -> Markup {
    let fields = [
      ConsoleField(
        "other", "User to merge", value: form?.trimmed("other") ?? "",
        hint: "An email address or an ID. This user is deleted, and its data come here.")
    ]
    return Part.card(
      nil,
      """
      <form class="wide" method="get" action="\(visit.userPath("merge").text)">\
      \(fields.markup(mistakes))\
      \(Part.buttons(Part.submit("Show the result", hasPreview ? .secondary : .primary)))</form>
      """)
  }

  // MARK: The preview

  private static let profile = [
    ("email", "Email address"), ("name", "Name"), ("given_name", "Given name"),
    ("family_name", "Family name"), ("nickname", "Nickname"), ("phone", "Phone"),
    ("locale", "Language"), ("zone", "Time zone"),
  ]

  private static func comparison(_ preview: JSON) -> [Markup] {
    let (user, other) = (preview["user"] ?? [:], preview["other"] ?? [:])
    var table = ConsoleTable(
      "Both users", [.init("Part"), .init("Stays"), .init("Is merged"), .init("After the merge")])
    func add(_ label: String, _ mine: String, _ theirs: String, _ after: String) {
      guard !mine.isEmpty || !theirs.isEmpty else { return }
      table.rows.append(["\(label)", Part.name(mine), Part.name(theirs), Part.name(after)])
    }
    for (name, label) in profile {
      let mine = user["profile"]?[name]?.string ?? ""
      let theirs = other["profile"]?[name]?.string ?? ""
      add(label, mine, theirs, mine.isEmpty ? theirs : mine)
    }
    for (name, label) in documents {
      let (mine, theirs) = (date(of: name, user).map(day), date(of: name, other).map(day))
      add("\(label) changed", mine ?? "", theirs ?? "", "")
    }
    let (waysOfUser, waysOfOther) = (ways(user["identities"]), ways(other["identities"]))
    add(
      "Ways to sign in", text(waysOfUser), text(waysOfOther), text(waysOfUser + waysOfOther))
    for (name, label, key) in [
      ("roles", "Roles", "name"),
      ("permissions", "Permissions", "scope"), ("consents", "Consents", "client_id"),
    ] {
      let (mine, theirs) = (words(user[name], key), words(other[name], key))
      let sum = mine + theirs.filter { !mine.contains($0) }
      add(label, text(mine), text(theirs), text(sum))
    }
    let (mine, theirs) = (user["properties"]?.object, other["properties"]?.object)
    let all = (mine?.keys ?? []) + (theirs?.keys ?? []).filter { mine?[$0] == nil }
    add("Properties", text(mine?.keys ?? []), text(theirs?.keys ?? []), text(all))
    for (name, label) in [
      ("sessions", "Sessions"), ("api_keys", "API keys"), ("passkeys", "Passkeys"),
      ("second_factors", "Second factors"),
    ] {
      let (mine, theirs) = (user[name]?.text ?? "0", other[name]?.text ?? "0")
      guard mine != "0" || theirs != "0" else { continue }
      add(label, mine, theirs, theirs == "0" ? mine : "\(mine); those of the other user end")
    }
    return [table.markup]
      + documents.compactMap { name, label in
        document(
          label, user["documents"]?[name]?["body"], other["documents"]?[name]?["body"],
          preview["documents"]?[name])
      }
  }

  /// Returns identities in words, each with the address or the account that it is for.
  private static func ways(_ list: JSON?) -> [String] {
    (list?.array ?? []).map { way in
      let method = EventWords.method(way["provider"]?.string ?? "")
      return "\(method) of \(way["subject"]?.string ?? "")"
    }
  }

  private static func words(_ list: JSON?, _ key: String) -> [String] {
    (list?.array ?? []).map { $0[key]?.string ?? "" }
  }

  private static func text(_ words: [String]) -> String {
    let most = 12
    let rest = words.count > most ? " and \(words.count - most) more" : ""
    return words.prefix(most).joined(separator: ", ") + rest
  }

  /// The longest documents whose texts the page shows, in bytes together.
  private static let shownDocument = 8_192

  private static func document(
    _ label: String, _ mine: JSON?, _ theirs: JSON?, _ after: JSON?
  ) -> Markup? {
    guard let theirs else { return nil }
    let before = mine?.edited ?? ""
    let (given, result) = (theirs.edited, after?.edited ?? "")
    guard before.utf8.count + given.utf8.count + result.utf8.count <= shownDocument else {
      return Part.card(
        label, Part.paragraph("This document is too long to be shown. Use the command line."))
    }
    let change: Markup =
      before == result
      ? Part.paragraph("The document of the user that stays does not change.")
      : Difference(from: before, to: result).markup(label: "What changes in \(label)")
    return Part.card(
      label,
      """
      <h3>What changes</h3>\(change)<h3>The other user's document</h3>\
      \(Part.code(given, label: "The other user's document"))
      """)
  }

  private static func confirmation(
    _ preview: JSON, _ parties: (user: String, other: String), _ form: FormValues?,
    _ visit: ConsoleVisit, _ mistakes: [Mistake]
  ) -> Markup {
    let other = parties.other
    let name = name(of: preview["other"], other)
    let selects = documents.map { document, label in
      ConsoleField(
        document, label, .choice(options(for: document, preview, parties.user, name)),
        value: choice(of: document, in: form))
    }
    let hidden = documents.map { HiddenField(shown + $0.0, choice(of: $0.0, in: form)) }
    let field = ConsoleQuestion.field(typing: name)
    let instead = Part.link(
      "Keep the other user instead",
      to: .console(
        visit.place, "users", other, "merge", query: [("other", visit.userID)]),
      style: .secondary)
    let merge = Part.form(
      visit.target(visit.userPath("merge"), [HiddenField("other", other)] + hidden), isWide: true,
      """
      \(selects.markup(mistakes))\
      \(Part.buttons(
        Part.submit("Show the result", .secondary, value: HiddenField("preview", "true"))))\
      \([field].markup(mistakes))\
      \(Part.buttons(
        Part.submit("Merge \(name) into \(parties.user)", .danger), instead,
        Part.link("Cancel", to: visit.userPath(), style: .secondary)))
      """)
    return """
      <section class="card danger-zone"><h2>Merge</h2>\
      <p>\(Part.name(name)) is deleted, with its sessions, API keys, passkeys, second factors and \
      picture. For 7 days, you can undo the merge: the user then exists again, without sessions and password.</p>\
      \(merge)</section>
      """
  }

  /// The start of the names of the choices whose result the page shows.
  private static let shown = "shown_"

  private static func choice(of document: String, in form: FormValues?) -> String {
    choices.first { $0 == form?[document] } ?? "merge"
  }

  private static func name(of other: JSON?, _ id: String) -> String {
    let profile = other?["profile"]
    return profile?["email"]?.string ?? profile?["name"]?.string ?? id
  }

  // MARK: Forms

  private static func merge(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let other = form.trimmed("other")
    let user = try await visit.read("users", other).json
    let name = UserPages.title(of: user)
    if form["preview"] != nil { return .refused(try await page(visit, form), .ok) }
    // Only what the page has shown is merged.
    let isShown = documents.allSatisfy { document, _ in
      form[shown + document].map { $0 == choice(of: document, in: form) } ?? true
    }
    guard isShown else {
      let text = "You have changed a choice. The page shows the result now; confirm it again."
      return .refused(
        try await page(visit, form, mistakes: [Mistake(text)]), .unprocessable)
    }
    let mistakes = ConsoleQuestion.mistakes(form, typing: name)
    guard mistakes.isEmpty else {
      return .refused(try await page(visit, form, mistakes: mistakes), .unprocessable)
    }
    var request = ConsoleRequest(.post, "users", visit.userID, "merge")
    request.body = body(form, from: other, isDry: false)
    return try await visit.submit(request, ["other", "confirmation"]) { _ in
      .done(
        visit.userPath(), "Merged. For 7 days, “Merge” has a button that undoes it. Merged user:",
        name: name)
    } orShow: { (mistakes) async throws(Failure) in
      try await page(visit, form, mistakes: mistakes)
    }
  }

  private static func undo(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let request = ConsoleRequest(.post, "merges", form["merge"] ?? "", "undo")
    let user = try await visit.send(request).json["user_id"]?.string ?? ""
    return .done(
      .console(visit.place, "users", user),
      "The merge is undone. This user exists again, without sessions and password.")
  }

  /// Returns the merges of the last seven days that are not undone.
  private static func earlier(_ visit: ConsoleVisit) async throws(Failure) -> [Markup] {
    let week = Timestamp(microseconds: (Timestamp.now.seconds - 604_800) * 1_000_000).text
    func events(_ action: String) async throws(Failure) -> [JSON] {
      try await visit.read(
        "audit",
        query: [
          ("app", visit.place), ("user", visit.userID), ("action", action), ("from", week),
          ("limit", "50"),
        ]
      ).items
    }
    let merges = try await events("user_merge")
    guard !merges.isEmpty else { return [] }
    let undone = Set(
      try await events("merge_undo").compactMap { $0["detail"]?["merge_id"]?.string })
    var table = ConsoleTable("Earlier merges", [.init("User"), .init("Time"), .init("Action")])
    for event in merges {
      let merge = event["detail"]?["merge_id"]?.string ?? ""
      guard !undone.contains(merge) else { continue }
      table.rows.append([
        Part.identifier(event["detail"]?["from"]?.string ?? ""), Part.time(event["at"]?.string),
        Part.button(
          "Undo merge", visit.target(visit.userPath("merge", "undo"), [HiddenField("merge", merge)])
        ),
      ])
    }
    return table.rows.isEmpty ? [] : ["<h2>Merges of the last 7 days</h2>", table.markup]
  }
}
