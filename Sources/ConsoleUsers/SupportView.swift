import ConsoleKit
import ConsolePages
import Encoding
import JSON
import Pages
import Runtime

/// The data of a user as a person reads it, for the page of a session of support.
enum SupportView {
  /// How many elements of a list the page shows, and how many columns.
  private static let (most, mostColumns) = (20, 6)
  /// The members that people look for first in a list.
  private static let important = ["agent", "action", "name", "provider", "subject", "address"]
  /// The longest value that stands in a line, in bytes.
  private static let longest = 3_072

  /// Returns a part of the user's data.
  static func card(_ name: String, _ part: JSON) -> Markup {
    let heading = NameWords.label(name)
    guard let items = part.array else {
      return Part.card(heading, content(of: part, heading))
    }
    // The newest elements are the last ones.
    let newest = Array(items.suffix(most))
    let note: Markup? =
      items.count <= most
      ? nil
      : Part.paragraph(
        "The \(most) newest of \(items.count). The command line shows all.", isMuted: true)
    return "<h2>\(heading)</h2>\(list(newest.reversed(), heading))\(note)"
  }

  /// Returns the members that are neither objects nor arrays, with their labels.
  static func values(_ members: JSONObject) -> [(label: String, value: Markup)] {
    members.compactMap { name, value in
      guard value.object == nil, value.array == nil else { return nil }
      return (NameWords.label(name), text(value, of: name))
    }
  }

  /// Returns a list as a table of the members that people can read, or else its texts.
  private static func list(_ items: [JSON], _ heading: String) -> Markup {
    guard items.allSatisfy({ $0.object != nil }) else {
      return Part.list(items.map { $0.string ?? $0.text })
    }
    var columns: [String] = []
    for item in items {
      for (name, value) in item.object ?? JSONObject() where isShown(name, value) {
        if !columns.contains(name) { columns.append(name) }
      }
    }
    let first = columns.filter { important.contains($0) }
    columns = Array((first + columns.filter { !first.contains($0) }).prefix(mostColumns))
    var table = ConsoleTable(
      heading, columns.map { .init($0 == "agent" ? "Browser or app" : NameWords.label($0)) })
    table.rows = items.map { item in columns.map { text(item[$0] ?? .null, of: $0) } }
    return table.markup
  }

  /// Returns whether a list has a column for a member: ids mean nothing to people.
  private static func isShown(_ name: String, _ value: JSON) -> Bool {
    guard value.object == nil, value.array == nil, value != .null else { return false }
    return name != "id" && name != "scope" && !name.hasSuffix("_id")
  }

  /// Returns an object as labels with values; a member with more inside stands as JSON.
  private static func content(of part: JSON, _ heading: String) -> Markup {
    guard let members = part.object else { return text(part, of: "") }
    return Part.definitions(
      members.map { name, value in
        if let inner = value.object, let body = inner["body"] ?? inner["value"] {
          return (NameWords.label(name), document(body, name))
        }
        return (NameWords.label(name), document(value, name))
      })
  }

  /// Returns a value of the user: JSON only if it has members.
  private static func document(_ value: JSON, _ name: String) -> Markup {
    guard value.object != nil || value.array != nil else { return text(value, of: name) }
    if value.object?.count == 0 || value.array?.isEmpty == true { return Part.muted("empty") }
    return Part.code(value.edited.excerpt(longest), label: NameWords.label(name))
  }

  private static func text(_ value: JSON, of name: String) -> Markup {
    switch value {
    case .null: return Part.muted("–")
    case .string(let text):
      if name.hasSuffix("_at") || name == "at" { return Part.time(text) }
      switch name {
      case "agent": return Part.name(BrowserName(text).label ?? text)
      case "action": return Part.name(EventWords.action(text))
      case "actor": return Part.name(EventWords.actor(text, named: nil))
      case "provider": return Part.name(EventWords.method(text))
      default: return Part.name(text.excerpt(longest))
      }
    default:
      if let isOn = value.bool { return isOn ? "yes" : "no" }
      return Part.name(value.text.excerpt(longest))
    }
  }
}
