import ArgumentParser
import JSON
import Runtime

extension SettingsCatalog {
  /// How operators type settings, for the help of commands.
  static let notation = """
    A value is JSON where it is JSON of the setting's type, else text. null resets a setting to its \
    default. Either all are changed or none.
    """

  /// The settings with their descriptions.
  var table: String {
    let width = settings.map(\.name.count).max() ?? 0
    return settings.map { setting in
      let padding = String(repeating: " ", count: width - setting.name.count)
      return "  \(setting.name)\(padding)  \(setting.meaning)"
    }.joined(separator: "\n")
  }

  /// Returns the merge patch of settings that an operator has typed as `setting=value`.
  func patch(of arguments: [String]) throws -> JSON {
    var patch = JSONObject()
    for text in arguments {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { throw ValidationError("\(text) is not setting=value.") }
      let setting = setting(named: String(parts[0]))
      // The API reports an unknown setting together with the other errors.
      patch[String(parts[0])] = setting?.rule.value(of: String(parts[1])) ?? .null
    }
    return .object(patch)
  }
}
