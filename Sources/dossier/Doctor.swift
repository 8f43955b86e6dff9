import CommandKit
import Runtime
import Delivery
import Administration
import ArgumentParser
import Configuration
import Tenancy
import EventLoop
import Glibc
import JSON
import Outbound
import ReferenceData

/// Checks everything that a deployment needs, and prints how to fix each problem.
struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Checks a deployment, and reports each problem with its remedy.",
    discussion: """
      It examines the settings and whether all hosts share them, the database with its schema, \
      rights, master key and app, the nodes of a distributed database, a write that it rolls back, \
      the sockets of the workers, nginx's configuration and certificates, mail, the connections to \
      other services, the domains and files of passkeys, clocks and limits. Run it on the host that \
      serves, as the user that serves.
      """)
  @OptionGroup var settings: ConfigurationOptions
  @OptionGroup var output: OutputOptions

  @Option(
    help: ArgumentHelp(
      "The folder of nginx's files; by default /etc/nginx, if it exists.", valueName: "folder"
    )
  )
  var nginx: String?

  func run() throws {
    let values = settings.values
    let configuration: Configuration
    var findings: [Finding] = []
    do throws(ConfigurationError) {
      configuration = try Configuration(values, serves: false)
    } catch {
      end([error.description], .configuration)
    }
    do throws(ConfigurationError) {
      _ = try Configuration(values, serves: true)
      findings.append(Finding("settings"))
    } catch {
      findings += error.problems.map { Finding("settings", $0) }
    }
    do throws(ReferenceListError) {
      try ReferenceLists.check()
      findings.append(Finding("lists"))
    } catch {
      findings.append(Finding("lists", error.description))
    }
    findings += Self.sockets(configuration) + [Self.files(configuration)]
    findings += NginxFiles(nginx ?? NginxFiles.usual)?.findings(configuration) ?? []
    let local = findings
    let isJSON = output.isJSON
    EventLoop.task {
      let context = CommandContext(configuration, isLarge: false)
      let all = local + (await context.findings(configuration))
      let isWell = all.allSatisfy { $0.fault == nil }
      let output = CommandOutput(.array(all.map(\.json)), columns: ["what", "fault"])
      Output.write(output.text(asJSON: isJSON), to: 1)
      end([], isWell ? .success : .checksFailed)
    }
    EventLoop.reactor.run()
  }

  typealias Finding = DeploymentCheck.Finding

  /// Checks that a worker listens on each socket to which nginx connects.
  private static func sockets(_ configuration: Configuration) -> [Finding] {
    guard configuration.listen == nil else { return [] }
    return (0..<configuration.workers).map { index in
      let path = SocketName(index, configuration).path ?? ""
      let reason = fault(of: path)
      return Finding("socket \(index)", reason.map { "\(path): \($0)" })
    }
  }

  private static func fault(of path: String) -> String? {
    guard let name = SocketAddress(path: path) else { return "too long" }
    return switch name.connectionError() {
    case 0: nil
    case EAGAIN: "its queue is full, so the worker hangs"
    case let code: "\(systemMessage(code)); is dossierd running?"
    }
  }

  /// Checks that a worker may open as many files as it may have connections.
  private static func files(_ configuration: Configuration) -> Finding {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_max < rlim_t(configuration.files) else { return Finding("files") }
    return Finding(
      "files",
      "only \(limit.rlim_max) may be open, and connections is \(configuration.connections): raise "
        + "LimitNOFILE or lower connections"
    )
  }
}

extension CommandContext {
  /// Checks the deployment, the services that it uses, and the relay.
  fileprivate func findings(_ configuration: Configuration) async -> [Doctor.Finding] {
    await settle()
    let report = await deployment.dependencies[DeploymentCheck.self].report(deployment)
    let settings = configuration.mail
    guard report.isReady, let apps = try? await Apps.list(deployment) else {
      return report.findings + [await mail(settings, from: [])]
    }
    let names = apps.map(\.name)
    let services =
      await connectionFindings(of: names) + passkeyFindings(of: names, configuration.issuerSource)
    let senders =
      if case .relay = settings.destination {
        apps.filter { !$0.hasLocalSender }.map(\.app.mailSettings.sender)
      } else { [] as [String] }
    return report.findings + services + [await mail(settings, from: senders)]
  }

  /// The senders that are named to the relay.
  private static let checkedSenders = 20

  /// Checks that mail can be sent now.
  ///
  /// It names the senders to the relay, which often refuses the name in EHLO only then. It sends no
  /// message.
  private func mail(_ settings: MailRelaySettings, from senders: [String]) async -> Doctor.Finding {
    guard settings.isSomewhere else {
      let fault = "the setting mail is empty: addresses cannot be verified, nor passwords reset"
      return Doctor.Finding("mail", fault)
    }
    do throws(MailError) {
      let relay = try MailRelay(settings)
      try await relay.check()
      for sender in Set(senders).sorted().prefix(Self.checkedSenders) {
        try await relay.check(from: sender)
      }
      return Doctor.Finding("mail")
    } catch {
      return Doctor.Finding("mail", error.description)
    }
  }
}
