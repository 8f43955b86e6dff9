import EventLoop
import Glibc
import TestSupport
import Testing

@Suite struct SubprocessTests {
  @Test func `what goes in comes out, however much`() throws {
    let input = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let outcome = try Subprocess(path: "/bin/cat")
      .run(input: input, limit: 3_000_000, deadline: .seconds(600))
    #expect(outcome.ending == .exited(0) && outcome.output == input)
  }

  @Test func `it gets no environment and no descriptor`() async throws {
    let environment = try await run("exec /usr/bin/env")
    #expect(
      environment.output.split(separator: 10).allSatisfy { $0.starts(with: Array("PWD=".utf8)) }
    )
    let secret = open("/etc/hostname", O_RDONLY)
    defer { close(secret) }
    // `ls` opens the folder itself.
    #expect(try await run("exec ls /proc/self/fd").output == Array("0\n1\n2\n3\n".utf8))
  }

  @Test func `its status, signal and complaint are told`() async throws {
    let failed = try await run("echo why >&2; exit 7")
    #expect(failed.ending == .exited(7) && failed.complaint == Array("why\n".utf8))
    #expect(try await run("kill -TERM $$").ending == .killed(SIGTERM))
    #expect(try await run("head -c 9999 /dev/zero >&2").complaint.count == 512)
    // More than a pipe holds: who complains at length is not kept waiting.
    let long = try await run("head -c 300000 /dev/zero >&2; exit 3")
    #expect(long.ending == .exited(3) && long.complaint.count == 512)
  }

  @Test func `it is killed at the deadline and over its limit`() async throws {
    // These never end by themselves: that `run` returns shows that they were killed.
    #expect(try await run("exec sleep infinity", deadline: .milliseconds(200)).ending == .outOfTime)
    #expect(
      try await run("exec 1>&- 2>&-; exec sleep infinity", deadline: .milliseconds(200)).ending
        == .outOfTime
    )
    #expect(try await run("exec cat /dev/zero").ending == .tooMuchOutput)
  }

  @Test func `one that leaves others behind is not waited for`() async throws {
    // The one left behind holds the output open until the pipe of this test closes.
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

  @Test func `one that is missing is an error`() {
    #expect(throws: EventLoopError.self) {
      try Subprocess(path: "/nonexistent").run(input: [], limit: 0, deadline: .seconds(1))
    }
  }

  /// Runs a script.
  private func run(
    _ text: String,
    deadline: Duration = .seconds(600)
  ) async throws -> Subprocess.Completion {
    let path = "/tmp/dossier-program-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    try await TestProgram.write(script: text, to: path)
    defer { unlink(path) }
    return try Subprocess(path: path).run(input: [], limit: 10_000, deadline: deadline)
  }
}
