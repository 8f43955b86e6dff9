import FoundationEssentials
import Glibc
import TestSupport

/// A server program for tests, on a free port of 127.0.0.1.
final class TestServer: Sendable {
  let port: Int
  /// The folder for its files.
  let folder: String
  private let program: TestProgram

  /// Starts the program, runs `body`, and stops the program.
  static func run<Result>(
    _ name: String, _ modes: [String] = [], _ body: (TestServer) async throws -> Result
  ) async throws -> Result {
    let folder = try Workplace.shared.makeFolder()
    let program = try TestProgram(
      "/usr/bin/python3",
      ["-B", "\(Workplace.servers)/\(name).py", Workplace.shared.path, folder] + modes
    )
    let outcome: Swift.Result<Result, any Error>
    do {
      outcome = .success(try await body(try await TestServer(program, folder)))
    } catch {
      outcome = .failure(error)
    }
    program.signal(SIGKILL)
    _ = await program.end()
    return try outcome.get()
  }

  private init(_ program: TestProgram, _ folder: String) async throws {
    self.program = program
    self.folder = folder
    for _ in 0..<20_000 where !program.output.contains("\n") && !program.hasEnded {
      try await Task.sleep(for: .milliseconds(10))
    }
    guard let line = program.output.split(separator: "\n").first, let port = Int(line) else {
      throw ProgramError(reason: "the server did not start: \(program.errors)")
    }
    self.port = port
  }

  /// Stops the program, which closes its connections.
  func stop() { program.signal(SIGKILL) }

  /// The lines that it has printed after its port.
  var lines: [String] { program.output.split(separator: "\n").dropFirst().map(String.init) }
}

/// A folder of the test process with certificates.
final class Workplace: Sendable {
  static let servers = URL(filePath: #filePath).deletingLastPathComponent().path + "/servers"
  static let shared = Workplace()

  let path = "/tmp/dossier-outbound-\(getpid())-\(UInt32.random(in: 0 ... .max))"
  /// The certificate of the authority that signed `localhost` and `other`.
  var authority: String { "\(path)/authority.pem" }

  private init() {
    mkdir(path, 0o700)
    atexit { try? FileManager.default.removeItem(atPath: Workplace.shared.path) }
  }

  func makeFolder() throws -> String {
    let folder = "\(path)/\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    return folder
  }

  private static let certificates = Task { try await shared.makeCertificates() }

  /// The folder has the authority, `localhost` for this machine, and `other` for another host.
  static func haveCertificates() async throws { try await certificates.value }

  private func makeCertificates() async throws {
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    try await openssl(
      ["req", "-x509"] + key + [
        "-subj", "/CN=Test", "-keyout", "\(path)/authority.key", "-out", authority,
      ]
    )
    for (name, hosts) in [
      ("localhost", "DNS:localhost,IP:127.0.0.1"), ("other", "DNS:other.example"),
    ] {
      try await openssl(
        ["req", "-x509"] + key + [
          "-CA", authority, "-CAkey", "\(path)/authority.key", "-subj", "/CN=\(name)",
          "-addext", "subjectAltName=\(hosts)", "-addext", "basicConstraints=CA:FALSE",
          "-keyout", "\(path)/\(name).key", "-out", "\(path)/\(name).pem",
        ]
      )
    }
  }

  private func openssl(_ words: [String]) async throws {
    let program = try TestProgram("/usr/bin/openssl", words)
    guard await program.end() == 0 else { throw ProgramError(reason: program.errors) }
  }
}

/// The output of a program that failed.
struct ProgramError: Error {
  let reason: String
}
