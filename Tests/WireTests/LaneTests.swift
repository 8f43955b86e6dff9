import EventLoop
import HTTP
import Postgres
import TestSupport
import Testing

/// Requests that do not wait for those of another kind.
@Suite(.fewAtOnce) struct LaneTests {
  init() { LoopThread.start() }

  /// In a world of its own, whose exports wait.
  @Test @EventLoop func `a picture is answered while a user's exports wait for one another`()
    async throws
  {
    let world = try await World()
    let cast = try await world.cast()
    var upload = cast.asUser(.put, "/v1/me/picture")
    upload.body = Scenario.pixel
    upload.fields[.contentType] = MediaType.png.rawValue
    let path = try await cast.expect(200, upload).string("picture")
    // No picture has to do with it, and every export has.
    let holder = try await world.hold("mail_tokens")
    let exports = (0..<3).map { _ in
      EventLoop.task { await cast.ask(cast.asUser(.get, "/v1/me/export")) }
    }
    while world.load.large < 1 || world.load.largeWaiting < 2 {
      await EventLoop.sleep(for: .milliseconds(1))
    }
    try await cast.expect(200, cast.question(.get, path))
    // And the exports wait still.
    #expect(world.load.large == 1 && world.load.largeWaiting == 2)
    holder.close()
    for export in exports { #expect(await export.value.status == 200) }
  }
}
