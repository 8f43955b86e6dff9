import EventLoop
import TestSupport
import Testing

@testable import Dossier

@Suite struct PasswordHasherTests {
  init() { LoopThread.start() }

  private static let cheap = HashingCost(memory: 8, passes: 1)
  private static let salt = PasswordSalt(bytes: Array(1...16))
  private static let password = "correct horse"
  /// Of `password`, by bcrypt and by another recipe of Argon2id.
  private static let foreign = [
    "$2b$04$jdo.7pNsSWmEbYpt9OpJzedxIp9mB.BijaBmcMBdCFPnKMLbaRcvm",
    HashingCost(memory: 16, passes: 1).hash(password, salt) ?? "",
  ]

  @EventLoop private func hasher() -> PasswordHasher {
    PasswordHasher(
      pool: FairPool(name: "test", threads: 1, waiting: 8, patience: .seconds(600)),
      cost: Self.cheap
    )
  }

  private func hash(_ password: String) throws -> String {
    try #require(Self.cheap.hash(password, Self.salt))
  }

  @Test(arguments: [0, 1, 2, 64, 128])
  func `however many hashes there are, one is computed`(count: Int) async throws {
    let stored = try (0..<count).map { try hash("another \($0)") }
    let wrong = try await match(Self.password, stored)
    #expect(wrong.index == nil && !wrong.isOutdated && wrong.hashes == 1)
    let made = try hash(Self.password)
    #expect(wrong.hash == made)
    let right = try await match(Self.password, stored + [made])
    #expect(right.index == count && !right.isOutdated && right.hashes == 1)
    // Of several that have the password it is the first.
    let both = try await match(Self.password, [made] + stored + [made])
    #expect(both.index == 0 && both.hashes == 1)
  }

  @Test func `what was made otherwise is computed besides, each kind of it once`() async throws {
    let old = HashingCost(memory: 16, passes: 1)
    let others = try (0..<20).map { try #require(old.hash("another \($0)", Self.salt)) }
    let none = try await match(Self.password, others)
    #expect(none.index == nil && none.hashes == 2)
    let mixed = ["*", Self.foreign[0]] + others + [Self.foreign[1]]
    let found = try await match(Self.password, mixed)
    #expect(found.index == 22 && found.isOutdated && found.hashes == 3)
    #expect(try await match(Self.password, [Self.foreign[1]]).isOutdated)
  }

  @Test func `no more than eight kinds are computed`() async throws {
    let others = try (0..<20).map { index in
      try #require(Self.cheap.hash("x", PasswordSalt(bytes: [UInt8](repeating: index, count: 16))))
    }
    #expect(try await match(Self.password, others).hashes == 9)
  }

  @Test func `a hash is told by a password that is compared whole`() async throws {
    let made = try hash(Self.password)
    for wrong in ["", "correct hors", "correct horse ", "Correct horse"] {
      #expect(try await match(wrong, [made]).index == nil)
    }
  }

  private struct Outcome: Sendable {
    let index: Int?
    let hash: String
    let isOutdated: Bool
    let hashes: Int
  }

  @EventLoop private func match(
    _ password: String,
    _ stored: [String]
  ) async throws -> Outcome {
    let hasher = hasher()
    let match = try await hasher.match(password, Self.salt, among: stored, for: nil)
    return Outcome(
      index: match.index,
      hash: match.hash,
      isOutdated: match.isOutdated,
      hashes: hasher.hashes
    )
  }
}
