import Outbound
import Testing

@Suite struct CircuitBreakerTests {
  private static let second: UInt64 = 1_000_000_000

  @Test func `it opens after successive failures, for pauses that double up to a limit`() {
    var breaker = CircuitBreaker(after: 2, pauses: .seconds(4)...(.seconds(10)))
    breaker.fail(at: Self.second)
    #expect(breaker.isClosed && breaker.rest(at: Self.second) == .zero)
    breaker.succeed()
    breaker.fail(at: Self.second)
    #expect(breaker.isClosed)
    var now = Self.second
    for pause in [4, 8, 10, 10] {
      breaker.fail(at: now)
      #expect(!breaker.isClosed && breaker.rest(at: now) == .seconds(pause))
      // Calls that began before the pause count once.
      breaker.fail(at: now + 1)
      #expect(breaker.rest(at: now) == .seconds(pause))
      now += UInt64(pause) * Self.second
      #expect(breaker.rest(at: now) == .zero && !breaker.isClosed)
    }
    for _ in 0..<100 {
      breaker.fail(at: now)
      now += 10 * Self.second
    }
    breaker.succeed()
    #expect(breaker.isClosed)
  }

  @Test func `one caller opens none, and several do`() {
    var breaker = CallerCircuitBreaker(after: 3, pause: .seconds(30))
    for _ in 0..<100 { breaker.fail(for: [1], at: Self.second) }
    breaker.fail(for: [2], at: Self.second)
    #expect(breaker.rest(at: Self.second) == .zero)
    breaker.succeed()
    for caller in [3, 4] as [UInt8] { breaker.fail(for: [caller], at: Self.second) }
    #expect(breaker.rest(at: Self.second) == .zero)
    breaker.fail(for: [5], at: Self.second)
    #expect(breaker.rest(at: Self.second) == .seconds(30))
    // After the pause, one caller does not open it again; nor do calls that began before.
    breaker.fail(for: [6], at: 2 * Self.second)
    breaker.fail(for: [7], at: 3 * Self.second)
    for _ in 0..<100 { breaker.fail(for: [1], at: 31 * Self.second) }
    #expect(breaker.rest(at: 31 * Self.second) == .zero)
    for caller in [2, 3] as [UInt8] { breaker.fail(for: [caller], at: 31 * Self.second) }
    #expect(breaker.rest(at: 31 * Self.second) == .seconds(30))
    breaker.succeed()
    #expect(breaker.rest(at: 31 * Self.second) == .zero)
  }
}
