import ArgumentParser
import JSON

/// An argument `name=value`.
struct NamedValue: ExpressibleByArgument {
  let name: String
  let value: String

  init?(argument: String) {
    guard let sign = argument.firstIndex(of: "="), sign != argument.startIndex else { return nil }
    name = String(argument[..<sign])
    value = String(argument[argument.index(after: sign)...])
  }

  /// The value as JSON if it is JSON, else as text.
  var json: JSON { (try? JSON.parse(Array(value.utf8))) ?? .string(value) }
}
