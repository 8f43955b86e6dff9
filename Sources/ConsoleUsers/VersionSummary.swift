import ConsolePages
import Encoding
import JSON
import Pages

/// The members that a version of a document has changed, in a few words.
struct VersionSummary {
  private struct Change {
    let name: String
    let before: JSON?
    let after: JSON?
  }

  private let changes: [Change]

  /// The most changes in words.
  private static let most = 3
  /// The longest value in words, in characters.
  private static let longest = 40
  /// The deepest members that are compared.
  private static let depth = 4

  init(from old: JSON, to new: JSON) {
    var changes: [Change] = []
    Self.compare(old, new, "", Self.depth, &changes)
    self.changes = changes
  }

  private static func compare(
    _ old: JSON?, _ new: JSON?, _ name: String, _ depth: Int, _ changes: inout [Change]
  ) {
    guard old != new else { return }
    guard depth > 0, let before = old?.object, let after = new?.object else {
      changes.append(Change(name: name, before: old, after: new))
      return
    }
    let names = before.keys + after.keys.filter { before[$0] == nil }
    for key in names {
      compare(before[key], after[key], name.isEmpty ? key : "\(name).\(key)", depth - 1, &changes)
    }
  }

  var markup: Markup {
    guard !changes.isEmpty else { return Part.muted("nothing") }
    let shown = changes.prefix(Self.most).map { change -> Markup in
      let name = Part.identifier(change.name.excerpt(Self.longest))
      switch (change.before, change.after) {
      case (nil, let after?): return "\(name) added: \(Self.value(after))<br>"
      case (let before?, nil): return "\(name) removed: \(Self.value(before))<br>"
      default: return "\(name): \(Self.value(change.before)) → \(Self.value(change.after))<br>"
      }
    }
    let rest = changes.count - shown.count
    return "\(shown)\(if: rest > 0, Part.muted("and \(rest) more"))"
  }

  private static func value(_ value: JSON?) -> Markup {
    Part.name((value ?? .null).text.excerpt(longest))
  }
}
