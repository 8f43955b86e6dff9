import EventLoop
import TestSupport
import Testing

/// Tests when a cache loads, with a clock that the tests set.
@Suite struct CacheLoaderTests {
  init() { LoopThread.start() }

  private struct Refused: Error {}

  /// A cache of entries that exist elsewhere.
  @EventLoop private final class Cache {
    var existing: Set<String> = []
    private(set) var known: Set<String> = []
    private(set) var loads = 0
    var seconds: UInt64 = 100
    var fails = false
    private(set) lazy var loader = makeLoader()

    private func makeLoader() -> CacheLoader<Refused> {
      CacheLoader(
        age: .seconds(10), clock: { [unowned self] in seconds * 1_000_000_000 },
        { [unowned self] () async throws(Refused) in try await load() }
      )
    }

    private func load() async throws(Refused) {
      loads += 1
      let found = existing
      await Task.yield()
      if fails { throw Refused() }
      known = found
    }

    func find(_ name: String) async throws -> String? {
      try await loader.find { known.contains(name) ? name : nil }
    }
  }

  @Test @EventLoop func `an entry created just before the call is found`() async throws {
    let cache = Cache()
    #expect(try await cache.find("a") == nil)
    #expect(cache.loads == 1)
    // This load misses entries that are created during it.
    let load = EventLoop.task { try? await cache.loader.reload() }
    while cache.loads < 2 { await Task.yield() }
    cache.existing.insert("a")
    #expect(try await cache.find("a") == "a")
    await load.value
    #expect(cache.loads == 3)
    #expect(try await cache.find("a") == "a")
    #expect(cache.loads == 3)
  }

  @Test @EventLoop func `concurrent callers share a load`() async throws {
    let cache = Cache()
    cache.existing = ["a"]
    let found = (0..<5).map { _ in EventLoop.task { try? await cache.find("a") } }
    for task in found { #expect(await task.value == "a") }
    #expect(cache.loads == 1)
  }

  @Test @EventLoop func `an old cache loads in the background, and a very old one before requests`()
    async throws
  {
    let cache = Cache()
    #expect(!cache.loader.isFresh())
    try await cache.loader.freshen()
    #expect(cache.loader.isFresh() && cache.loads == 1)
    cache.seconds += 10
    #expect(cache.loader.isFresh() && cache.loads == 1)
    cache.seconds += 1
    #expect(cache.loader.isFresh())
    while cache.loads < 2 { await Task.yield() }
    try await cache.loader.reload()
    let loads = cache.loads
    cache.seconds += 21
    #expect(!cache.loader.isFresh() && cache.loads == loads)
    try await cache.loader.freshen()
    #expect(cache.loader.isFresh() && cache.loads == loads + 1)
  }

  @Test @EventLoop func `a failed load keeps the old entries`() async throws {
    let cache = Cache()
    cache.fails = true
    await #expect(throws: Refused.self) { try await cache.loader.freshen() }
    cache.fails = false
    cache.existing = ["a"]
    try await cache.loader.freshen()
    cache.fails = true
    cache.seconds += 21
    try await cache.loader.freshen()
    #expect(try await cache.find("a") == "a")
    // It may exist.
    await #expect(throws: Refused.self) { try await cache.find("b") }
  }
}
