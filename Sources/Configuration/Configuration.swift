package import ArgumentParser
import BreachedPasswords
import Delivery
import Encoding
import EventLoop
import FoundationEssentials
package import Glibc
import Localization
package import Outbound
package import PasswordHashes
package import Postgres
package import Runtime
package import Tenancy
package import Telemetry

/// The settings in force, read once.
package struct Configuration: Sendable {
  package let database: String
  package let pooler: Pooler
  package let masterKey: MasterKey
  package let issuer: String
  package let app: String
  package let appCacheTTL: Duration
  package let workers: Int
  package let socketDirectory: String
  package let socketMode: mode_t
  package let socketGroup: gid_t?
  package let listen: ListenAddress?
  package let writeConnections: Int
  package let lockTimeout: Duration
  /// How long costly work may wait for a thread.
  package let patience: Duration
  package let hashingThreads: Int
  package let hashingCost: HashingCost
  package let connections: Int
  package let drain: Duration
  /// The seconds after which a worker whose loop has stopped is killed; 0 for never.
  package let stallSeconds: Int
  /// The files that a worker may open: its connections, 64 for the database, pipes and uploads, and
  /// 160 for calls to other servers.
  package var files: Int { connections + 64 + 160 }
  package let logsRequests: Bool
  package let logsStatements: Bool
  package let loggedAddresses: LoggedAddresses
  package let internalNetworks: [IPNetwork]
  package let console: ConsolePlace
  /// The networks from which the console can be used; empty for all.
  package let consoleNetworks: [IPNetwork]
  package let mail: MailRelaySettings
  package let issuerSource: HTTPSourceSettings
  /// The settings of the logout notices to clients.
  package var noticeSource: HTTPSourceSettings {
    var source = issuerSource
    // The lane of the outbox limits the notices at once. Only the status of a response counts.
    (source.most, source.mostOfApp, source.limit) = (24, 24, 4_096)
    return source
  }
  /// The settings of the calls to receivers of webhooks and log streams.
  package let outgoingSource: HTTPSourceSettings
  /// The collector of OpenTelemetry; nil for none.
  package let collector: CollectorSettings?
  /// The share of requests without a caller's trace that are traced.
  package let samplingRatio: Double
  /// The path of the socket of syslog.
  let syslogSocket: String
  package let pictureProgram: String
  package let pictureFolder: String?
  let breachedPasswords: String?
  let languages: Languages
  /// The fingerprint of the settings that all hosts share.
  package let fingerprint: SettingsFingerprint

  /// Validates the settings.
  ///
  /// - Parameters:
  ///   - values: the settings as given.
  ///   - serves: whether the program serves requests, and so needs the files and programs in the
  ///     settings.
  /// - Throws: `ConfigurationError` with all errors if there are any.
  package init(_ values: SettingValues, serves: Bool) throws(ConfigurationError) {
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
        problems.append("\(setting.rawValue) is \(value), but must be a number in \(range)")
        return range.lowerBound
      }
      return number
    }

    database = text(.database)
    let kind = text(.pooler)
    pooler = Pooler(rawValue: kind) ?? .none
    if Pooler(rawValue: kind) == nil {
      let kinds = Pooler.allCases.map(\.rawValue).joined(separator: ", ")
      problems.append("pooler is \(kind), but must be one of \(kinds)")
    }
    let keys = text(.masterKey).split { $0 == "," || $0.isWhitespace }
    let secrets = keys.compactMap { [UInt8](paddedBase64: String($0)) }
    if secrets.count < keys.count || secrets.contains(where: { $0.count < 32 }) {
      problems.append(
        "each master_key must be at least 32 bytes in base64: openssl rand -base64 32"
      )
    }
    masterKey = MasterKey(secrets.isEmpty ? [[]] : secrets)
    issuer = text(.issuer)
    app = text(.app)
    appCacheTTL = .milliseconds(number(.appCacheTTL, 0...60_000))
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
      problems.append("socket_group is \(group), but this machine has no such group")
    }
    let address = text(.listen)
    listen = ListenAddress(address)
    if !address.isEmpty, listen?.following(workers - 1) == nil {
      problems.append(
        "listen is \(address), but must be address:port, such as 127.0.0.1:9000 or [::1]:9000, "
          + "with \(workers) free ports from there"
      )
    }
    writeConnections = number(.writeConnections, 1...64)
    lockTimeout = .seconds(number(.lockSeconds, 1...3_600))
    patience = .seconds(number(.threadSeconds, 1...3_600))
    let threads = number(.hashingThreads, 0...64)
    hashingThreads = threads == 0 ? max(1, cores / 2) : threads
    let (least, most) = (HashingCost.least, HashingCost.most)
    hashingCost = HashingCost(
      memory: number(.argon2Memory, least.memory...most.memory),
      passes: number(.argon2Passes, least.passes...most.passes)
    )
    connections = number(.connections, 1...800)
    drain = .seconds(number(.drainSeconds, 1...3_600))
    stallSeconds = number(.stallSeconds, 0...3_600)
    let log = text(.log)
    logsStatements = log == "debug"
    logsRequests = log == "requests" || logsStatements
    if !logsRequests, log != "errors" {
      problems.append("log is \(log), not requests, errors or debug")
    }
    let addresses = LoggedAddresses(rawValue: text(.logAddresses))
    loggedAddresses = addresses ?? .off
    if addresses == nil {
      problems.append("log_addresses is \(text(.logAddresses)), not off, network or full")
    }
    func networks(_ setting: Setting) -> [IPNetwork] {
      let texts = text(setting).split { $0 == "," || $0.isWhitespace }
      let networks = texts.compactMap { IPNetwork($0) }
      if networks.count < texts.count {
        problems.append("\(setting.rawValue) contains a value that is not a CIDR network")
      }
      return networks
    }
    internalNetworks = networks(.internalNetworks)
    consoleNetworks = networks(.consoleNetworks)
    let place = text(.console)
    console = ConsolePlace(place) ?? .off
    if ConsolePlace(place) == nil {
      problems.append("console is \(place), not off, same_host or a host name in lower case")
    }
    mail = MailRelaySettings(Self.destination(text, &problems))
    if serves, let fault = mail.fault { problems.append("mail: \(fault)") }
    let program = text(.pictureProgram)
    pictureProgram = program.isEmpty ? Self.sibling("dossier-pictures") : program
    if serves, access(pictureProgram, X_OK) != 0 {
      problems.append("picture_program \(pictureProgram) is not an executable program")
    }
    let folder = text(.pictureFolder)
    pictureFolder = folder.isEmpty ? nil : folder
    if serves, !folder.isEmpty, access(folder, W_OK | X_OK) != 0 {
      problems.append("picture_folder \(folder) is not a writable folder")
    }
    let breached = text(.breachedPasswords)
    breachedPasswords = breached.isEmpty ? nil : breached
    if serves, !breached.isEmpty {
      do throws(BreachedPasswordSetError) {
        try BreachedPasswordSet(breached).check()
      } catch {
        problems.append("breached_passwords: \(error)")
      }
    }
    languages = Self.languages(in: text(.languageFolder), &problems)
    var source = HTTPSourceSettings()
    let network = text(.issuerNetwork)
    source.allowsPrivateAddresses = network == "any"
    source.allowsPlainHTTP = network == "any"
    issuerSource = source
    if network != "any", network != "public" {
      problems.append("issuer_network is \(network), not public or any")
    }
    var outgoing = HTTPSourceSettings()
    for word in text(.outgoingNetworks).split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
      if let network = IPNetwork(word) {
        outgoing.allowedNetworks.append(network)
      } else {
        problems.append("outgoing_networks has \(word), which is no CIDR network")
      }
    }
    let authorities = text(.outgoingAuthorities)
    if !authorities.isEmpty {
      outgoing.reach.authorities = authorities
      if serves, access(authorities, R_OK) != 0 {
        problems.append("outgoing_authorities is \(authorities), which cannot be read")
      }
    }
    outgoingSource = outgoing
    let endpoint = text(.otlpEndpoint)
    collector =
      endpoint.isEmpty
      ? nil
      : CollectorSettings(
        endpoint: endpoint, headers: text(.otlpHeaders),
        authorities: outgoing.reach.authorities)
    if !endpoint.isEmpty, collector == nil {
      problems.append(
        "otlp_endpoint must be an http or https URL without a query, and otlp_headers name=value")
    }
    let ratio = Double(text(.otlpSamplingRatio)) ?? -1
    samplingRatio = ratio
    if !(0...1).contains(ratio) {
      problems.append("otlp_sampling_ratio is \(text(.otlpSamplingRatio)), not from 0 to 1")
    }
    syslogSocket = text(.syslogSocket)
    if syslogSocket.utf8.count > SocketAddress.longestPath || !syslogSocket.hasPrefix("/") {
      problems.append("syslog_socket is \(syslogSocket), not the path of a socket")
    }
    let shared = Setting.allCases.filter(\.isShared).map { ($0.rawValue, values[$0]?.value ?? "") }
    fingerprint = SettingsFingerprint(Dictionary(uniqueKeysWithValues: shared), masterKey)
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
  }
}

/// Where administrators use the console.
package enum ConsolePlace: Sendable, Equatable {
  case off
  /// On each host of the apps.
  case sameHost
  /// On a host name of its own.
  case host(String)

  /// Reads the setting; nil for a text that cannot be a host name as nginx's `$host` has it.
  package init?(_ text: String) {
    switch text {
    case "off": self = .off
    case "same_host": self = .sameHost
    default:
      let isName =
        (1...253).contains(text.utf8.count)
        && text.utf8.allSatisfy {
          $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
            || $0.isLetterOrDigit && !$0.isUpperCase
        }
      guard isName else { return nil }
      self = .host(text)
    }
  }

  /// Returns the origin of the console.
  ///
  /// - Parameter issuer: the URL of the deployment, whose scheme a host of its own has too.
  /// - Returns: the origin.
  func origin(besides issuer: String) -> String {
    guard case .host(let name) = self else { return issuer }
    return "\(issuer.prefix { $0 != ":" })://\(name)"
  }

  /// The host name of its own; nil without one.
  var host: String? {
    if case .host(let name) = self { name } else { nil }
  }
}

extension Configuration {
  /// Returns the path of a program installed in the same folder as this one.
  private static func sibling(_ name: String) -> String {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return own.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/\(name)"
  }

  private static func languages(in folder: String, _ problems: inout [String]) -> Languages {
    do throws(CatalogError) {
      return try Languages(in: folder)
    } catch {
      problems.append("language_folder: \(error)")
      return .none
    }
  }

  private static func destination(
    _ text: (Setting) -> String, _ problems: inout [String]
  ) -> MailRelaySettings.Destination {
    let mail = text(.mail)
    guard mail.contains("://") else { return mail.isEmpty ? .none : .folder(mail) }
    var relay = SMTPRelay(url: mail)
    let user = text(.mailUser)
    if !user.isEmpty { (relay.user, relay.password) = (user, text(.mailPassword)) }
    let name = text(.mailClientName)
    relay.clientName = name.isEmpty ? HostName.forRelays(issuer: text(.issuer)) : name
    let tls = text(.mailTLS)
    relay.startTLS = tls == "optional" ? .optional : .required
    if tls != "optional", tls != "required" {
      problems.append("mail_tls is \(tls), not required or optional")
    }
    return .relay(relay)
  }
}

package struct ConfigurationError: Error, CustomStringConvertible {
  package let problems: [String]
  package var description: String {
    "the configuration is not usable:\n" + problems.map { "  - \($0)" }.joined(separator: "\n")
  }
}

/// The part of a client's address in the lines of requests.
package enum LoggedAddresses: String, Sendable {
  case off
  case network
  case full
}

/// The options of all commands that use the settings.
package struct ConfigurationOptions: ParsableArguments {
  @Option(
    name: .customLong("config"),
    help: "The settings file, with lines `name = value`. The default is the file in DOSSIER_CONFIG."
  )
  private var given: String?

  /// The path of the settings file.
  package var config: String? {
    given ?? ProcessInfo.processInfo.environment[SettingValues.configVariable]
  }

  /// The descriptor under which a supervisor passes its copy of that file.
  @Option(help: .hidden)
  package var configDescriptor: Int32?

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp(
      "A setting. It overrides the environment (DOSSIER_NAME) and the file.",
      valueName: "name=value"
    )
  )
  package var settings: [String] = []

  package init() {}

  /// The settings from flags, environment and file.
  package var values: SettingValues {
    values(config.map { SettingsFile(path: $0, descriptor: configDescriptor) })
  }

  /// Returns the settings from flags, environment and an already read file.
  package func values(_ file: SettingsFile?) -> SettingValues {
    let environment = ProcessInfo.processInfo.environment
    return SettingValues(flags: settings, environment: environment, file: file)
  }

  /// The arguments for a process with the same settings.
  package var arguments: [String] {
    (config.map { ["--config", $0] } ?? []) + settings.flatMap { ["--set", $0] }
  }
}
