import ConsolePages
package import EventLoop
package import HTTP
import HostedPages
import JSON
package import Pages
package import Runtime
package import WireKit

/// A form that waits until its administrator has signed in or authenticated again.
///
/// It is encrypted in a hidden field of these pages, and is not in any address.
package struct KeptForm {
  package let action: LocalPath
  /// The page of the form.
  package let page: LocalPath
  /// A phrase for the action, such as “Delete a user”.
  package let summary: String
  package let pairs: [(name: String, value: String)]

  private static let name = "kept"
  private static let path = LocalPath.console("-", "kept")
  /// In bytes: the longest body of a form that has a kept one.
  package static let bodyLimit = 1_048_576
  /// The longest encrypted form; a longer one is not kept.
  private static let longest = 1_000_000

  @EventLoop package init(
    _ form: FormValues, _ call: Call, page: LocalPath, doing summary: String
  ) {
    action = LocalPath(String(call.request.path)) ?? page
    (self.page, self.summary) = (page, summary)
    pairs = form.pairs.filter { $0.name != ConsoleVisit.tokenName && $0.name != "once" }
  }

  /// Reads the form that another one brings along; nil if it has none that is valid.
  @EventLoop package init?(in form: FormValues, _ call: Call) {
    let state = ConsoleState(sealed: form[Self.name] ?? "", of: Self.path, call)
    guard let action = state.values[.action].flatMap(LocalPath.init),
      let page = state.values[.page].flatMap(LocalPath.init), let text = state.values[.form],
      let pairs = (try? JSON.parse(Array(text.utf8)))?.array
    else { return nil }
    (self.action, self.page, summary) = (action, page, state.values[.summary] ?? "Send your form")
    self.pairs = pairs.compactMap { pair in
      guard let parts = pair.array, parts.count == 2 else { return nil }
      return (parts[0].string ?? "", parts[1].string ?? "")
    }
  }

  /// Returns the hidden field with the form; nil if it is too long.
  ///
  /// - Throws: `.internalError` if it cannot be encrypted.
  @EventLoop package func hidden(_ call: Call) throws(Failure) -> HiddenField? {
    let values = JSON.array(pairs.map { .array([.string($0.name), .string($0.value)]) }).text
    let state = ConsoleState([
      .action: action.text, .page: page.text, .form: values, .summary: summary,
    ])
    let text = try state.text(for: Self.path, call)
    return text.utf8.count <= Self.longest ? HiddenField(Self.name, text) : nil
  }

  /// Returns the hidden field with the form that another one brings along.
  package static func field(in form: FormValues) -> HiddenField? {
    form[name].flatMap { $0.isEmpty ? nil : HiddenField(name, $0) }
  }

  /// Returns the form with a button that sends it, in the session of a visit.
  @EventLoop func markup(_ visit: ConsoleVisit, _ label: String) -> Markup {
    let target = visit.target(action, pairs.map { HiddenField($0.name, $0.value) })
    return Part.form(target, Part.submit(label, isDeletion ? .danger : .primary))
  }

  /// Whether the form deletes or merges, so that its button shows danger.
  package var isDeletion: Bool { summary.hasPrefix("Delete") || summary.hasPrefix("Merge") }

  /// The question on the page that sends the form: what it does, and to what.
  package var question: Markup {
    let object = pairs.first { $0.name == "confirmation" }.map { $0.value } ?? ""
    return object.isEmpty ? "\(summary)?" : "\(summary): \(Part.address(object))?"
  }

  /// The values that people have typed, for the page that sends the form.
  package var entries: [(label: String, value: Markup)] {
    pairs.compactMap { name, value in
      let isHidden =
        ["version", "password", "confirmation"].contains(name) || name.hasSuffix("_version")
        || name.hasSuffix("_base")
      guard !isHidden, !value.isEmpty else { return nil }
      let line = value.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      let shown = line.count > 200 ? "\(line.prefix(200))…" : line
      return (name.split(separator: "_").joined(separator: " "), Part.name(shown))
    }
  }
}
