import CommandKit
import DeploymentFiles
import Administration
import Configuration
import FoundationEssentials

/// The parts of nginx's configuration that concern Dossier.
struct NginxFiles {
  /// The package's originals of the copied files.
  private static let shipped = "/usr/share/dossier/nginx"

  /// The default folder of nginx's configuration.
  ///
  /// Empty on a machine without the package.
  static var usual: String {
    FileManager.default.fileExists(atPath: shipped) ? "/etc/nginx" : ""
  }

  private let folder: String
  /// The words of all files that nginx reads in Debian's layout, without comments.
  private var words: [Substring] = []
  private var directives: [NginxDirective] = []
  private var unreadable: [String] = []

  /// Reads the files.
  ///
  /// Returns nil if the folder does not exist, since nginx is then on another host.
  ///
  /// - Parameter folder: the folder of nginx.conf.
  init?(_ folder: String) {
    guard FileManager.default.fileExists(atPath: folder) else { return nil }
    self.folder = folder
    var paths = ["\(folder)/nginx.conf"]
    for part in ["conf.d", "sites-enabled"] {
      let part = "\(folder)/\(part)"
      guard FileManager.default.fileExists(atPath: part) else { continue }
      guard let names = try? FileManager.default.contentsOfDirectory(atPath: part) else {
        unreadable.append(part)
        continue
      }
      paths += names.sorted().map { "\(part)/\($0)" }
    }
    for path in paths where FileManager.default.fileExists(atPath: path) {
      guard let text = Self.text(path) else {
        unreadable.append(path)
        continue
      }
      directives += NginxDirective.list(text)
      for line in text.split(separator: "\n") {
        words += line.prefix { $0 != "#" }.split { " \t;{}".contains($0) }
      }
    }
  }

  private static func text(_ path: String) -> String? {
    (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) }
  }

  func findings(_ configuration: Configuration) -> [Doctor.Finding] {
    let faults =
      unreadable.map { "\($0) cannot be read" }
      + (upstreamFault(configuration).map { [$0] } ?? []) + staleCopies
    let findings =
      faults.isEmpty ? [Doctor.Finding("nginx")] : faults.map { Doctor.Finding("nginx", $0) }
    return findings + Certificates(directives, in: folder).findings
  }

  /// Returns an error unless nginx passes requests to every worker, and only to existing workers.
  private func upstreamFault(_ configuration: Configuration) -> String? {
    let own = (0..<configuration.workers).map { SocketName($0, configuration).nginx }
    let cure = "write what `dossierd upstream` prints to \(folder)/conf.d/dossier-upstream.conf"
    guard let start = words.firstRange(of: ["upstream", "dossier_workers"])?.upperBound else {
      // Workers that listen on a network may have nginx on another host.
      return configuration.listen == nil ? "nginx has no upstream dossier_workers: \(cure)" : nil
    }
    let block = words[start...].prefix { !["upstream", "server_name", "listen"].contains($0) }
    let servers = zip(block, block.dropFirst()).filter { $0.0 == "server" }.map { String($0.1) }
    if let missing = own.first(where: { !servers.contains($0) }) {
      return "nginx passes no requests to \(missing): \(cure)"
    }
    let stray = servers.first { server in
      server.hasPrefix("unix:\(configuration.socketDirectory)/") && !own.contains(server)
    }
    if let stray { return "nginx passes requests to \(stray), which has no worker: \(cure)" }
    guard words.firstRange(of: ["fastcgi_pass", "dossier_workers"]) != nil else {
      return "no server of nginx passes requests to dossier_workers: "
        + "copy \(Self.shipped)/dossier.conf to \(folder)/conf.d/"
    }
    return nil
  }

  /// The copies of the package's files that an upgrade has made obsolete.
  private var staleCopies: [String] {
    ["dossier.fastcgi_params", "dossier.body_limits", "dossier.error_pages"].compactMap { name in
      guard let shipped = Self.text("\(Self.shipped)/\(name)"),
        Self.text("\(folder)/\(name)") != shipped
      else { return nil }
      return
        "\(folder)/\(name) is not that of this version: copy \(Self.shipped)/\(name) there, and "
        + "reload nginx"
    }
  }
}
