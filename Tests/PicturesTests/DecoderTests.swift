import Imaging
import Runtime
import EventLoop
import Glibc
import Testing

@Suite struct DecoderTests {
  @Test func `a program that does not end is killed at the deadline`() async throws {
    let studio = try await Studio.shared.value
    let script = try await studio.script("echo $$ >\(studio.folder)/own-id; exec sleep infinity")
    var process = ""
    // Long enough for the script to print its process id.
    var deadline = Duration.milliseconds(100)
    while !process.hasSuffix("\n") {
      let result = try await upload([1], program: script, deadline: deadline)
      #expect(result.refusal?.is(.pictureTooComplex) == true)
      process = (try? studio.file("own-id")).map { String(decoding: $0, as: UTF8.self) } ?? ""
      deadline *= 2
    }
    let id = try #require(pid_t(process.dropLast()))
    #expect(kill(id, 0) == -1 && errno == ESRCH)
  }

  @Test func `the decoding of a real picture is aborted at the deadline`() async throws {
    let file = try await Studio.shared.value.file("slow.png")
    var deadline = Duration.milliseconds(100)
    while case let result = try await upload(file, deadline: deadline),
      result.refusal?.is(.pictureTooComplex) != true
    {
      #expect(throws: Never.self) { try result.get() }
      // On a fast machine, the picture may be decoded in time.
      deadline /= 2
    }
  }

  @Test @EventLoop func `a full queue refuses at once, and one user's share fills earlier`()
    async throws
  {
    let studio = try await Studio.shared.value
    let gate = "\(studio.folder)/gate-\(UInt64.random(in: 0 ... .max))"
    let script = try await studio.script("while [ ! -e \(gate) ]; do sleep 0.01; done; exit 13")
    let pool = FairPool(name: "few", threads: 1, waiting: 7, patience: .seconds(86_400))
    let (greedy, other) = (Uploader("greedy"), Uploader("other"))
    var taken: [Task<String, Never>] = []
    func send(_ owner: Uploader) async {
      let before = pool.load
      taken.append(EventLoop.task { await outcome(of: script, pool, owner) })
      while pool.load == before { await EventLoop.sleep(for: .milliseconds(1)) }
    }
    // A quarter of the queue is full, so this user is refused at once.
    for _ in 0..<2 { await send(greedy) }
    #expect(await outcome(of: script, pool, greedy) == "too_many_requests")
    for name in ["other", "another", "third"] {
      for _ in 0..<2 { await send(name == "other" ? other : Uploader(name)) }
    }
    #expect(await outcome(of: script, pool, Uploader("last")) == "overloaded")
    close(open(gate, O_CREAT | O_WRONLY, 0o600))
    for task in taken { #expect(await task.value == "picture_damaged") }
  }

  @Test @EventLoop func `an upload that waits too long is refused`() async throws {
    let studio = try await Studio.shared.value
    let gate = "\(studio.folder)/gate-\(UInt64.random(in: 0 ... .max))"
    let script = try await studio.script("while [ ! -e \(gate) ]; do sleep 0.01; done; exit 13")
    let pool = FairPool(name: "hasty", threads: 1, waiting: 7, patience: .zero)
    let running = EventLoop.task { await outcome(of: script, pool, nil) }
    while pool.load == 0 { await EventLoop.sleep(for: .milliseconds(1)) }
    #expect(await outcome(of: script, pool, nil) == "overloaded")
    close(open(gate, O_CREAT | O_WRONLY, 0o600))
    #expect(await running.value == "picture_damaged")
  }

  @Test func `a missing program is an internal error`() async throws {
    _ = try await Studio.shared.value
    let result = try await upload([1], program: "/nonexistent/dossier-pictures")
    #expect(result.refusal?.is(.internalError) == true)
    #expect(result.report?.contains("/nonexistent/dossier-pictures") == true)
  }

  @Test(arguments: [
    "kill -SEGV $$", "kill -SYS $$", "echo no header", "echo image/gif 1 1 1; printf x",
    "echo image/jpeg 2000 1 4; printf xxxx", "echo image/jpeg 10 10 4; printf xxxx",
    "echo image/jpeg 10 10 9; printf '\\377\\330\\377x'", "exec head -c 9999999 /dev/zero",
    "exit 0",
  ])
  func `the output of a compromised program is refused`(_ text: String) async throws {
    let script = try await Studio.shared.value.script(text)
    let result = try await upload([1], program: script)
    #expect(result.refusal?.is(.pictureDamaged) == true, "\(text)")
    #expect(result.report?.contains("ended its decoder by signal") == true, "\(text)")
  }

  @Test func `the event loop continues while a picture is decoded`() async throws {
    let studio = try await Studio.shared.value
    let gate = "\(studio.folder)/gate-\(UInt64.random(in: 0 ... .max))"
    let script = try await studio.script("while [ ! -e \(gate) ]; do sleep 0.01; done; exit 13")
    // The program ends only after some turns of the loop.
    let ticking = EventLoop.task {
      for _ in 0..<20 { await EventLoop.sleep(for: .milliseconds(1)) }
      close(open(gate, O_CREAT | O_WRONLY, 0o600))
    }
    #expect(try await upload([1], program: script).refusal?.is(.pictureDamaged) == true)
    await ticking.value
  }
}

/// Returns the code of the error of a program for a picture.
@EventLoop private func outcome(
  of program: String, _ pool: FairPool, _ owner: Uploader?
) async -> String {
  do {
    return try await upload([1], program: program, pool: pool, for: owner).refusal?.type.code ?? ""
  } catch {
    return "\(error)"
  }
}

/// An uploader in its own network.
@EventLoop private final class Uploader: JobOwner {
  let group: Int
  let member: Int?
  let isGone = false

  init(_ name: String) {
    group = "network of \(name)".hashValue
    member = name.hashValue
  }
}
