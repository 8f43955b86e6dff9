import EventLoop
import PasswordHashes
import TestSupport
import Testing

@testable import Runtime

@Suite struct PasswordHasherTests {
  init() { LoopThread.start() }

  private static let cheap = HashingCost(memory: 8, passes: 1)
  private static let password = "correct horse"
  private static let bcrypt = "$2b$04$jdo.7pNsSWmEbYpt9OpJzedxIp9mB.BijaBmcMBdCFPnKMLbaRcvm"
  private static let ofBcrypt = String(repeating: "x", count: 72)

  @EventLoop private func hasher() -> PasswordHasher {
    PasswordHasher(
      pool: FairPool(name: "test", threads: 1, waiting: 8, patience: .seconds(600)),
      cost: Self.cheap
    )
  }

  private func hash(_ password: String, at cost: HashingCost = cheap) throws -> String {
    try #require(cost.hash(password))
  }

  @Test func `two hashes of one password have different salts`() throws {
    #expect(try hash(Self.password) != hash(Self.password))
  }

  @Test(arguments: [nil, "*", "own"])
  func `a wrong password costs one hash, also without a stored one`(kind: String?) async throws {
    let stored = kind == "own" ? try hash("another") : kind
    let check = try await check(Self.password, stored)
    #expect(!check.isRight && check.renewed == nil && check.hashes == 1)
  }

  @Test func `a correct password costs one hash`() async throws {
    let check = try await check(Self.password, hash(Self.password))
    #expect(check.isRight && check.renewed == nil && check.hashes == 1)
  }

  @Test func `an outdated hash is verified and replaced`() async throws {
    let others = [
      (Self.ofBcrypt, Self.bcrypt),
      (Self.password, try hash(Self.password, at: HashingCost(memory: 16, passes: 1))),
    ]
    for (password, stored) in others {
      let right = try await check(password, stored)
      let renewed = try PasswordHash(try #require(right.renewed))
      #expect(right.isRight && renewed.isMade(at: Self.cheap) && renewed.isRight(password))
      let wrong = try await check("wrong horse", stored)
      #expect(!wrong.isRight && wrong.renewed == nil && wrong.hashes == right.hashes)
    }
  }

  @Test func `all bytes of a password count`() async throws {
    let made = try hash(Self.password)
    for wrong in ["", "correct hors", "correct horse ", "Correct horse"] {
      #expect(try await !check(wrong, made).isRight)
    }
  }

  private static let composed = "P\u{e4}ssw\u{f6}rd \u{212b}"
  private static let decomposed = "Pa\u{308}sswo\u{308}rd\u{a0}A\u{30a}"

  @Test(arguments: [(composed, decomposed), (decomposed, composed)])
  func `a password is the same in each of its forms`(_ chosen: String, _ typed: String)
    async throws
  {
    let made = try await hasher().hash(chosen, for: nil)
    for form in [chosen, typed] {
      let check = try await check(form, made)
      #expect(check.isRight && check.renewed == nil)
      #expect(try await hasher().verify(form, against: made, for: nil))
    }
    #expect(try await !check("Password A", made).isRight)
  }

  /// As other programs hash, and as stored hashes may be.
  @Test(arguments: [cheap, HashingCost(memory: 16, passes: 1)])
  func `a hash of the typed form is verified once, and then replaced`(_ cost: HashingCost)
    async throws
  {
    let stored = try hash(Self.decomposed, at: cost)
    #expect(try await hasher().verify(Self.decomposed, against: stored, for: nil))
    let first = try await check(Self.decomposed, stored)
    #expect(first.isRight)
    let renewed = try #require(first.renewed)
    for form in [Self.composed, Self.decomposed] {
      let next = try await check(form, renewed)
      #expect(next.isRight && next.renewed == nil)
    }
  }

  @Test func `a wrong password in two forms costs two hashes, also without a stored one`()
    async throws
  {
    let stored = try hash("another")
    for hash in [nil, "*", stored] {
      let check = try await check(Self.decomposed, hash)
      #expect(!check.isRight && check.renewed == nil && check.hashes == 2)
    }
  }

  private struct Outcome: Sendable {
    let isRight: Bool
    let renewed: String?
    let hashes: Int
  }

  @EventLoop private func check(_ password: String, _ stored: String?) async throws -> Outcome {
    let hasher = hasher()
    let check = try await hasher.check(password, against: stored, for: nil)
    return Outcome(isRight: check.isRight, renewed: check.renewed, hashes: hasher.hashes)
  }
}
