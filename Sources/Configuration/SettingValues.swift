import FoundationEssentials

/// The settings by name, each with where it came from: a flag, the environment or the file.
package struct SettingValues {
  private var values: [Setting: (value: String, source: String)] = [:]
  package private(set) var problems: [String] = []

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
    guard let setting = Setting(rawValue: parts[0].trimmed) else {
      problems.append("\(source): there is no setting \(parts[0].trimmed)")
      return
    }
    values[setting] = (parts[1].trimmed, source)
  }

  private mutating func readEnvironment(_ environment: [String: String]) {
    for (name, value) in environment.sorted(by: { $0.key < $1.key })
    where name.hasPrefix("DOSSIER_") && !name.hasPrefix("DOSSIER_MIGRATE_") {
      let isFile = name.hasSuffix("_FILE")
      let plain = isFile ? String(name.dropLast(5)) : name
      guard let setting = Setting.allCases.first(where: { $0.environmentName == plain }) else {
        problems.append("environment: there is no setting \(name)")
        continue
      }
      if isFile, environment[plain] != nil {
        problems.append("environment: both \(plain) and \(name) are set")
      } else if !isFile {
        values[setting] = (value, name)
      } else if let text = try? String(contentsOfFile: value, encoding: .utf8) {
        values[setting] = (text[...].trimmed, "\(name) (\(value))")
      } else {
        problems.append("\(name): the file \(value) cannot be read")
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
    case .database where value.contains("password") || value.contains("://"): "********"
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
