import Testing

@testable import Tenancy

@Suite struct UnknownKeyFetchTests {
  private let forger: [UInt8] = [203, 0, 113, 1]
  private let user: [UInt8] = [192, 0, 2, 1]
  private let start: UInt64 = 1_000_000_000_000

  /// Returns a time some seconds after the start.
  private func time(_ seconds: Double) -> UInt64 { start + UInt64(seconds * 1e9) }

  @Test func `a forged token postpones the fetch for a right one by two seconds at most`() {
    var fetches = UnknownKeyFetches()
    let isForged = fetches.begin(for: forger, after: 0, at: time(0))
    #expect(isForged)
    let isEarly = fetches.begin(for: user, after: time(0.1), at: time(1))
    #expect(!isEarly)
    let isFetched = fetches.begin(for: user, after: time(0.1), at: time(2.1))
    #expect(isFetched)
  }

  @Test func `a network causes one fetch in half a minute, unless its token is right`() {
    var fetches = UnknownKeyFetches()
    let causes = (0..<60).filter { fetches.begin(for: forger, after: 0, at: time(Double($0))) }
    #expect(causes == [0, 30])
    fetches.giveBack(forger)
    let isFetched = fetches.begin(for: forger, after: 0, at: time(60))
    #expect(isFetched)
  }

  @Test func `a thousand networks cause one fetch in two seconds`() {
    var fetches = UnknownKeyFetches()
    var last: UInt64 = 0
    let causes = (0..<6_000).filter { number in
      let now = time(Double(number) / 100)
      guard fetches.begin(for: [UInt8(number % 250), UInt8(number / 250)], after: last, at: now)
      else { return false }
      last = now
      return true
    }
    #expect(causes == Array(stride(from: 0, to: 6_000, by: 200)))
  }
}
