import Administration
import ConsoleKit
import ConsolePages
import EventLoop
import HostedPages
import Pages
import Runtime
import WireKit
import HTTP

/// The filter of a list of users: a text, a state and days, each in a field of its own.
struct UserFilter {
  /// The whole filter, in the language of `GET /v1/users`.
  let text: String
  let sort: String
  /// The values of the fields.
  private let values: [(name: String, value: String)]

  init(_ form: FormValues?) {
    values = Self.names.map { ($0, form?[$0] ?? "") }
    let fields = Dictionary(values.map { ($0.name, $0.value) }) { first, _ in first }
    let typed = fields["filter"] ?? ""
    let zone = DayZone(minutes: fields["offset"] ?? "") ?? .utc
    var terms = typed.isEmpty ? [] : [typed]
    if let from = fields["from"], !from.isEmpty {
      terms.append("created_at >= \"\(zone.start(of: from))\"")
    }
    // The last day belongs to the range.
    if let to = fields["to"], !to.isEmpty {
      terms.append("created_at <= \"\(zone.last(of: to))\"")
    }
    if let term = Self.terms[fields["state"] ?? ""] {
      // A filter needs one term with an index, and each user has this one.
      if terms.isEmpty { terms.append("created_at >= \"1970-01-01T00:00:00Z\"") }
      terms.append(term)
    }
    // Only `or` binds less than `and`.
    let parts = terms.map { $0.contains(" or ") && terms.count > 1 ? "(\($0))" : $0 }
    text = parts.joined(separator: " and ")
    sort = fields["sort"] ?? ""
  }

  private static let names = ["filter", "state", "from", "to", "sort", "offset"]
  private static let states = [
    ("", "All"), ("blocked", "Blocked"), ("guest", "Guests"), ("unverified", "Not verified"),
  ]
  private static let terms = [
    "blocked": "blocked = true", "guest": "anonymous = true",
    "unverified": "email_verified = false and anonymous = false",
  ]

  /// The parameters of the page.
  var query: [(name: String, value: String)] { values }

  /// The same as fields of a form.
  var hidden: [HiddenField] { values.map { HiddenField($0.name, $0.value) } }

  /// The flags of the command.
  var flags: String {
    let filter = text.isEmpty ? "" : " --filter \(CommandLineText.quoted(text))"
    return filter + (sort.isEmpty ? "" : " --sort \(CommandLineText.quoted(sort))")
  }

  @EventLoop func form(_ visit: ConsoleVisit, _ mistakes: [Mistake]) -> Markup {
    func value(_ name: String) -> String { values.first { $0.name == name }?.value ?? "" }
    let fields = [
      ConsoleField(
        "filter", "Filter", value: value("filter"), hint: "Such as names ^= \"berg\""),
      ConsoleField("state", "State", .choice(Self.states), value: value("state")),
      ConsoleField(
        "sort", "Order", .choice([("", "Newest first"), ("created_at", "Oldest first")]),
        value: sort),
      ConsoleField("from", "Created from", .day, value: value("from")),
      ConsoleField("to", "Created to", .day, value: value("to")),
    ]
    return """
      <form class="filter" method="get" action="\(visit.path("users").text)">\
      <input type="hidden" name="offset" value="\(value("offset"))">\
      \(fields.markup(mistakes))\(Part.submit("Apply", .secondary))</form>
      """
  }
}
