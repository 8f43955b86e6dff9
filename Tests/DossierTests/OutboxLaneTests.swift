import EventLoop
import Runtime
import TestSupport
import Testing

@testable import Delivery

/// Tests which row of the outbox is delivered next.
@Suite struct OutboxLaneTests {
  init() { LoopThread.start() }

  private static let (first, second) = (AppID(), AppID())

  @EventLoop private func lane(_ all: Int, _ app: Int, _ receiver: Int) -> OutboxLane {
    OutboxLane(hasReceivers: true, .init(ofAll: all, ofApp: app, ofReceiver: receiver))
  }

  @EventLoop private func rows(_ count: Int, of app: AppID, to receiver: String?) -> [QueuedRow] {
    (0..<count).map { _ in QueuedRow(MailID(), of: app, to: receiver) }
  }

  @EventLoop private func take(_ lane: OutboxLane) -> [QueuedRow] {
    var taken: [QueuedRow] = []
    while let row = lane.take() { taken.append(row) }
    return taken
  }

  @Test @EventLoop func `apps and receivers take turns, and none takes all places`() {
    let lane = lane(8, 5, 3)
    for row in rows(50, of: Self.first, to: "a") { lane.add(row) }
    for row in rows(1, of: Self.first, to: "b") { lane.add(row) }
    for row in rows(1, of: Self.second, to: "c") { lane.add(row) }
    let taken = take(lane)
    #expect(taken.prefix(3).map(\.receiver).contains("b"))
    #expect(taken.prefix(2).map(\.app).contains(Self.second))
    #expect(taken.count == 5 && taken.count { $0.receiver == "a" } == 3)
    // The receiver has its places, so a page leaves it out.
    #expect(lane.leftOut.apps == [] && lane.leftOut.receivers == ["a"])
    for row in rows(3, of: Self.first, to: "d") { lane.add(row) }
    #expect(take(lane).map(\.receiver) == ["d"])
    #expect(lane.leftOut.apps == [Self.first])
    for row in taken { lane.free(row) }
    #expect(take(lane).count { $0.app == Self.first } == 4)
  }

  @Test @EventLoop func `a receiver that fails is left alone, and then tried once`() throws {
    let lane = lane(8, 8, 4)
    for row in rows(20, of: Self.first, to: "a") { lane.add(row) }
    let taken = take(lane)
    #expect(taken.count == 4)
    for row in taken {
      lane.fail(row)
      lane.free(row)
    }
    #expect(lane.count == 0 && lane.taken == 0)
    #expect(lane.leftOut.receivers == ["a"])
    let row = try #require(rows(1, of: Self.first, to: "a").first)
    lane.add(row)
    #expect(lane.take() == nil)
    // Another app's receiver of that name is not known to fail.
    for row in rows(1, of: Self.second, to: "a") { lane.add(row) }
    #expect(take(lane).map(\.app) == [Self.second])
    lane.succeed(row)
    lane.add(row)
    #expect(lane.take()?.receiver == "a")
  }

  @Test @EventLoop func `a full memory forgets rows of the app and receiver with the most`() {
    let lane = lane(1_000, 1_000, 1_000)
    for row in rows(500, of: Self.first, to: "a") { lane.add(row) }
    for row in rows(10, of: Self.first, to: "b") { lane.add(row) }
    #expect(lane.count == 100)
    for _ in 0..<40 { for row in rows(60, of: AppID(), to: "c") { lane.add(row) } }
    for row in rows(5, of: Self.second, to: "d") { lane.add(row) }
    #expect(lane.count == 2_000)
    let taken = take(lane)
    #expect(taken.count { $0.receiver == "b" } == 10)
    #expect(taken.count { $0.app == Self.second } == 5)
  }
}
