import Encoding
import EventLoop
import JSON
import Postgres
import TestSupport
import Testing

@testable import Runtime

/// Tests that both master keys can be used until the new one encrypts all secrets.
@Suite struct ReencryptionTests {
  init() { LoopThread.start() }

  private static let old = Array(repeating: UInt8(7), count: 32)
  private static let new = Array(repeating: UInt8(8), count: 32)

  @Test func `an interrupted change of the master key leaves both keys usable`() async throws {
    try await change(on: try await TestCluster.shared.createMigratedDatabase())
  }

  @EventLoop private func change(on name: String) async throws {
    let connection = try await Connection.open(.patient(name))
    defer { connection.close() }
    let database = Database(.patient(name))
    database.start()
    defer { database.stop() }
    let (before, after) = (MasterKey(Self.old), MasterKey([Self.new, Self.old]))
    try await add(before.checks[0], connection)
    // More than a page, and the last one is lost.
    for number in 1...600 {
      let digits = "\(number)"
      let id = String(repeating: "0", count: 24 - digits.count) + digits
      let sealed =
        number == 600 ? Array("lost".utf8) : try before.sealed([1, 2, 3], as: "mail \(id)")
      _ = try await connection.query(
        """
        insert into mail_outbox (mail_id, app_id, kind, sealed, expires_at)
        select $1, app_id, 'code', $2::bytea, now() + interval '1 hour' from apps
        where name = 'default'
        """,
        [id, "\\x" + String(hexadecimal: sealed)]
      )
    }
    let context = RequestContext(
      Dependencies(
        database: database, keys: Keyring(master: after, database: database),
        calculator: FairPool(name: "reencrypt", threads: 1, waiting: 1, patience: .seconds(600)),
        services: []
      ),
      principal: Principal(.operator, in: .deployment, scopes: .everything)
    )
    await #expect(throws: Failure.self) {
      try await MasterKeys.reencrypt(discardingLost: false, context)
    }
    let kept = try await connection.query("select 1 from master_keys", []).rows
    #expect(kept.count == 2)
    let rows = try await connection.query("select mail_id, sealed from mail_outbox", []).rows
    let opened = rows.filter { row in
      let sealed = row[1].flatMap { [UInt8](hexadecimal: $0.utf8.dropFirst(2)) } ?? []
      return MasterKey(Self.new).opened(sealed, as: "mail \(row[0] ?? "")") == [1, 2, 3]
    }
    #expect(opened.count == 599)
    let result = try await MasterKeys.reencrypt(discardingLost: true, context)
    #expect(result["reencrypted"]?.number?.int == 0)
    #expect(result["discarded"]?.array?.count == 1)
    let left = try await connection.query("select check_value from master_keys", []).rows
    #expect(left.map { $0[0] } == ["\\x" + String(hexadecimal: after.checks[0])])
  }

  @EventLoop private func add(_ check: [UInt8], _ connection: Connection) async throws {
    _ = try await connection.query(
      "insert into master_keys (check_value) values ($1::bytea)",
      ["\\x" + String(hexadecimal: check)]
    )
  }
}
