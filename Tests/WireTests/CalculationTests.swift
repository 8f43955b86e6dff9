import EventLoop
import HTTP
import JSON
import Postgres
import TestSupport
import Testing

/// Tests the queue for costly work.
@Suite(.fewAtOnce) struct CalculationTests {
  init() { LoopThread.start() }

  /// Blocks the threads of a world.
  @EventLoop private final class Holder: JobOwner {
    let group = "holder".hashValue
    let member: Int?
    let gate = ThreadGate()
    let isGone = false

    init(_ name: String) { member = name.hashValue }

    func hold(_ pool: FairPool) -> Task<Void, Never> {
      EventLoop.task { [self, gate] in
        try? await pool.run(for: self, until: .max) { gate.wait() }
      }
    }
  }

  @EventLoop private final class Client { var isGone = false }

  @EventLoop private func wait(for load: Int, _ world: TestService) async {
    while world.calculator.load != load { await EventLoop.sleep(for: .milliseconds(1)) }
  }

  @Test @EventLoop func `an update whose client disconnected is skipped`()
    async throws
  {
    let world = try await TestService(waiting: 14)
    let cast = try await world.cast()
    let holders = [Holder("1"), Holder("2")]
    let held = holders.map { $0.hold(world.calculator) }
    let client = Client()
    var given: [Task<TestResponse, Never>] = []
    for _ in 0..<4 {
      var question = cast.asUser(
        .post, "/v1/me/custom-data/update", #"{"update":{"$inc":{"n":1}},"upsert":true}"#
      )
      question.isGone = { client.isGone }
      given.append(EventLoop.task { [question] in await world.ask(question) })
    }
    await wait(for: 6, world)
    client.isGone = true
    var other = cast.question(
      .post, "/v1/me/custom-data/update", #"{"update":{"$inc":{"n":1}},"upsert":true}"#
    )
    other.authorize(cast.stranger.access)
    let wanted = EventLoop.task { [other] in await world.ask(other) }
    await wait(for: 7, world)
    holders[0].gate.open()
    let reply = await wanted.value
    #expect(reply.status == 200, "\(reply)")
    holders[1].gate.open()
    for task in held { await task.value }
    for task in given { #expect(await task.value.status == 503) }
    let stored = await world.ask(cast.asUser(.get, "/v1/me/custom-data"))
    #expect(stored.status == 200 && stored.text == "{}", "\(stored)")
  }

  @Test @EventLoop func `a user cannot exceed its share of the queue, and others are served`()
    async throws
  {
    let world = try await TestService(waiting: 14)
    let cast = try await world.cast()
    let holders = [Holder("1"), Holder("2")]
    let held = holders.map { $0.hold(world.calculator) }
    let update = cast.asUser(.post, "/v1/me/custom-data/update", #"{"update":{"$inc":{"n":1}}}"#)
    let taken = (0..<4).map { _ in EventLoop.task { await world.ask(update) } }
    await wait(for: 6, world)
    // Other costly work counts too: a patch, and a large body.
    var patch = cast.asUser(.patch, "/v1/me/metadata", "[]")
    patch.fields[.contentType] = MediaType.jsonPatch.rawValue
    let large = cast.asUser(
      .put, "/v1/me/metadata", #"{"a":"\#(String(repeating: "x", count: 20_000))"}"#
    )
    // In this world, pictures use the same threads.
    var picture = cast.asUser(.put, "/v1/me/picture")
    picture.body = Scenario.pixel
    picture.fields[.contentType] = MediaType.png.rawValue
    for question in [update, patch, large, picture] {
      let reply = await world.ask(question)
      #expect(reply.status == 429 && reply.code == "too_many_requests", "\(reply)")
      #expect(reply[.retryAfter] != nil)
    }
    // Cheap requests are not delayed.
    #expect(await world.ask(cast.asUser(.put, "/v1/me/metadata", "{}")).status == 200)
    // An API client has its own share.
    var other = cast.question(
      .post, "/v1/users/\(cast.stranger.id)/custom-data/update", #"{"update":{"$inc":{"n":1}}}"#
    )
    other.authorize(cast.program.secret)
    let served = EventLoop.task { [other] in await world.ask(other) }
    await wait(for: 7, world)
    for holder in holders { holder.gate.open() }
    #expect(await served.value.status == 200)
    for task in taken { #expect(await task.value.status == 200) }
    for task in held { await task.value }
  }

  @Test @EventLoop func `a document that waits for validation occupies no connection`() async throws
  {
    let world = try await TestService(waiting: 100)
    let cast = try await world.cast()
    try await cast.expect(
      201, cast.asOperator(.put, "/v1/schemas/metadata", #"{"maxProperties":9}"#)
    )
    let holders = [Holder("1"), Holder("2")]
    let held = holders.map { $0.hold(world.calculator) }
    defer { for holder in holders { holder.gate.open() } }
    let replacement = cast.asUser(.put, "/v1/me/metadata", #"{"a":1}"#)
    var merge = cast.asUser(.patch, "/v1/me/metadata", #"{"b":1}"#)
    merge.fields[.contentType] = MediaType.mergePatch.rawValue
    // More requests than connections for writes.
    let questions = (0..<6).flatMap { _ in [replacement, merge] }
    let writes = questions.map { question in EventLoop.task { await world.ask(question) } }
    while world.calculator.load + world.load.exclusiveWaiting < 2 + writes.count {
      await EventLoop.sleep(for: .milliseconds(1))
    }
    try #require(world.load.exclusive == 0)
    _ = try await cast.person()
    for holder in holders { holder.gate.open() }
    for write in writes {
      let reply = await write.value
      #expect(reply.status == 200, "\(reply)")
    }
    for task in held { await task.value }
  }

  @Test @EventLoop func `concurrent merges into one document with a schema are all stored`()
    async throws
  {
    let world = try await TestService.shared.value.get()
    let cast = try await world.cast()
    try await cast.expect(
      201, cast.asOperator(.put, "/v1/schemas/metadata", #"{"maxProperties":1000}"#)
    )
    let merges = (0..<100).map { index in
      var merge = cast.asUser(.patch, "/v1/me/metadata", #"{"k\#(index)":1}"#)
      merge.fields[.contentType] = MediaType.mergePatch.rawValue
      return EventLoop.task { [merge] in await world.ask(merge) }
    }
    for merge in merges {
      let reply = await merge.value
      #expect(reply.status == 200, "\(reply)")
    }
    let stored = try await cast.expect(200, cast.asUser(.get, "/v1/me/metadata"))
    #expect(stored.json.object?.count == merges.count)
  }
}
