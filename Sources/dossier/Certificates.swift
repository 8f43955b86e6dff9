import DeploymentFiles
import Administration
import EventLoop
import Glibc

/// The certificates of nginx: those in its files and those that it serves.
struct Certificates {
  private static let openssl = "/usr/bin/openssl"
  /// The days before expiry from which a certificate is reported, since its renewal must have
  /// failed.
  private static let days = 14

  /// The paths of the certificate files in the directives.
  private let paths: [String]
  /// The TLS addresses of nginx, each with the server name that a client would send.
  private let listeners: [Listener]

  private struct Listener: Hashable {
    let address: String
    let name: String?
  }

  /// Collects the certificates.
  ///
  /// - Parameters:
  ///   - directives: the directives of nginx's files.
  ///   - folder: the folder of nginx.conf, to which relative paths refer.
  init(_ directives: [NginxDirective], in folder: String) {
    let all = directives.flatMap(\.all)
    let named = all.filter { $0.words.first == "ssl_certificate" }.compactMap {
      $0.words.dropFirst().first
    }
    paths = Self.unique(
      named.filter { !$0.contains("$") && !$0.hasPrefix("data:") }
        .map { $0.hasPrefix("/") ? $0 : "\(folder)/\($0)" }
    )
    listeners = Self.unique(
      all.filter { $0.words.first == "server" }.flatMap { server in
        let name = server.values(of: "server_name")?.first { Self.isPlain($0) }
        return server.block.filter { $0.words.first == "listen" && $0.words.contains("ssl") }
          .compactMap { $0.words.count > 1 ? Self.reached($0.words[1]) : nil }
          .map { Listener(address: $0, name: name) }
      }
    )
  }

  private static func unique<Element: Hashable>(_ elements: [Element]) -> [Element] {
    var seen: Set<Element> = []
    return elements.filter { seen.insert($0).inserted }
  }

  /// Returns whether a server name is a single name, and not a pattern.
  private static func isPlain(_ name: String) -> Bool {
    name.contains(".") && !name.hasPrefix("~") && !name.contains("*") && !name.hasPrefix(".")
  }

  /// Returns the address to which a program on this machine connects, or nil for a Unix socket.
  private static func reached(_ listen: String) -> String? {
    guard !listen.hasPrefix("unix:") else { return nil }
    if listen.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return "127.0.0.1:\(listen)" }
    let hasPort = listen.hasPrefix("[") ? listen.contains("]:") : listen.contains(":")
    let address = hasPort ? listen : "\(listen):80"
    for (any, own) in [("*:", "127.0.0.1:"), ("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")]
    where address.hasPrefix(any) {
      return own + address.dropFirst(any.count)
    }
    return address
  }

  /// A finding for each certificate.
  ///
  /// Empty if nginx has no TLS.
  var findings: [Doctor.Finding] {
    guard !paths.isEmpty || !listeners.isEmpty else { return [] }
    guard access(Self.openssl, X_OK) == 0 else {
      return [Doctor.Finding("certificates", "not examined: install openssl (apt install openssl)")]
    }
    return paths.compactMap(Self.finding(file:)) + listeners.map(Self.finding(listener:))
  }

  /// Returns the finding for a file.
  ///
  /// Returns nil if this user may not read it, since the served certificates are checked too.
  private static func finding(file path: String) -> Doctor.Finding? {
    let what = "certificate \(path)"
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      guard errno != EACCES else { return nil }
      return Doctor.Finding(
        what, "\(systemMessage(errno)): give ssl_certificate the path of the file"
      )
    }
    close(descriptor)
    return finding(what, ["-in", path], remedy: "renew it, and reload nginx")
  }

  private static func finding(listener: Listener) -> Doctor.Finding {
    let what = "TLS on \(listener.address)" + (listener.name.map { " for \($0)" } ?? "")
    let name = listener.name.map { ["-servername", $0] } ?? ["-noservername"]
    let served = run(["s_client", "-connect", listener.address] + name, [])
    // openssl finds no certificate in the output of a failed connection.
    guard let served, let found = run(["x509", "-noout"], served.output), found.ending == .exited(0)
    else { return Doctor.Finding(what, "nginx serves no certificate there. Is nginx running?") }
    return finding(
      what, input: served.output,
      remedy: "renew it; if its file is newer, reload nginx (systemctl reload nginx)"
    )
  }

  /// Returns the finding for a certificate.
  ///
  /// The exit statuses of openssl decide: its texts differ between versions and languages.
  private static func finding(
    _ what: String, _ source: [String] = [], input: [UInt8] = [], remedy: String
  ) -> Doctor.Finding {
    let command = ["x509", "-noout"] + source
    guard let found = run(command, input),
      let checked = run(command + ["-checkend", String(days * 86_400)], input),
      let dated = run(command + ["-enddate"], input)
    else { return Doctor.Finding(what, "not examined: openssl did not finish within 10 s") }
    guard found.ending == .exited(0) else {
      return Doctor.Finding(what, "it is not a certificate in PEM: \(remedy)")
    }
    if checked.ending == .exited(0) { return Doctor.Finding(what) }
    let date = String(decoding: dated.output, as: UTF8.self).split(separator: "=").last ?? ""
    return Doctor.Finding(
      what, "it expires within \(days) days (\(date.split(separator: "\n").first ?? "")): \(remedy)"
    )
  }

  private static func run(_ arguments: [String], _ input: [UInt8]) -> Subprocess.Completion? {
    let program = Subprocess(path: openssl, arguments)
    let run = try? program.run(input: input, limit: 262_144, deadline: .seconds(10))
    guard let run, run.ending != .outOfTime else { return nil }
    return run
  }
}
