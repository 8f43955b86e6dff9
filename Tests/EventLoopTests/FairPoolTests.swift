import EventLoop
import Synchronization
import TestSupport
import Testing

/// Tests the order in which clients get threads, and who is refused.
@Suite struct FairPoolTests {
  init() { LoopThread.start() }

  @Test @EventLoop func `abandoned work is skipped`()
    async throws
  {
    let place = Place(threads: 2, waiting: 14)
    let (first, second) = (Somebody("a", "1"), Somebody("a", "2"))
    let victim = Somebody("b", "3")
    let running = [await place.send("first", first), await place.send("second", second)]
    let given = [
      await place.send("gone", first), await place.send("gone", first),
      await place.send("gone", second), await place.send("gone", second),
    ]
    first.isGone = true
    second.isGone = true
    let wanted = await place.send("wanted", victim)
    place.gates["wanted"]?.open()
    place.gates["first"]?.open()
    // The second job is still running.
    #expect(await wanted.value == nil)
    #expect(place.begun == ["first", "second", "wanted"])
    place.gates["second"]?.open()
    for task in given { #expect(await task.value == .abandoned) }
    for task in running { #expect(await task.value == nil) }
    #expect(place.begun.count == 3 && place.pool.load == 0)
    #expect(await place.ask("late", first).value == .abandoned)
  }

  @Test @EventLoop func `groups take turns, and so do the members of one`() async throws {
    let place = Place(threads: 1, waiting: 31)
    let (many, few, other) = (Somebody("a", "1"), Somebody("a", "2"), Somebody("b", nil))
    var tasks: [Task<FairQueueError?, Never>] = []
    for (name, owner) in [
      ("a1", many), ("a2", many), ("a3", many), ("a4", many), ("b1", few), ("b2", few),
      ("c1", other),
    ] {
      tasks.append(await place.send(name, owner))
    }
    for gate in place.gates.values { gate.open() }
    for task in tasks { #expect(await task.value == nil) }
    #expect(place.begun == ["a1", "c1", "b1", "a2", "b2", "a3", "a4"])
  }

  @Test @EventLoop func `a new member does not overtake one that waits longer`() async throws {
    let place = Place(threads: 1, waiting: 31)
    let names = (0..<4).map { "\($0)" }
    var tasks = [await place.send("first", Somebody("a", nil))]
    for name in names { tasks.append(await place.send(name, Somebody(name, nil))) }
    for gate in place.gates.values { gate.open() }
    for task in tasks { _ = await task.value }
    #expect(place.begun == ["first"] + names)
  }

  @Test @EventLoop func `a member has a quarter of the queue, and its group half`()
    async throws
  {
    let place = Place(threads: 2, waiting: 14)
    let (first, second, third) = (Somebody("a", "1"), Somebody("a", "2"), Somebody("a", "3"))
    let (program, stranger) = (Somebody("p", nil), Somebody("s", "4"))
    var tasks: [Task<FairQueueError?, Never>] = []
    for _ in 0..<4 { tasks.append(await place.send("x", first)) }
    #expect(await place.ask("y", first).value == .shareTaken)
    for _ in 0..<4 { tasks.append(await place.send("x", second)) }
    #expect(await place.ask("y", third).value == .shareTaken)
    for _ in 0..<4 { tasks.append(await place.send("x", program)) }
    for _ in 0..<4 { tasks.append(await place.send("x", stranger)) }
    #expect(await place.ask("y", program).value == .full)
    // Abandoned work gives up its places once the queue is full.
    second.isGone = true
    for _ in 0..<3 { tasks.append(await place.send("x", program)) }
    place.gates["x"]?.open()
    for task in tasks { _ = await task.value }
    #expect(place.begun.allSatisfy { $0 == "x" } && place.pool.load == 0)
  }

  @Test @EventLoop func `a member leaves one thread to others`() async throws {
    let place = Place(threads: 2, waiting: 14)
    let greedy = Somebody("a", "1")
    var tasks = [await place.send("a", greedy)]
    tasks.append(await place.send("a", greedy))
    tasks.append(await place.send("a", greedy))
    let other = await place.send("b", Somebody("a", "2"))
    place.gates["b"]?.open()
    #expect(await other.value == nil)
    #expect(place.begun == ["a", "b"])
    place.gates["a"]?.open()
    for task in tasks { #expect(await task.value == nil) }
  }

  @Test @EventLoop func `work that waits too long is dropped`() async throws {
    let place = Place(threads: 1, waiting: 1)
    let running = await place.send("running", nil)
    #expect(await place.ask("late", nil, until: 0).value == .late)
    let waiting = await place.send("waiting", nil)
    #expect(await place.ask("more", nil).value == .full)
    for gate in place.gates.values { gate.open() }
    #expect(await running.value == nil)
    #expect(await waiting.value == nil)
    #expect(place.begun == ["running", "waiting"])
  }
}

/// A pool with jobs that each wait at the gate of their name.
@EventLoop private final class Place {
  let pool: FairPool
  private(set) var gates: [String: ThreadGate] = [:]
  private let list = NameList()
  var begun: [String] { list.names.withLock { $0 } }

  private final class NameList: Sendable { let names = Mutex<[String]>([]) }

  init(threads: Int, waiting: Int) {
    pool = FairPool(name: "test", threads: threads, waiting: waiting, patience: .zero)
  }

  /// Submits a job, and returns the reason for its refusal, or nil if it has run.
  func ask(
    _ name: String, _ owner: Somebody?, until latest: UInt64 = .max
  ) -> Task<FairQueueError?, Never> {
    let gate = gates[name] ?? ThreadGate()
    gates[name] = gate
    return EventLoop.task { [pool, list] in
      do throws(FairQueueError) {
        try await pool.run(for: owner, until: latest) {
          list.names.withLock { $0.append(name) }
          gate.wait()
        }
        return nil
      } catch {
        return error
      }
    }
  }

  /// Submits a job, and returns once the pool has queued or started it.
  ///
  /// Call it before the first gate is opened.
  func send(_ name: String, _ owner: Somebody?) async -> Task<FairQueueError?, Never> {
    let before = pool.load
    let task = ask(name, owner)
    while pool.load == before || begun.count < pool.running {
      await EventLoop.sleep(for: .milliseconds(1))
    }
    return task
  }
}

@EventLoop private final class Somebody: JobOwner {
  let group: Int
  let member: Int?
  var isGone = false

  init(_ group: String, _ member: String?) {
    self.group = group.hashValue
    self.member = member.map(\.hashValue)
  }
}
