import Configuration
import FoundationEssentials

/// What nginx is told, as far as it is about Dossier.
struct NginxFiles {
  /// Where the package has the files that are copied.
  private static let shipped = "/usr/share/dossier/nginx"

  /// Where nginx looks for them on a machine with the package; empty on another.
  static var usual: String {
    FileManager.default.fileExists(atPath: shipped) ? "/etc/nginx" : ""
  }

  private let folder: String
  /// Words of all files that nginx reads at Debian's places, without comments.
  private var words: [Substring] = []
  private var directives: [NginxDirective] = []
  private var unreadable: [String] = []

  /// Nil where there is no such folder: nginx is on another host.
  ///
  /// - Parameter folder: where nginx.conf is.
  init?(_ folder: String) {
    guard (try? FileManager.default.contentsOfDirectory(atPath: folder)) != nil else { return nil }
    self.folder = folder
    var paths = ["\(folder)/nginx.conf"]
    for part in ["conf.d", "sites-enabled"] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(part)")) ?? []
      paths += names.sorted().map { "\(folder)/\(part)/\($0)" }
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
    let test = NginxTest.finding(folder).map { [$0] } ?? []
    return findings + test + Certificates(directives, in: folder).findings
  }

  /// Whether requests are passed to each of our workers, and to none that is not there.
  private func upstreamFault(_ configuration: Configuration) -> String? {
    let own = (0..<configuration.workers).map { SocketName($0, configuration).nginx }
    let cure = "write what `dossierd upstream` prints to \(folder)/conf.d/dossier-upstream.conf"
    guard let start = words.firstRange(of: ["upstream", "dossier_workers"])?.upperBound else {
      // Of workers that listen on a network, nginx may be anywhere.
      return configuration.listen == nil ? "there is no upstream dossier_workers: \(cure)" : nil
    }
    let block = words[start...].prefix { !["upstream", "server_name", "listen"].contains($0) }
    let servers = zip(block, block.dropFirst()).filter { $0.0 == "server" }.map { String($0.1) }
    if let missing = own.first(where: { !servers.contains($0) }) {
      return "nothing is passed to \(missing): \(cure)"
    }
    let stray = servers.first { server in
      server.hasPrefix("unix:\(configuration.socketDirectory)/") && !own.contains(server)
    }
    if let stray { return "requests are passed to \(stray), where there is no worker: \(cure)" }
    guard words.firstRange(of: ["fastcgi_pass", "dossier_workers"]) != nil else {
      return "no server passes anything to dossier_workers: "
        + "copy \(Self.shipped)/dossier.conf to \(folder)/conf.d/"
    }
    return nil
  }

  /// Copies of what the package brings that an upgrade has overtaken.
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
