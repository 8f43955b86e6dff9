import FoundationEssentials

/// The settings by name, each with its source: a flag, the environment or the file.
package struct SettingValues {
  private var values: [Setting: (value: String, source: String)] = [:]
  /// The name and place by which each setting was given.
  private var names: [Setting: (place: String, name: String)] = [:]
  package private(set) var problems: [String] = []
  /// The variable with the path of the settings file.
  static let configVariable = "DOSSIER_CONFIG"

  /// Collects the settings.
  ///
  /// - Parameters:
  ///   - flags: `name=value`.
  ///   - environment: the variables of the process: `DOSSIER_…`, and `DOSSIER_…_FILE` for a value
  ///     in a file.
  ///   - file: a file with lines `name = value`.
  package init(flags: [String], environment: [String: String], file: SettingsFile?) {
    for setting in Setting.allCases {
      if let value = setting.defaultValue { values[setting] = (value, "default") }
    }
    if let file { readFile(file) }
    readEnvironment(environment)
    for flag in flags { assign(flag, from: "--set") }
  }

  package subscript(_ setting: Setting) -> (value: String, source: String)? { values[setting] }

  private mutating func readFile(_ file: SettingsFile) {
    guard let text = file.text else {
      problems.append("the file \(file.path) cannot be read")
      return
    }
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let line = line.trimmed
      if line.isEmpty || line.hasPrefix("#") { continue }
      assign(line, from: "\(file.path):\(index + 1)")
    }
  }

  private mutating func assign(_ text: String, from source: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      problems.append("\(source): \(text) is not name = value")
      return
    }
    let (name, value) = (parts[0].trimmed, parts[1].trimmed)
    if let setting = Setting(rawValue: name) {
      set(setting, to: value, from: source, as: name)
    } else if name.hasSuffix("_file"), let setting = Setting(rawValue: String(name.dropLast(5))) {
      set(setting, toContentsOf: value, from: source, as: name)
    } else {
      problems.append("\(source): there is no setting \(name)")
    }
  }

  /// Sets a value.
  ///
  /// A settings file that gives both a value and a file for it is an error. Otherwise the later
  /// line would win, and an edit of the other would have no effect.
  private mutating func set(
    _ setting: Setting, to value: String, from source: String, as name: String
  ) {
    let place = source.prefix { $0 != ":" }
    if let other = names[setting], other.place == place, other.name != name {
      problems.append("\(source): both \(other.name) and \(name) are set")
    }
    names[setting] = (String(place), name)
    values[setting] = (value, source)
  }

  private mutating func set(
    _ setting: Setting, toContentsOf path: String, from source: String, as name: String
  ) {
    guard let text = SettingsFile(path: path).text else {
      problems.append("\(source): the file \(path) cannot be read")
      return
    }
    set(setting, to: text[...].trimmed, from: "\(source) (\(path))", as: name)
  }

  private mutating func readEnvironment(_ environment: [String: String]) {
    for (name, value) in environment.sorted(by: { $0.key < $1.key })
    where name.hasPrefix("DOSSIER_") && name != Self.configVariable {
      let isFile = name.hasSuffix("_FILE")
      let plain = isFile ? String(name.dropLast(5)) : name
      guard let setting = Setting.allCases.first(where: { $0.environmentName == plain }) else {
        problems.append("environment: there is no setting \(name)")
        continue
      }
      if isFile, environment[plain] != nil {
        problems.append("environment: both \(plain) and \(name) are set")
      } else if isFile {
        set(setting, toContentsOf: value, from: name, as: name)
      } else {
        set(setting, to: value, from: name, as: name)
      }
    }
  }

  /// The settings in force with their sources, one per line, without secrets.
  ///
  /// A process keeps the environment with which it was started.
  package var listing: String {
    Setting.allCases.map { setting in
      guard let (value, source) = values[setting] else { return "# \(setting.rawValue) is not set" }
      let isFixed = setting.needsRestart || source == setting.environmentName
      let note = isFixed ? "; a change needs a restart" : ""
      return "\(setting.rawValue) = \(Self.shown(setting, value))    # \(source)\(note)"
    }.joined(separator: "\n")
  }

  /// All settings as a table in Markdown.
  package static var table: String {
    let rows = Setting.allCases.map { setting in
      let usual = setting.defaultValue.map { $0.isEmpty ? "" : "`\($0)`" } ?? "(none)"
      let change = setting.needsRestart ? "restart" : "reload"
      let hosts = setting.isShared ? "same" : "own"
      return "| `\(setting.rawValue)` | \(usual) | \(setting.meaning) | \(change) | \(hosts) |"
    }
    return
      (["| name | default | meaning | a change needs | on each host |", "|---|---|---|---|---|"]
      + rows)
      .joined(separator: "\n")
  }

  /// Returns the changed settings that require a restart.
  package func needingRestart(since earlier: SettingValues) -> [String] {
    Setting.allCases.filter(\.needsRestart).compactMap { setting in
      let (new, old) = (values[setting]?.value ?? "", earlier.values[setting]?.value ?? "")
      return new == old ? nil : "\(setting.rawValue) is '\(new)' and was '\(old)' at the start"
    }
  }

  private static func shown(_ setting: Setting, _ value: String) -> String {
    switch setting {
    case .masterKey: "********"
    case .mailPassword where !value.isEmpty: "********"
    // Both forms of a connection string may contain a password.
    case .database where value.contains("password") || value.contains("://"),
      .migrateDatabase where value.contains("password") || value.contains("://"):
      "********"
    default: value
    }
  }
}

extension Substring {
  fileprivate var trimmed: String {
    let start = drop(while: \.isWhitespace)
    guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(start[...last])
  }
}
