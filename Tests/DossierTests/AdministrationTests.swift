import PasswordHashes
import Testing

@testable import Runtime

@Suite struct AdministrationTests {
  @Test(arguments: ["a", "0", "a-b-9", String(repeating: "a", count: 63)])
  func `a valid name of an app or issuer is accepted`(name: String) {
    #expect(OperatorName.fault(in: name) == nil)
  }

  @Test(arguments: ["", "-a", "A", "a_b", "a b", "ä", "a/b", String(repeating: "a", count: 64)])
  func `an invalid name of an app or issuer is refused`(name: String) {
    #expect(OperatorName.fault(in: name)?.code == "name")
  }

  @Test func `a hash shows its cost, and a calibrated cost is at least the minimum`() {
    let cost = HashingCost(memory: 20_480, passes: 3)
    let hash = cost.hash("correct horse") ?? ""
    #expect(hash.hasPrefix("$argon2id$v=19$m=20480,t=3,p=1$"))
    #expect((try? PasswordHash(hash))?.isMade(at: cost) == true)
    let quick = HashingCost.calibrated(for: .microseconds(1), memoryLimit: 1)
    #expect(quick == .least)
    let more = HashingCost.calibrated(for: .milliseconds(150), memoryLimit: 24_576)
    #expect(more.memory <= 24_576 && more.memory >= 19_456 && more.passes >= 2)
  }
}
