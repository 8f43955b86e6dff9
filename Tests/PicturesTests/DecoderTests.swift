import Dossier
import EventLoop
import Glibc
import Testing

@Suite struct DecoderTests {
  @Test func `a program that does not end is killed at the deadline`() async throws {
    let studio = try await Studio.shared.value
    let script = try studio.script("echo $$ >\(studio.folder)/own-id; exec sleep 100")
    let start = EventLoop.now()
    let result = try await upload([1], program: script, deadline: .milliseconds(500))
    #expect(result == .failure(.tooSlow))
    #expect(EventLoop.now() - start < 20_000_000_000)
    let process = String(decoding: try studio.file("own-id"), as: UTF8.self)
    let id = try #require(pid_t(process.split(separator: "\n")[0]))
    #expect(kill(id, 0) == -1 && errno == ESRCH)
  }

  @Test func `a real picture that takes too long is given up`() async throws {
    let file = try await Studio.shared.value.file("slow.png")
    #expect(try await upload(file, deadline: .milliseconds(100)) == .failure(.tooSlow))
  }

  @Test func `what cannot be done soon is refused at once`() async throws {
    let script = try await Studio.shared.value.script("exec sleep 100")
    let pool = BlockingPool(name: "few", threads: 1, waiting: 1)
    let start = EventLoop.now()
    let results = try await withThrowingTaskGroup(of: Result<Picture, PictureFailure>.self) {
      group in
      for _ in 0..<5 {
        group.addTask {
          try await upload([1], program: script, pool: pool, deadline: .seconds(2))
        }
      }
      var results: [Result<Picture, PictureFailure>] = []
      for try await result in group {
        results.append(result)
        // Those for which there is no room do not wait for the others.
        if results.count == 3 { #expect(EventLoop.now() - start < 1_900_000_000) }
      }
      return results
    }
    let overloaded = Result<Picture, PictureFailure>.failure(.overloaded(retryAfter: 5))
    #expect(results.count { $0 == overloaded } == 3)
    #expect(results.count { $0 == .failure(.tooSlow) } == 2)
  }

  @Test func `who has waited too long is refused`() async throws {
    let file = try await Studio.shared.value.file("small.jpg")
    let result = try await upload(file, patience: .zero)
    #expect(result == .failure(.overloaded(retryAfter: 5)))
  }

  @Test func `a program that is missing is nobody's fault`() async throws {
    _ = try await Studio.shared.value
    let result = try await upload([1], program: "/nonexistent/dossier-pictures")
    guard case .failure(.unforeseen(let reason)) = result else {
      Issue.record("\(result)")
      return
    }
    #expect(reason.contains("/nonexistent/dossier-pictures"))
  }

  @Test(arguments: [
    "kill -SEGV $$", "kill -SYS $$", "echo no header", "echo image/gif 1 1 1; printf x",
    "echo image/jpeg 2000 1 4; printf xxxx", "echo image/jpeg 10 10 4; printf xxxx",
    "echo image/jpeg 10 10 9; printf '\\377\\330\\377x'", "exec head -c 9999999 /dev/zero",
    "exit 0",
  ])
  func `a program that was taken over is not believed`(_ text: String) async throws {
    let script = try await Studio.shared.value.script(text)
    let result = try await upload([1], program: script)
    guard case .failure(.hostile) = result else {
      Issue.record("\(text): \(result)")
      return
    }
  }

  @Test func `the loop goes on while a picture is decoded`() async throws {
    let file = try await Studio.shared.value.file("slow.png")
    #expect(try await turns(during: file) > 20)
  }

  @EventLoop private func turns(during file: [UInt8]) async throws -> Int {
    var turns = 0
    let ticking = EventLoop.task {
      while !Task.isCancelled {
        await EventLoop.sleep(for: .milliseconds(10))
        turns += 1
      }
    }
    _ = try await upload(file).get()
    ticking.cancel()
    await ticking.value
    return turns
  }
}
