import EventLoop
import FoundationEssentials
package import Glibc
import Synchronization

/// Another program under test, whose output goes to files.
package final class TestProgram: Sendable {
  package var process: pid_t { child.id }
  private let child: ChildProcess
  private let outputs: String
  private let status = Mutex<Int32?>(nil)

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - path: the path of the program.
  ///   - arguments: the arguments after its name.
  ///   - environment: variables in addition to those of this process.
  /// - Throws: `TestClusterError` if it cannot be started.
  package init(
    _ path: String, _ arguments: [String], environment: [String: String] = [:]
  ) throws(TestClusterError) {
    outputs = "/tmp/dossier-output-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    var descriptors: [(Int32, Int32)] = []
    defer { for (file, _) in descriptors { close(file) } }
    for (descriptor, name) in [(Int32(1), ".out"), (2, ".err")] {
      let file = open(outputs + name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw TestClusterError(reason: systemMessage(errno)) }
      descriptors.append((file, descriptor))
    }
    do throws(EventLoopError) {
      child = try ChildProcess(
        path, arguments,
        environment: ProcessInfo.processInfo.environment.merging(environment) { $1 },
        on: descriptors
      )
    } catch {
      throw TestClusterError(reason: error.description)
    }
  }

  /// Writes an executable shell script.
  ///
  /// Another process writes it. Otherwise a child of a concurrent test could keep the file open, so
  /// that it could not be executed.
  /// - Throws: `TestClusterError`.
  package static func write(script text: String, to path: String) async throws {
    let words = "printf '#!/bin/sh\n%s\n' \"$0\" > \"$1\" && chmod 755 \"$1\""
    let program = try TestProgram("/bin/sh", ["-c", words, text, path])
    guard await program.end() == 0 else { throw TestClusterError(reason: program.errors) }
  }

  deinit {
    unlink(outputs + ".out")
    unlink(outputs + ".err")
  }

  /// The output so far.
  package var output: String { read(".out") }
  package var errors: String { read(".err") }

  private func read(_ name: String) -> String {
    (try? Data(contentsOf: URL(filePath: outputs + name))).map {
      String(decoding: $0, as: UTF8.self)
    } ?? ""
  }

  package var hasEnded: Bool { endIfOver() != nil }

  private func endIfOver() -> Int32? {
    status.withLock { status in
      if let status { return status }
      var raw: Int32 = 0
      guard unsafe waitpid(child.id, &raw, WNOHANG) == child.id else { return nil }
      let end = WaitStatus(raw)
      status = end.code ?? 128 + (end.signal ?? 0)
      return status
    }
  }

  /// Sends a signal to the program, unless it has ended.
  package func signal(_ number: Int32) {
    status.withLock { if $0 == nil { child.signal(number) } }
  }

  /// Waits until the program ends.
  ///
  /// - Returns: the exit code, or 128 plus the number of the signal that ended it.
  package func end() async -> Int32 {
    while true {
      if let status = endIfOver() { return status }
      try? await Task.sleep(for: .milliseconds(2))
    }
  }

  func endNow() -> Int32 {
    while true {
      if let status = endIfOver() { return status }
      usleep(2_000)
    }
  }
}
