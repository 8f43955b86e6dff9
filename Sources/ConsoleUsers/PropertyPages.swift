import ConsoleKit
import ConsolePages
import Documents
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// The properties of a user.
@EventLoop enum PropertyPages {
  private nonisolated static let path = "/console/{app}/users/{user}/properties"

  nonisolated static let routes = [
    ConsoleVisit.page(path, "Show the properties of a user") { (visit) async throws(Failure) in
      try await page(visit)
    },
    ConsoleVisit.form(path, "Set a property of a user", set),
    ConsoleVisit.form("\(path)/remove", below: 1, "Remove a property of a user", remove),
  ]

  /// The meaning of properties.
  static let meaning =
    "Single values by key, such as a level, which apps set one by one. No earlier values are kept."

  private static func page(
    _ visit: ConsoleVisit, _ form: FormValues? = nil, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let user = try await visit.read("users", visit.userID).json
    let stored =
      try await visit.read(
        "users", visit.userID, "properties", query: [("versions", "true")]
      ).json.object ?? JSONObject()
    var page = UserPages.page(of: user, .properties, visit)
    page.mistakes = mistakes
    let mayWrite = visit.right >= .admin
    var columns: [ConsoleTable.Column] = [
      .init("Key"), .init("Value"), .init("Version", isMinor: true, isNumber: true),
    ]
    if mayWrite { columns.append(.init("Action")) }
    var table = ConsoleTable("Properties", columns)
    for (key, property) in stored {
      var row: [Markup] = [
        Part.identifier(key), Part.identifier(property["value"]?.text ?? ""),
        "\(property["version"]?.text ?? "")",
      ]
      if mayWrite {
        let target = visit.target(
          visit.userPath("properties", "remove"),
          [HiddenField("key", key), .version(property["version"]?.number?.int)])
        row.append(
          Part.form(
            target,
            """
            <button class="secondary">Remove<span class="hidden"> \(key)</span></button>
            """))
      }
      table.rows.append(row)
    }
    page.body = [
      Part.paragraph(meaning, isMuted: true),
      stored.count == 0 ? Part.empty("This user has no properties.") : table.markup,
    ]
    if mayWrite {
      let fields = [
        ConsoleField("key", "Key", value: form?["key"] ?? ""),
        ConsoleField(
          "value", "Value", value: form?["value"] ?? "",
          hint: "A number, true, false, or a text. Quotes make a text of a number."),
      ]
      page.body.append(
        Part.card(
          "Set a property",
          Part.form(
            visit.target(visit.userPath("properties"), [HiddenField(seen, versions(of: stored))]),
            isWide: true,
            "\(fields.markup(mistakes))\(Part.buttons(Part.submit("Set")))")))
    }
    if !mayWrite {
      page.body.append(Part.paragraph("An admin or owner can change properties.", isMuted: true))
    }
    page.commands = [
      "dossier api GET /v1/users/\(visit.userID)/properties --app \(visit.place)"
    ]
    return page
  }

  // MARK: Changes

  /// The field with the versions that the page has shown, by key.
  private static let seen = "seen_version"

  private static func versions(of stored: JSONObject) -> String {
    JSON.object(JSONObject(stored.map { ($0.key, $0.value["version"] ?? 0) })).text
  }

  private static func set(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let key = form.trimmed("key")
    guard !key.isEmpty else {
      let mistakes = [Mistake("Enter a key.", field: "key")]
      return .refused(try await page(visit, form, mistakes: mistakes), .unprocessable)
    }
    let versions = try form.versions(in: seen)
    let text = form["value"] ?? ""
    let value = (try? JSON.parse(Array(text.utf8))) ?? .string(text)
    var request = ConsoleRequest(.put, "users", visit.userID, "properties", key)
    // Version 0 stands for a property that the page has not shown.
    (request.body, request.version) = (["value": value], versions[key]?.number?.int ?? 0)
    return try await send(request, key, visit, form, "is set")
  }

  private static func remove(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let key = form["key"] ?? ""
    var request = ConsoleRequest(.delete, "users", visit.userID, "properties", key)
    request.version = try form.seenVersion
    return try await send(request, key, visit, nil, "is removed")
  }

  /// Sends a change, and shows the stored property if it is not the one that the page has shown.
  private static func send(
    _ request: ConsoleRequest, _ key: String, _ visit: ConsoleVisit, _ form: FormValues?,
    _ result: String
  ) async throws(Failure) -> ConsoleOutcome {
    do throws(Failure) {
      _ = try await visit.send(request)
      return .done(visit.userPath("properties"), "The property \(key) \(result).")
    } catch {
      let isGone = error.is(.notFound) && form == nil
      guard error.isMendable || isGone else { throw error }
      visit.call.failure = error
      guard error.is(.versionConflict) || isGone else {
        let page = try await page(visit, form, mistakes: error.mistakes(["key", "value"]))
        return .refused(page, .unprocessable)
      }
      let stored = error.members.first { $0.name == "value" }?.value ?? .null
      let now = stored == .null ? "it is removed" : "its value is \(stored.text)"
      let text =
        "Someone has changed \(key) since you opened the page: now \(now). Nothing was saved; check it "
        + "and send the form again."
      let mistake = Mistake(text, field: form == nil ? nil : "value")
      return .refused(try await page(visit, form, mistakes: [mistake]), .conflict)
    }
  }
}
