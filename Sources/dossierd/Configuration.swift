import FoundationEssentials
import Glibc
import Outbound

/// What is in force, read once.
struct Configuration: Sendable {
  let database: String
  let masterKey: [UInt8]
  let issuer: String
  let app: String
  let workers: Int
  let socketDirectory: String
  let socketMode: mode_t
  let socketGroup: gid_t?
  let listen: ListenAddress?
  let exclusiveConnections: Int
  let hashingThreads: Int
  let connections: Int
  let drain: Duration
  let logsRequests: Bool
  let mail: MailRelaySettings
  let issuerSource: HTTPSourceSettings
  let pictureProgram: String
  let pictureFolder: String?

  struct ListenAddress: Sendable {
    let address: String
    let port: UInt16
  }

  /// - Throws: `ConfigurationError` with everything that is wrong, not just the first.
  init(_ values: SettingValues) throws(ConfigurationError) {
    var problems = values.problems
    let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    func text(_ setting: Setting) -> String {
      if let value = values[setting]?.value { return value }
      problems.append("\(setting.rawValue) is not set: \(setting.meaning)")
      return ""
    }
    func number(_ setting: Setting, _ range: ClosedRange<Int>) -> Int {
      let value = text(setting)
      guard let number = Int(value), range.contains(number) else {
        problems.append("\(setting.rawValue) is \(value), and must be a number in \(range)")
        return range.lowerBound
      }
      return number
    }

    database = text(.database)
    let key = text(.masterKey)
    masterKey = Data(base64Encoded: key).map(Array.init) ?? []
    if !key.isEmpty, masterKey.count < 32 {
      problems.append("master_key must be at least 32 bytes in base64; openssl rand -base64 32")
    }
    issuer = text(.issuer)
    app = text(.app)
    let asked = number(.workers, 0...256)
    workers = asked == 0 ? cores : asked
    socketDirectory = text(.socketDirectory)
    let mode = text(.socketMode)
    socketMode = mode_t(mode, radix: 8) ?? 0
    if socketMode == 0 || socketMode > 0o777 {
      problems.append("socket_mode is \(mode), not octal")
    }
    let group = text(.socketGroup)
    socketGroup = group.isEmpty ? nil : getgrnam(group)?.pointee.gr_gid
    if !group.isEmpty, socketGroup == nil {
      problems.append("socket_group \(group) is not a group")
    }
    let address = text(.listen)
    let parts = address.split(separator: ":")
    if parts.count == 2, let port = UInt16(parts[1]) {
      listen = ListenAddress(address: String(parts[0]), port: port)
    } else {
      listen = nil
      if !address.isEmpty { problems.append("listen is \(address), and must be address:port") }
    }
    exclusiveConnections = number(.exclusiveConnections, 1...64)
    let threads = number(.hashingThreads, 0...64)
    hashingThreads = threads == 0 ? max(1, cores / 2) : threads
    connections = number(.connections, 1...900)
    drain = .seconds(number(.drainSeconds, 1...3_600))
    let log = text(.log)
    logsRequests = log == "requests"
    if log != "requests", log != "errors" {
      problems.append("log is \(log), not requests or errors")
    }
    mail = MailRelaySettings(Self.destination(text, &problems))
    let program = text(.pictureProgram)
    pictureProgram = program.isEmpty ? Self.sibling("dossier-pictures") : program
    let folder = text(.pictureFolder)
    pictureFolder = folder.isEmpty ? nil : folder
    if !folder.isEmpty, access(folder, W_OK | X_OK) != 0 {
      problems.append("picture_folder \(folder) is not a folder that can be written")
    }
    var source = HTTPSourceSettings()
    let network = text(.issuerNetwork)
    source.allowsPrivateAddresses = network == "any"
    source.allowsPlainHTTP = network == "any"
    issuerSource = source
    if network != "any", network != "public" {
      problems.append("issuer_network is \(network), not public or any")
    }
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
  }
}

extension Configuration {
  /// The path of a program that is installed beside this one.
  private static func sibling(_ name: String) -> String {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return own.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/\(name)"
  }

  private static func destination(
    _ text: (Setting) -> String,
    _ problems: inout [String]
  ) -> MailRelaySettings.Destination {
    let mail = text(.mail)
    guard mail.contains("://") else { return mail.isEmpty ? .none : .folder(mail) }
    var relay = SMTPRelay(url: mail)
    let user = text(.mailUser)
    if !user.isEmpty { (relay.user, relay.password) = (user, text(.mailPassword)) }
    let tls = text(.mailTLS)
    relay.startTLS = tls == "optional" ? .optional : .required
    if tls != "optional", tls != "required" {
      problems.append("mail_tls is \(tls), not required or optional")
    }
    return .relay(relay)
  }
}

struct ConfigurationError: Error, CustomStringConvertible {
  let problems: [String]
  var description: String {
    "the configuration is not usable:\n" + problems.map { "  - \($0)" }.joined(separator: "\n")
  }
}

/// The settings by name, each with where it came from: a flag, the environment or the file.
struct SettingValues {
  private var values: [Setting: (value: String, source: String)] = [:]
  private(set) var problems: [String] = []

  /// - Parameters:
  ///   - flags: `name=value`.
  ///   - environment: of the process; `DOSSIER_…`, and `DOSSIER_…_FILE` for what a file holds.
  ///   - file: path of a configuration file.
  init(flags: [String], environment: [String: String], file: String?) {
    for setting in Setting.allCases {
      if let value = setting.defaultValue { values[setting] = (value, "default") }
    }
    if let file { readFile(file) }
    readEnvironment(environment)
    for flag in flags { assign(flag, from: "--set") }
  }

  subscript(_ setting: Setting) -> (value: String, source: String)? { values[setting] }

  private mutating func readFile(_ path: String) {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      problems.append("the file \(path) cannot be read")
      return
    }
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let line = line.trimmed
      if line.isEmpty || line.hasPrefix("#") { continue }
      assign(line, from: "\(path):\(index + 1)")
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
      if !isFile {
        values[setting] = (value, name)
      } else if let text = try? String(contentsOfFile: value, encoding: .utf8) {
        values[setting] = (text[...].trimmed, "\(name) (\(value))")
      } else {
        problems.append("\(name): the file \(value) cannot be read")
      }
    }
  }

  /// What is in force and whence, a line each, secrets hidden.
  var listing: String {
    Setting.allCases.map { setting in
      guard let (value, source) = values[setting] else { return "# \(setting.rawValue) is not set" }
      return "\(setting.rawValue) = \(Self.shown(setting, value))    # \(source)"
    }.joined(separator: "\n")
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
