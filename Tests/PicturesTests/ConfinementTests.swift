import FoundationEssentials
import Glibc
import PictureContract
import TestSupport
import Testing

@Suite struct ConfinementTests {
  @Test func `the program is sandboxed before it reads a byte`() async throws {
    let folder = try await Studio.shared.value.folder
    // Opened for reading and writing, so that only reads block.
    let words = ["-c", "mkfifo $0 && exec $1 <>$0", "\(folder)/nothing", try Studio.program]
    let program = try TestProgram("/bin/sh", words)
    defer { program.signal(SIGKILL) }
    var status = ""
    for _ in 0..<6_000 {
      status = try text("/proc/\(program.process)/status")
      if status.contains("Seccomp:\t2") { break }
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(status.contains("Seccomp:\t2"))
    #expect(status.contains("NoNewPrivs:\t1"))
    // The program waits in its first `read`.
    #expect(try text("/proc/\(program.process)/limits").contains("seconds"))
    let limits = try text("/proc/\(program.process)/limits").split(separator: "\n")
      .map { $0.split(separator: " ").joined(separator: " ") }
    let expected = [
      "Max cpu time \(PictureLimits.processorTime) \(PictureLimits.processorTime + 1) seconds",
      "Max address space \(PictureLimits.memory) \(PictureLimits.memory) bytes",
      "Max file size 0 0 bytes", "Max core file size 0 0 bytes", "Max open files 3 3 files",
    ]
    for line in expected { #expect(limits.contains(line)) }
    #expect(!program.hasEnded)
    program.signal(SIGKILL)
    _ = await program.end()
  }

  @Test func `a file as output is refused`() async throws {
    let studio = try await Studio.shared.value
    let words = ["-c", "exec $1 <$0", "\(studio.folder)/small.jpg", try Studio.program]
    let program = try TestProgram("/bin/sh", words)
    #expect(await program.end() == PictureStatus.unforeseen.rawValue)
  }

  private func text(_ path: String) throws -> String {
    // Files of /proc report no size.
    let file = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    var text: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4_096)
    while case let count = read(file, &part, part.count), count > 0 { text += part[..<count] }
    return String(decoding: text, as: UTF8.self)
  }
}
