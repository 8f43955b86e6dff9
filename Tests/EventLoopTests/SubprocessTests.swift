import EventLoop
import Glibc
import TestSupport
import Testing

@Suite struct SubprocessTests {
  @Test func `input and output of any size pass through`() throws {
    let input = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let outcome = try Subprocess(path: "/bin/cat")
      .run(input: input, limit: 3_000_000, deadline: .seconds(600))
    #expect(outcome.ending == .exited(0) && outcome.output == input)
  }

  @Test func `a subprocess inherits no environment and no descriptor`() async throws {
    let environment = try await run("exec /usr/bin/env")
    #expect(
      environment.output.split(separator: 10).allSatisfy { $0.starts(with: Array("PWD=".utf8)) }
    )
    let secret = open("/etc/hostname", O_RDONLY)
    defer { close(secret) }
    // Descriptor 3 is the folder that `ls` opens.
    #expect(try await run("exec ls /proc/self/fd").output == Array("0\n1\n2\n3\n".utf8))
  }

  @Test func `the status, the signal and stderr are reported`() async throws {
    let failed = try await run("echo why >&2; exit 7")
    #expect(failed.ending == .exited(7) && failed.complaint == Array("why\n".utf8))
    #expect(try await run("kill -TERM $$").ending == .killed(SIGTERM))
    #expect(try await run("head -c 9999 /dev/zero >&2").complaint.count == 512)
    // More than a pipe holds, so that a long stderr must not block the program.
    let long = try await run("head -c 300000 /dev/zero >&2; exit 3")
    #expect(long.ending == .exited(3) && long.complaint.count == 512)
  }

  @Test func `a subprocess is killed at its deadline and over its output limit`() async throws {
    // These never end by themselves, so a return of `run` proves that they were killed.
    #expect(try await run("exec sleep infinity", deadline: .milliseconds(200)).ending == .outOfTime)
    #expect(
      try await run("exec 1>&- 2>&-; exec sleep infinity", deadline: .milliseconds(200)).ending
        == .outOfTime
    )
    #expect(try await run("exec cat /dev/zero").ending == .tooMuchOutput)
  }

  @Test func `a subprocess of the subprocess is not awaited`() async throws {
    // The inner process keeps the output open until this test closes its pipe.
    let path = "/tmp/dossier-left-\(getpid())"
    #expect(mkfifo(path, 0o600) == 0)
    let end = open(path, O_RDWR | O_CLOEXEC)
    defer {
      close(end)
      unlink(path)
    }
    let outcome = try await run("cat \(path) & echo done")
    #expect(outcome.ending == .exited(0) && outcome.output == Array("done\n".utf8))
  }

  @Test func `a missing program is an error`() {
    #expect(throws: EventLoopError.self) {
      try Subprocess(path: "/nonexistent").run(input: [], limit: 0, deadline: .seconds(1))
    }
  }

  /// Runs a script.
  private func run(
    _ text: String, deadline: Duration = .seconds(600)
  ) async throws -> Subprocess.Completion {
    let path = "/tmp/dossier-program-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    try await TestProgram.write(script: text, to: path)
    defer { unlink(path) }
    return try Subprocess(path: path).run(input: [], limit: 10_000, deadline: deadline)
  }
}
