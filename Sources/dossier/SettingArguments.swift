import ArgumentParser
import JSON
import Runtime
import Records

extension RecordShape {
  /// How operators type settings, for the help of commands.
  static let notation = """
    A value that is JSON of the setting's type is taken as JSON, any other as text. null resets a \
    setting to its default. The command changes all settings or none.
    """

  /// Returns the merge patch of settings that an operator has typed.
  ///
  /// The API reports an unknown setting together with the other errors.
  func patch(of arguments: [NamedValue]) -> JSONObject {
    JSONObject(
      arguments.map { ($0.name, column(named: $0.name)?.rule.value(of: $0.value) ?? .null) }
    )
  }
}

extension [Column] {
  /// The columns with their descriptions.
  var table: String {
    let width = map(\.name.count).max() ?? 0
    return map { column in
      let padding = String(repeating: " ", count: width - column.name.count)
      return "  \(column.name)\(padding)  \(column.meaning)"
    }.joined(separator: "\n")
  }
}

extension JSON {
  /// Returns some members of a record, and of its settings only those that the operator has named.
  func brief(_ members: [String], _ arguments: [NamedValue]) -> JSON {
    var brief = JSONObject()
    for name in members { brief[name] = self[name] }
    var settings = JSONObject()
    for argument in arguments { settings[argument.name] = self["settings"]?[argument.name] }
    if settings.count > 0 { brief["settings"] = .object(settings) }
    return .object(brief)
  }
}

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
