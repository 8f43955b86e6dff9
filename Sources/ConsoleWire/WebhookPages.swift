import ConsoleKit
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
import Webhooks
import WireKit

/// The webhooks of an app, with their state and their newest deliveries.
@EventLoop enum WebhookPages {
  private nonisolated static let pages = RecordPages(
    section: .webhooks, words: WebhookRecord.words, shape: WebhookRecord.table.shape,
    title: "url", key: "id", creation: nil, listed: ["types", "enabled"],
    one: "webhook",
    none: "This app has no webhooks. A webhook sends events, such as new users, to your server.",
    labels: ["url": "URL", "types": "Events", "signature": "Signature", "enabled": "Enabled"],
    secretMeaning: "The receiver verifies events by this. It is shown only now.",
    needsRecent: true,
    extra: { (visit, webhook) async throws(Failure) in try await cards(visit, webhook) })

  nonisolated static let routes =
    pages.routes + [
      ConsoleVisit.form(
        "/console/{app}/webhooks/{record}/test", below: 1, "Send a test event to a webhook", test),
      ConsoleVisit.form(
        "/console/{app}/webhooks/{record}/deliveries/{delivery}/retry", below: 3,
        "Send a delivery of a webhook again", retry),
    ]
    + ConsoleVisit.asked(
      "/console/{app}/webhooks/{record}/secret", for: .admin, isRecent: true,
      "Replace the key of a webhook"
    ) { (visit) async throws(Failure) in
      let url = try await pages.read(visit).json["url"]?.string ?? ""
      return ConsoleQuestion(
        title: "Replace the key of \(url)", heading: "Replace the key of \(Part.name(url))",
        section: .webhooks, back: ConsoleLink(url, to: pages.recordPath(visit)),
        consequences: [
          "Events are signed with both keys for 24 hours.", "The new key is shown once.",
        ], button: "Replace the key",
        commands: ["dossier webhook secret \(pages.id(visit)) --app \(visit.place)"])
    } _: { (visit, _) async throws(Failure) in
      let answer = try await visit.send(
        ConsoleRequest(.post, "webhooks", pages.id(visit), "secret"))
      return .done(
        pages.recordPath(visit), "The key before signs too for 24 hours.",
        values: [.secret: answer.json["secret"]?.string ?? ""])
    }
    + ConsoleVisit.asked(
      "/console/{app}/webhooks/{record}/replay", for: .admin, isRecent: true,
      "Send the events of a webhook again", ask: askForReplay, replay)

  private static func askForReplay(
    _ visit: ConsoleVisit
  ) async throws(Failure) -> ConsoleQuestion {
    let url = try await pages.read(visit).json["url"]?.string ?? ""
    return ConsoleQuestion(
      title: "Replay to \(url)", heading: "Replay to \(Part.name(url))", section: .webhooks,
      back: ConsoleLink(url, to: pages.recordPath(visit)),
      consequences: [
        "The receiver gets all events since the day again, with the same ids.",
        "At most 5,000 events are sent. Events that wait already are not sent twice.",
      ], button: "Replay",
      commands: ["dossier webhook replay \(pages.id(visit)) --since DAY --app \(visit.place)"],
      fields: [
        ConsoleField(
          "since", "Since", .day,
          hint: "From the beginning of this day in UTC, within the retention of the feed.")
      ])
  }

  private static func replay(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let since = form.trimmed("since")
    guard !since.isEmpty else {
      throw .invalid([FieldError("/since", "day", "Choose a day.")])
    }
    var request = ConsoleRequest(.post, "webhooks", pages.id(visit), "replay")
    request.body = ["since": .string(since)]
    let answer = try await visit.send(request).json
    let count = answer["deliveries"]?.number?.text ?? "0"
    let rest = answer["more"] == true ? " There are more: replay from a later day." : ""
    return .done(pages.recordPath(visit), "Events to send again: \(count).\(rest)")
  }

  private static func retry(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let delivery = visit.call.text("delivery")
    let answer = try await visit.send(
      ConsoleRequest(.post, "webhooks", pages.id(visit), "deliveries", delivery, "retry"))
    return .done(
      pages.recordPath(visit), "The delivery is sent again:",
      name: answer.json["type"]?.string ?? "")
  }

  private static func test(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let result = try await visit.send(ConsoleRequest(.post, "webhooks", pages.id(visit), "test"))
      .json
    let status = result["status"]?.number.map { "status \($0.text)" }
    let answer = status ?? NameWords.label(result["error"]?.string ?? "")
    return .done(
      pages.recordPath(visit),
      result["delivered"] == true ? "The test has arrived:" : "The test has failed:",
      name: answer)
  }

  /// Returns the state, and the newest deliveries.
  private static func cards(
    _ visit: ConsoleVisit, _ webhook: JSON
  ) async throws(Failure) -> [Markup] {
    let status = try await visit.read("webhooks", pages.id(visit), "status").json
    let state = status["state"]?.string ?? ""
    let kind: Part.TagKind = state == "active" ? .neutral : .danger
    var facts: [(label: String, value: Markup)] = [
      ("State", Part.tag(NameWords.label(state), kind)),
      ("Waiting events", "\(status["waiting"]?.number?.text ?? "0")"),
      ("Age of the oldest", "\(status["lag_seconds"]?.number?.text ?? "0") s"),
    ]
    if let time = status["last_success_at"]?.string {
      facts.append(("Last success", Part.time(time)))
    }
    if let time = status["last_failure_at"]?.string {
      facts.append(
        ("Last failure", "\(Part.time(time)) \(Part.name(status["last_error"]?.string ?? ""))"))
    }
    let actions = Part.buttons(
      Part.button("Send a test", visit.target(pages.recordPath(visit, "test"))),
      Part.link("Replace the key", to: pages.recordPath(visit, "secret"), style: .secondary),
      Part.link("Replay since …", to: pages.recordPath(visit, "replay"), style: .secondary))
    var cards = [Part.card("State", "\(Part.definitions(facts))\(actions)")]
    let deliveries = try await visit.read(
      "webhooks", pages.id(visit), "deliveries", query: [("limit", "20")]
    ).items
    guard !deliveries.isEmpty else { return cards }
    var table = ConsoleTable(
      "Deliveries",
      [
        .init("Event"), .init("State"), .init("Attempts", isNumber: true), .init("Answer"),
        .init("Time", isMinor: true), .init("Action"),
      ])
    for delivery in deliveries {
      let state = delivery["state"]?.string ?? ""
      let answer = delivery["status"]?.number?.text
      table.rows.append([
        Part.identifier(delivery["type"]?.string ?? ""),
        Part.tag(NameWords.label(state), state == "failed" ? .danger : .neutral),
        "\(delivery["attempts"]?.number?.text ?? "0")",
        "\(answer ?? NameWords.label(delivery["error"]?.string ?? ""))",
        Part.time(delivery["timestamp"]?.string),
        Part.button(
          "Send again",
          visit.target(pages.recordPath(visit, "deliveries", delivery["id"]?.string ?? "", "retry"))
        ),
      ])
    }
    cards.append(Part.card("Newest deliveries", table.markup))
    return cards
  }
}
