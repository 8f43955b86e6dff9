import EventLoop
import JSON
import Postgres
import TestSupport
import Testing
import WebTokens

@testable import Runtime
@testable import Sessions
@testable import Tenancy

/// Tests the signing keys of an app on several workers, with clocks that the tests set.
@Suite struct KeyringTests {
  init() { LoopThread.start() }

  /// The keys and tokens of a worker, with its own clocks.
  @EventLoop private final class Worker {
    let database: Database
    let connection: Connection
    let app: AppID
    let keys: Keyring
    let tokens: AccessTokens
    private let clock: Clock

    @EventLoop private final class Clock {
      var nanoseconds: UInt64 = 1_000_000_000_000
      var seconds = 1_800_000_000
    }

    init(_ name: String, master: UInt8 = 7) async throws {
      connection = try await Connection.open(.patient(name))
      let found = try await connection.query("select app_id from apps where name = 'default'")
      app = AppID(trusted: found.rows[0][0] ?? "")
      let database = Database(.patient(name))
      database.start()
      self.database = database
      let clock = Clock()
      self.clock = clock
      keys = Keyring(
        master: MasterKey(Array(repeating: master, count: 32)), database: database,
        clock: { clock.nanoseconds }
      )
      tokens = AccessTokens(keys: keys, issuer: "https://test.example") { clock.seconds }
    }

    func stop() {
      database.stop()
      connection.close()
    }

    func pass(_ seconds: Int) {
      clock.nanoseconds += UInt64(seconds) * 1_000_000_000
      clock.seconds += seconds
    }

    func token(_ principal: Principal? = nil) async throws -> String {
      try await tokens.token(of: principal ?? self.principal(), lifetime: .seconds(1_800))
    }

    func principal() -> Principal {
      Principal(UserID(), SessionID(), DeviceID(), in: app, scopes: .user)
    }

    /// Returns the error for a token, or nil if it is valid.
    func refusal(of token: String, app: AppID? = nil) async -> String? {
      do throws(Failure) {
        _ = try await tokens.principal(of: token, app: app ?? self.app)
        return nil
      } catch {
        return "\(error)"
      }
    }

    /// Rotates the keys, as an operator would have done some seconds ago.
    func rotate(_ purpose: KeyPurpose = .native, secondsAgo: Int) async throws {
      let key = try NewSigningKey(for: purpose, of: app, keys.master)
      _ = try await database.write(SigningKeyQueries.retire, app, purpose, .seconds(86_400))
      _ = try await database.answer(to: KeyringQueries.create(key, of: app), on: .exclusive)
      _ = try await connection.query(
        "update signing_keys set created_at = created_at - $1 * interval '1 second'",
        ["\(secondsAgo)"]
      )
    }
  }

  @EventLoop private func workers(_ count: Int) async throws -> [Worker] {
    let name = try await TestCluster.shared.createMigratedDatabase()
    var workers: [Worker] = []
    for _ in 0..<count { workers.append(try await Worker(name)) }
    return workers
  }

  @Test @EventLoop func `workers that start together agree on one key`() async throws {
    let workers = try await workers(4)
    defer { for worker in workers { worker.stop() } }
    let tasks = workers.map { worker in
      EventLoop.task { try? await worker.keys.signer(for: worker.app, .native).id }
    }
    var found: Set<String?> = []
    for task in tasks { found.insert(await task.value) }
    #expect(found.count == 1 && !found.contains(nil))
    let token = try await workers[0].token()
    for worker in workers { #expect(await worker.refusal(of: token) == nil) }
  }

  @Test @EventLoop func `a native token is for this server`() async throws {
    let worker = try await workers(1)[0]
    defer { worker.stop() }
    var claims = try #require(SignedToken(try await worker.token())?.claims)
    #expect(claims["aud"]?.string == "https://test.example")
    let signer = try await worker.keys.signer(for: worker.app, .native)
    for (audience, isGood) in [
      ("https://test.example", true), ("https://other", false), ("", false),
      (["https://test.example"], false), (.null, false),
    ] as [(JSON, Bool)] {
      claims["aud"] = audience
      let token = try signer.token(claims.serialized())
      #expect((await worker.refusal(of: token) == nil) == isGood, "\(audience.text)")
    }
  }

  @Test @EventLoop func `a token of a client is for the API of v1 or for another`() async throws {
    let worker = try await workers(1)[0]
    defer { worker.stop() }
    var claims = try #require(SignedToken(try await worker.token())?.claims)
    claims["client_id"] = "client"
    claims["iss"] = "https://one.example/"
    let signer = try await worker.keys.signer(for: worker.app, .openID)
    for (audience, isGood) in [
      ("https://one.example/", true), ("https://one.example", true), ("https://test.example", true),
      (["https://other", "https://one.example/"], true), (["https://one.example/userinfo"], false),
      ("https://two.example/", false), ("https://one.example//", false), ("", false), ([], false),
      ("/", false),
    ] as [(JSON, Bool)] {
      claims["aud"] = audience
      let token = try signer.token(claims.serialized(), as: .access)
      // The second time, the token is known.
      for _ in 0..<2 {
        #expect((await worker.refusal(of: token) == nil) == isGood, "\(audience.text)")
      }
    }
  }

  @Test @EventLoop func `a rotation ends no session on any worker`() async throws {
    let workers = try await workers(2)
    let (first, second) = (workers[0], workers[1])
    defer { for worker in workers { worker.stop() } }
    let old = try await first.token()
    let oldKey = try await first.keys.signer(for: first.app, .native).id
    #expect(await second.refusal(of: old) == nil)
    // The key is half a minute old, so it signs from now on.
    try await first.rotate(secondsAgo: 31)
    // Neither worker has read the keys since, so both still sign with the old one.
    #expect(try await first.keys.signer(for: first.app, .native).id == oldKey)
    // One worker was idle for so long that it reads the keys before it signs. The other has not read.
    first.pass(41)
    let newKey = try await first.keys.signer(for: first.app, .native).id
    #expect(newKey != oldKey)
    let new = try await first.token()
    #expect(await second.refusal(of: new) == nil)
    for worker in workers { #expect(await worker.refusal(of: old) == nil) }
    #expect(try await second.keys.signer(for: second.app, .native).id == newKey)
  }

  @Test(arguments: KeyPurpose.allCases)
  @EventLoop func `a removed current key is replaced once, by the first worker`(
    purpose: KeyPurpose
  ) async throws {
    let workers = try await workers(2)
    let worker = workers[0]
    defer { for worker in workers { worker.stop() } }
    let tasks = workers.map { worker in
      EventLoop.task { try? await worker.keys.signer(for: worker.app, purpose).id }
    }
    var found: Set<String?> = []
    for task in tasks { found.insert(await task.value) }
    #expect(found.count == 1 && !found.contains(nil))
    try await worker.rotate(purpose, secondsAgo: 31)
    _ = try await worker.connection.script("delete from signing_keys where retires_at is null")
    for worker in workers {
      worker.pass(41)
      _ = try await worker.keys.signer(for: worker.app, purpose)
    }
    let left = try await worker.connection.query(
      "select count(*) from signing_keys where retires_at is null"
    )
    #expect(left.rows[0][0] == "1")
    // The previous key still signs while the new one is too young.
    let signer = try await worker.keys.signer(for: worker.app, purpose).id
    #expect(found == [signer])
  }

  @Test @EventLoop func `a worker finds the key that another worker has just created`()
    async throws
  {
    let workers = try await workers(2)
    let (first, second) = (workers[0], workers[1])
    defer { for worker in workers { worker.stop() } }
    // Both have just read the keys.
    _ = try await first.token()
    _ = try await second.token()
    let signer = try await first.keys.signer(for: first.app, .openID)
    #expect(try await second.keys.verifier(keyID: signer.id, app: second.app) != nil)
    #expect(try await second.keys.verifier(keyID: "unknown", app: second.app) == nil)
  }

  @Test @EventLoop func `a retired key verifies no token`() async throws {
    let workers = try await workers(2)
    let (first, second) = (workers[0], workers[1])
    defer { for worker in workers { worker.stop() } }
    let old = try await first.token()
    try await first.rotate(secondsAgo: 31)
    _ = try await first.connection.script(
      "update signing_keys set retires_at = now() where retires_at is not null"
    )
    #expect(await second.refusal(of: old) == "\(Failure.tokenInvalid)")
  }

  @Test(arguments: [21, 41])
  @EventLoop func `the tokens of a removed key are refused`(seconds: Int) async throws {
    let workers = try await workers(1)
    let worker = workers[0]
    defer { worker.stop() }
    let old = try await worker.token()
    #expect(await worker.refusal(of: old) == nil)
    _ = try await worker.connection.script("delete from signing_keys")
    #expect(await worker.refusal(of: old) == nil)
    worker.pass(seconds)
    // After a long pause, the token waits for a read of the keys. Otherwise the read runs meanwhile.
    if seconds < 40 {
      while await worker.refusal(of: old) == nil { await Task.yield() }
    }
    #expect(await worker.refusal(of: old) == "\(Failure.tokenInvalid)")
  }

  @Test @EventLoop func `keys that another master key encrypted are useless`() async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let (right, wrong) = (try await Worker(name), try await Worker(name, master: 8))
    defer { for worker in [right, wrong] { worker.stop() } }
    let token = try await right.token()
    await #expect(throws: Failure.self) { try await wrong.token() }
    #expect(await wrong.refusal(of: token) != nil)
  }

  // MARK: Tokens

  @Test @EventLoop func `a valid token is refused after it expires`() async throws {
    let worker = try await workers(1)[0]
    defer { worker.stop() }
    let token = try await worker.token()
    #expect(await worker.refusal(of: token) == nil)
    worker.pass(1_799)
    #expect(await worker.refusal(of: token) == nil)
    worker.pass(1)
    #expect(await worker.refusal(of: token) == "\(Failure.tokenExpired)")
  }

  @Test @EventLoop func `a cached token works for its app only, without the database`()
    async throws
  {
    let worker = try await workers(1)[0]
    let principal = worker.principal()
    let token = try await worker.token(principal)
    #expect(await worker.refusal(of: token) == nil)
    worker.stop()
    let again = try await worker.tokens.principal(of: token, app: worker.app)
    #expect(again.user == principal.user && again.session == principal.session)
    #expect(again.device == principal.device && again.scopes == principal.scopes)
    #expect(await worker.refusal(of: token, app: AppID()) == "\(Failure.tokenInvalid)")
  }

  @Test @EventLoop func `a changed token is refused, even if the original is cached`()
    async throws
  {
    let worker = try await workers(1)[0]
    defer { worker.stop() }
    let token = try await worker.token()
    #expect(await worker.refusal(of: token) == nil)
    // Flips one bit of each byte, with and without leaving the alphabet.
    for index in token.utf8.indices {
      var bytes = Array(token.utf8)
      bytes[token.utf8.distance(from: token.startIndex, to: index)] ^= 1
      let changed = String(decoding: bytes, as: UTF8.self)
      #expect(await worker.refusal(of: changed) == "\(Failure.tokenInvalid)")
    }
    for text in ["", ".", "..", token + "=", token + ".", String(token.dropLast())] {
      #expect(await worker.refusal(of: text) == "\(Failure.tokenInvalid)", "\(text)")
    }
  }

  @Test @EventLoop func `the cache is bounded, and keeps tokens in use`() {
    let size = 100
    var cache = TokenCache(generationSize: size)
    let master = MasterKey(Array(repeating: 7, count: 32))
    let keys = Keyring(master: master, database: Database(.patient("unused"))).keys(of: AppID())
    let principal = Principal(.operator, in: keys.app, scopes: .user)
    func isRemembered(_ token: String) -> Bool { cache[token.utf8.span] != nil }
    for index in 0..<size * 10 {
      let token = Array("\(index)".utf8)
      cache.insert(TokenCache.Entry(token: token, principal: principal, expires: 1, keys: keys))
      // This token is in constant use.
      #expect(isRemembered("0"))
      #expect(cache.count <= 2 * size)
    }
    #expect(!isRemembered("1") && isRemembered("\(size * 10 - 1)"))
  }
}
