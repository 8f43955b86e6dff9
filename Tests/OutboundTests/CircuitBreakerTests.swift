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
}
