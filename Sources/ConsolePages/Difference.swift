package import Pages

/// The lines in which two texts differ.
package struct Difference: Sendable {
  package enum Line: Sendable, Equatable {
    case same(String)
    case removed(String)
    case added(String)
  }

  package let lines: [Line]

  package var isEmpty: Bool {
    lines.allSatisfy { if case .same = $0 { true } else { false } }
  }

  /// The longest part that is compared line by line, in pairs of lines.
  ///
  /// Longer parts are removed and added as a whole.
  private static let mostPairs = 1_000_000

  /// Compares two texts.
  ///
  /// - Complexity: O(*n* · *m*) for the lines between the equal starts and ends, at most `mostPairs`.
  package init(from old: String, to new: String) {
    let old = old.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let new = new.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var start = 0
    while start < min(old.count, new.count), Self.areSame(old[start], new[start]) { start += 1 }
    var end = 0
    while end < min(old.count, new.count) - start,
      Self.areSame(old[old.count - 1 - end], new[new.count - 1 - end])
    { end += 1 }
    let middle = Self.changes(
      Array(old[start..<(old.count - end)]), Array(new[start..<(new.count - end)]))
    lines = old[..<start].map { .same($0) } + middle + old.suffix(end).map { .same($0) }
  }

  /// Compares bytes, since a user must see also a change of the form of a character.
  private static func areSame(_ line: String, _ other: String) -> Bool {
    line.utf8.elementsEqual(other.utf8)
  }

  private static func changes(_ old: [String], _ new: [String]) -> [Line] {
    guard old.count * new.count <= mostPairs else {
      return old.map { .removed($0) } + new.map { .added($0) }
    }
    // The length of the longest common part of the rests, from the end.
    let width = new.count + 1
    var lengths = [Int](repeating: 0, count: (old.count + 1) * width)
    for row in old.indices.reversed() {
      for column in new.indices.reversed() {
        lengths[row * width + column] =
          areSame(old[row], new[column])
          ? lengths[(row + 1) * width + column + 1] + 1
          : max(lengths[(row + 1) * width + column], lengths[row * width + column + 1])
      }
    }
    var lines: [Line] = []
    var (row, column) = (0, 0)
    while row < old.count || column < new.count {
      if row < old.count, column < new.count, areSame(old[row], new[column]) {
        lines.append(.same(old[row]))
        (row, column) = (row + 1, column + 1)
      } else if column == new.count
        || row < old.count
          && lengths[(row + 1) * width + column] >= lengths[row * width + column + 1]
      {
        lines.append(.removed(old[row]))
        row += 1
      } else {
        lines.append(.added(new[column]))
        column += 1
      }
    }
    return lines
  }

  /// The lines around a change that are shown.
  private static let context = 3

  /// Returns the changed lines with those around them.
  ///
  /// - Parameter label: what is compared, for screen readers.
  /// - Returns: the lines, or a sentence if there is no difference.
  package func markup(label: String) -> Markup {
    guard !isEmpty else { return Part.paragraph("No difference.", isMuted: true) }
    var shown = [Bool](repeating: false, count: lines.count)
    for (index, line) in lines.enumerated() {
      if case .same = line { continue }
      for near in max(0, index - Self.context)...min(lines.count - 1, index + Self.context) {
        shown[near] = true
      }
    }
    var parts: [Markup] = []
    var wasShown = true
    for (line, isShown) in zip(lines, shown) {
      defer { wasShown = isShown }
      guard isShown else {
        if wasShown { parts.append("<span class=\"gap\">…</span>\n") }
        continue
      }
      switch line {
      case .same(let text): parts.append("  \(text)\n")
      case .removed(let text): parts.append("<del>- \(text)</del>\n")
      case .added(let text): parts.append("<ins>+ \(text)</ins>\n")
      }
    }
    return """
      <pre class="code difference" dir="ltr" tabindex="0" role="region" aria-label="\(label)">\
      \(parts)</pre>
      """
  }
}
