import FoundationEssentials
import Glibc
import PasswordHashes
import Runtime

/// The settings.
///
/// For example, `socket_directory` is `--set socket_directory=…` as a flag,
/// `DOSSIER_SOCKET_DIRECTORY` in the environment and `socket_directory = …` in the file.
package enum Setting: String, CaseIterable {
  case database
  case pooler
  case migrateDatabase = "migrate_database"
  case masterKey = "master_key"
  case issuer
  case app
  case appCacheTTL = "app_cache_ttl_ms"
  case workers
  case socketDirectory = "socket_directory"
  case socketMode = "socket_mode"
  case socketGroup = "socket_group"
  case listen
  case writeConnections = "write_connections"
  case lockSeconds = "lock_seconds"
  case threadSeconds = "thread_seconds"
  case hashingThreads = "hashing_threads"
  case argon2Memory = "argon2_memory"
  case argon2Passes = "argon2_passes"
  case connections
  case drainSeconds = "drain_seconds"
  case stallSeconds = "stall_seconds"
  case log
  case logAddresses = "log_addresses"
  case internalNetworks = "internal_networks"
  case mail
  case mailUser = "mail_user"
  case mailPassword = "mail_password"
  case mailTLS = "mail_tls"
  case mailClientName = "mail_client_name"
  case issuerNetwork = "issuer_network"
  case outgoingNetworks = "outgoing_networks"
  case outgoingAuthorities = "outgoing_authorities"
  case syslogSocket = "syslog_socket"
  case otlpEndpoint = "otlp_endpoint"
  case otlpHeaders = "otlp_headers"
  case otlpSamplingRatio = "otlp_sampling_ratio"
  case pictureProgram = "picture_program"
  case pictureFolder = "picture_folder"
  case breachedPasswords = "breached_passwords"
  case languageFolder = "language_folder"
  case console
  case consoleNetworks = "console_networks"

  package var environmentName: String { "DOSSIER_" + rawValue.uppercased() }

  /// The default value, or nil if the operator must give one.
  package var defaultValue: String? {
    switch self {
    case .database, .masterKey: nil
    case .pooler: "none"
    case .issuer: "http://localhost:8080"
    case .app: "default"
    case .appCacheTTL: "5000"
    case .workers: "0"
    case .socketDirectory: "/run/dossier"
    case .socketMode: "0660"
    case .socketGroup: ""
    case .listen: ""
    case .writeConnections: "4"
    case .lockSeconds: "1"
    case .threadSeconds: "8"
    case .hashingThreads: "0"
    case .argon2Memory: String(HashingCost.least.memory)
    case .argon2Passes: String(HashingCost.least.passes)
    case .connections: "512"
    case .drainSeconds: "30"
    case .stallSeconds: "3"
    case .log: "requests"
    case .migrateDatabase, .internalNetworks, .mail, .mailUser, .mailPassword,
      .outgoingNetworks, .outgoingAuthorities, .otlpEndpoint, .otlpHeaders,
      .mailClientName, .pictureProgram, .pictureFolder, .breachedPasswords, .consoleNetworks:
      ""
    case .console, .logAddresses: "off"
    case .syslogSocket: "/dev/log"
    case .otlpSamplingRatio: "1"
    case .mailTLS: "required"
    case .languageFolder: "/usr/share/dossier/languages"
    case .issuerNetwork: "public"
    }
  }

  /// Whether a change requires a restart, as for the sockets, which outlive the workers.
  package var needsRestart: Bool {
    switch self {
    case .workers, .socketDirectory, .socketMode, .socketGroup, .listen, .stallSeconds: true
    default: false
    }
  }

  /// Whether all hosts of a deployment need the same value.
  package var isShared: Bool {
    switch self {
    case .masterKey, .issuer, .app, .appCacheTTL, .argon2Memory, .argon2Passes, .internalNetworks,
      .mail, .mailUser, .mailPassword, .mailTLS, .issuerNetwork, .outgoingNetworks,
      .outgoingAuthorities, .pictureFolder, .breachedPasswords, .console, .consoleNetworks:
      true
    case .database, .pooler, .migrateDatabase, .workers, .socketDirectory, .socketMode,
      .socketGroup, .listen, .writeConnections, .lockSeconds, .threadSeconds, .hashingThreads,
      .connections, .drainSeconds, .stallSeconds, .log, .logAddresses, .mailClientName,
      .pictureProgram,
      .languageFolder, .syslogSocket, .otlpEndpoint, .otlpHeaders, .otlpSamplingRatio:
      false
    }
  }

  package var meaning: String {
    switch self {
    case .database: "connection string of PostgreSQL, as libpq takes it"
    case .pooler:
      "what stands before PostgreSQL: none; prepared, for a pooler that keeps prepared statements, such as PgBouncer 1.21; unprepared, for any other"
    case .migrateDatabase: "connection string of dossier-migrate, as the owner of the schema"
    case .masterKey:
      "secret of 32 bytes or more, in base64; separate several by commas or lines: the first key encrypts, all keys decrypt"
    case .issuer: "the deployment's URL, the iss of its tokens"
    case .app: "default app, used if neither the host name nor Dossier-App selects one"
    case .appCacheTTL:
      "cache lifetime of app settings and schemas, in milliseconds; 0 disables the cache"
    case .workers: "number of worker processes; 0 starts one for each core"
    case .socketDirectory: "folder of the workers' Unix sockets"
    case .socketMode: "permissions of the sockets, octal"
    case .socketGroup:
      "group of the sockets, so that nginx can connect; empty keeps the group of dossierd"
    case .listen:
      "address:port (or [address]:port) of the first worker; further workers use the next ports"
    case .writeConnections: "connections of a worker for writes"
    case .lockSeconds:
      "seconds that a write may wait for a connection, and then for a lock in the database"
    case .threadSeconds:
      "seconds that a password, a large document or a picture may wait for a thread; nginx waits 15"
    case .hashingThreads: "threads of a worker for passwords; 0 is half the cores, at least one"
    case .argon2Memory:
      "memory of a password hash, in KiB; `dossier calibrate` suggests both values"
    case .argon2Passes: "passes over that memory; a sign-in replaces hashes of another cost"
    case .connections: "largest number of connections from nginx to a worker"
    case .drainSeconds: "seconds after which a worker that is ending is killed"
    case .stallSeconds:
      "seconds after which a worker that does not respond is killed and replaced; 0 never kills one"
    case .mail:
      "destination of mail: smtp://host:port, smtps://host:port or a folder; empty sends none"
    case .mailUser: "user name at the relay; empty for no authentication"
    case .mailPassword: "password of mail_user"
    case .mailTLS:
      "TLS with smtp://: required; or optional, with any certificate, for a relay on the same machine"
    case .mailClientName:
      "name in EHLO, fully qualified; empty takes the host of the issuer, or the name of this host"
    case .issuerNetwork:
      "where keys of issuers may be fetched: public networks, or any (also by plain http)"
    case .outgoingNetworks:
      "CIDR networks that receivers of webhooks and log streams may have, in addition to public ones; loopback and link-local addresses stay refused"
    case .outgoingAuthorities:
      "PEM file of the authorities that receivers of webhooks and log streams, and the collector, are verified by; empty for those of the system"
    case .syslogSocket: "socket to which log streams of the kind syslog send datagrams"
    case .otlpEndpoint:
      "URL of an OpenTelemetry collector, such as http://127.0.0.1:4318; empty sends no traces and metrics"
    case .otlpHeaders: "header fields for the collector: name=value, with commas between several"
    case .otlpSamplingRatio:
      "share of requests that are traced, from 0 to 1; the traceparent of a caller in internal_networks decides first"
    case .pictureProgram: "path of dossier-pictures; empty uses the folder of this program"
    case .pictureFolder: "folder from which nginx serves pictures; empty keeps them in the database"
    case .breachedPasswords:
      "file of breached passwords, which `dossier breached-password build` makes; empty for none"
    case .languageFolder:
      "folder with the texts of pages and emails, a file such as de.json for each language"
    case .console:
      "where administrators use the console: off, same_host for all hosts of the apps, or a host name of its own"
    case .consoleNetworks:
      "CIDR networks from which the console can be used; empty for all"
    case .internalNetworks:
      "CIDR networks, in addition to localhost, that may read /metrics, /readyz and /healthz; nginx must allow them too"
    case .logAddresses:
      "addresses of clients in the lines of requests: off; network (24 bits of IPv4, 48 of IPv6); or full"
    case .log:
      "requests: a line for each; errors: a line for each failure in the server; debug: a line for each request and each statement"
    }
  }
}

/// The settings by name, each with its source: a flag, the environment, a credential or the file.
package struct SettingValues {
  private var values: [Setting: (value: String, source: String)] = [:]
  /// The name and place by which each setting was given.
  private var names: [Setting: (place: String, name: String)] = [:]
  package private(set) var problems: [String] = []
  /// The settings whose file cannot be read, each with the fault; a later place may override them.
  private var unreadable: [Setting: String] = [:]
  /// The variable with the path of the settings file.
  static let configVariable = "DOSSIER_CONFIG"
  /// The variable with the person who runs a command, for the audit log.
  package static let personVariable = "DOSSIER_AS"
  /// The variable with the folder of the credentials that systemd passes to a service.
  static let credentialsVariable = "CREDENTIALS_DIRECTORY"

  /// Collects the settings.
  ///
  /// - Parameters:
  ///   - flags: `name=value`.
  ///   - environment: the variables of the process: `DOSSIER_…`, `DOSSIER_…_FILE` for a value in a
  ///     file, and the folder of credentials.
  ///   - file: a file with lines `name = value`.
  package init(flags: [String], environment: [String: String], file: SettingsFile?) {
    for setting in Setting.allCases {
      if let value = setting.defaultValue { values[setting] = (value, "default") }
    }
    if let file { readFile(file) }
    if let folder = environment[Self.credentialsVariable] { readCredentials(in: folder) }
    readEnvironment(environment)
    for flag in flags { assign(flag, from: "--set") }
    problems += Setting.allCases.compactMap { unreadable[$0] }
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
    unreadable[setting] = nil
  }

  private mutating func set(
    _ setting: Setting, toContentsOf path: String, from source: String, as name: String
  ) {
    guard let text = SettingsFile(path: path).text else {
      unreadable[setting] = "\(source): the file \(path) cannot be read"
      return
    }
    set(setting, to: text[...].trimmed, from: "\(source) (\(path))", as: name)
  }

  /// Reads the credentials that have the name of a setting; others are for other programs.
  private mutating func readCredentials(in folder: String) {
    for setting in Setting.allCases {
      let path = "\(folder)/\(setting.rawValue)"
      guard access(path, F_OK) == 0 else { continue }
      set(setting, toContentsOf: path, from: "credential", as: setting.rawValue)
    }
  }

  private mutating func readEnvironment(_ environment: [String: String]) {
    for (name, value) in environment.sorted(by: { $0.key < $1.key })
    where name.hasPrefix("DOSSIER_") && name != Self.configVariable
      && name != Self.personVariable
    {
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
    case .mailPassword where !value.isEmpty, .otlpHeaders where !value.isEmpty: "********"
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

/// A settings file, read once.
package struct SettingsFile: Sendable {
  package let path: String
  /// The text, or nil if the file cannot be read.
  package let text: String?

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - path: the path, which messages name.
  ///   - descriptor: a copy of the file to read instead; it stays open.
  package init(path: String, descriptor: Int32? = nil) {
    self.path = path
    if let descriptor {
      text = Self.text(descriptor)
    } else {
      let opened = open(path, O_RDONLY | O_CLOEXEC)
      text = opened < 0 ? nil : Self.text(opened)
      if opened >= 0 { close(opened) }
    }
  }

  private static func text(_ descriptor: Int32) -> String? {
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &part, part.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return count < 0 ? nil : String(validating: bytes, as: UTF8.self) }
      bytes += part[..<count]
    }
  }
}
