import EventLoop
import HTTP
import Postgres
import TestSupport
import Testing

/// Tests that one kind of request does not wait for another.
@Suite(.fewAtOnce) struct LaneTests {
  init() { LoopThread.start() }

  /// Runs in a separate world whose exports wait.
  @Test @EventLoop func `a picture is served while a user's exports wait`()
    async throws
  {
    let world = try await TestService()
    let cast = try await world.cast()
    var upload = cast.asUser(.put, "/v1/me/picture")
    upload.body = Scenario.pixel
    upload.fields[.contentType] = MediaType.png.rawValue
    let path = try await cast.expect(200, upload).string("picture")
    // Every export reads this table, and no picture does.
    let holder = try await world.hold("mail_tokens")
    let exports = (0..<3).map { _ in
      EventLoop.task { await cast.ask(cast.asUser(.get, "/v1/me/export")) }
    }
    while world.load.large < 1 || world.load.largeWaiting < 2 {
      await EventLoop.sleep(for: .milliseconds(1))
    }
    try await cast.expect(200, cast.question(.get, path))
    // The exports still wait.
    #expect(world.load.large == 1 && world.load.largeWaiting == 2)
    holder.close()
    for export in exports { #expect(await export.value.status == 200) }
  }
}
