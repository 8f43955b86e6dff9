import FoundationEssentials

/// The settings by name, each with where it came from: a flag, the environment or the file.
package struct SettingValues {
  private var values: [Setting: (value: String, source: String)] = [:]
  /// By what name each was said, and where.
  private var names: [Setting: (place: String, name: String)] = [:]
  package private(set) var problems: [String] = []
  /// Names the file of settings.
  static let configVariable = "DOSSIER_CONFIG"

  /// - Parameters:
  ///   - flags: `name=value`.
  ///   - environment: of the process; `DOSSIER_…`, and `DOSSIER_…_FILE` for what a file holds.
  ///   - file: with lines `name = value`.
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

  /// Where a file of settings says a value and a file that holds it, the later line would count, and
  /// whoever edits the other would wonder.
  private mutating func set(
    _ setting: Setting,
    to value: String,
    from source: String,
    as name: String
  ) {
    let place = source.prefix { $0 != ":" }
    if let other = names[setting], other.place == place, other.name != name {
      problems.append("\(source): both \(other.name) and \(name) are set")
    }
    names[setting] = (String(place), name)
    values[setting] = (value, source)
  }

  private mutating func set(
    _ setting: Setting,
    toContentsOf path: String,
    from source: String,
    as name: String
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

  /// What is in force and whence, a line each, secrets hidden.
  ///
  /// A process keeps the environment that it was started with.
  package var listing: String {
    Setting.allCases.map { setting in
      guard let (value, source) = values[setting] else { return "# \(setting.rawValue) is not set" }
      let isFixed = setting.needsRestart || source == setting.environmentName
      let note = isFixed ? "; a change needs a restart" : ""
      return "\(setting.rawValue) = \(Self.shown(setting, value))    # \(source)\(note)"
    }.joined(separator: "\n")
  }

  /// Every setting there is, as a table in Markdown.
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

  /// What has changed since and only counts after a restart.
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
    // A connection string may have a password in either of its forms.
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
