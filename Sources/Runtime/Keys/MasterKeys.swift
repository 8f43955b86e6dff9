import Encoding
import EventLoop
package import JSON
package import Postgres

/// The check values of the master keys that sealed secrets in the database.
package enum MasterKeys {
  /// Checks that this process can decrypt every secret in the database.
  ///
  /// It also checks that other running programs can decrypt what this one seals. The first program
  /// on a database stores the check value of its master key there. A program with a new key in
  /// front of the known ones adds that key's value.
  /// - Returns: why this master key must not be used; nil if it may.
  /// - Throws: the error of the database.
  @EventLoop package static func fault(
    of master: MasterKey, in database: Database
  ) async throws(DatabaseError) -> String? {
    let known = try await database.read(MasterKeysQueries.list)
    let own = master.checks
    if let foreign = known.first(where: { !own.contains($0.check) }) {
      return """
        the secrets in the database are encrypted with the master key \(name(foreign.check)), in use \
        since \(foreign.since), and this program has \
        \(own.map(name).joined(separator: ", ")) only
        """
    }
    if known.isEmpty, let reason = try await sealedBefore(master, database) { return reason }
    if !known.contains(where: { $0.check == own[0] }) {
      _ = try await database.write(MasterKeysQueries.add, BinaryBytes(own[0]))
    }
    return nil
  }

  /// Returns a fault if this master key did not seal keys from before check values were stored.
  @EventLoop private static func sealedBefore(
    _ master: MasterKey, _ database: Database
  ) async throws(DatabaseError) -> String? {
    for key in try await database.read(MasterKeysQueries.sealedKeys)
    where master.opened(key.sealed, as: key.name) == nil {
      return "this master key does not decrypt the signing key \(key.name) in the database"
    }
    return nil
  }

  /// Returns the name of a master key in messages: the first digits of its check value.
  package static func name(_ check: [UInt8]) -> String { String(hexadecimal: check.prefix(4)) }
}

package struct KnownMasterKey: RowDecodable {
  let check: [UInt8]
  let since: String

  package init(from row: Row) throws(DatabaseError) {
    check = try row.binary(0)
    since = try row.text(1)
  }
}

/// A secret in the database, and the name that it is bound to.
struct SealedSecret: RowDecodable {
  let name: String
  let sealed: [UInt8]

  init(from row: Row) throws(DatabaseError) {
    name = try row.text(0)
    sealed = try row.binary(1)
  }
}

package enum MasterKeysQueries {
  static let list = Statement<KnownMasterKey>(
    "master_keys.list",
    """
    select check_value, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
    from master_keys order by created_at
    """)

  static let add = Statement<NoRow, BinaryBytes>(
    "master_keys.add", "insert into master_keys (check_value) values ($1) on conflict do nothing"
  )

  /// Returns a few keys, which is enough: one master key sealed them all.
  static let sealedKeys = Statement<SealedSecret>(
    "master_keys.sealed_keys",
    "select app_id || ' ' || key_id, private_key from signing_keys order by created_at desc limit 8"
  )
}

extension MasterKeys {
  /// How often the secrets are read at most, until the first master key encrypts all of them.
  private static let passes = 8

  /// Re-encrypts all secrets with the first master key.
  ///
  /// Afterwards the other master keys are needed only for credentials that were issued with them.
  /// It changes secret by secret. The database forgets the other keys only when a pass over all
  /// secrets has changed none, so both keys can be used until then, also after an interruption.
  /// - Parameters:
  ///   - discardsLost: whether to remove secrets that no key decrypts, since their master key is
  ///     lost.
  ///   - context: the context of the request.
  /// - Returns: `reencrypted`, the number of secrets; `discarded`, their names; `api_keys`, `clients`
  ///   and `recovery_codes`, the numbers that are older than the key and need earlier ones.
  /// - Throws: `.internalError` if a secret cannot be decrypted, or other programs encrypt with
  ///   another key; `.databaseUnavailable`.
  @EventLoop package static func reencrypt(
    discardingLost discardsLost: Bool, _ context: RequestContext
  ) async throws(Failure) -> JSON {
    let check = BinaryBytes(context.keys.master.checks[0])
    _ = try await context.write(MasterKeysQueries.add, check)
    var (count, discarded) = (0, [String]())
    for pass in 0... {
      guard pass < passes else {
        throw .internalError(
          reason:
            "other programs still encrypt with another master key; put the new key first on every "
            + "host, reload, wait a minute, and repeat"
        )
      }
      var (changed, lost) = (0, [String]())
      for secrets in SealedRows.all {
        changed += try await reencrypt(secrets, discardsLost, &lost, context)
      }
      count += changed
      if discardsLost {
        discarded += lost
      } else if !lost.isEmpty {
        throw .internalError(
          reason:
            "none of the given master keys decrypts: \(lost.joined(separator: ", "))"
        )
      }
      if changed == 0, lost.isEmpty { break }
    }
    try await context.transaction { [count, discarded] transaction async throws(Failure) in
      _ = transaction.send(ReencryptionQueries.forgetOthers, check)
      Event(
        "master_key_reencrypt",
        detail: [
          "reencrypted": .number(JSONNumber(count)),
          "discarded": .number(JSONNumber(discarded.count)),
        ]
      ).record(in: transaction, app: .deployment)
    }
    return [
      "reencrypted": .number(JSONNumber(count)),
      "discarded": .array(discarded.map(JSON.string)),
      "api_keys": try await older(ReencryptionQueries.olderKeys, check, context),
      "clients": try await older(ReencryptionQueries.olderClients, check, context),
      "recovery_codes": try await older(ReencryptionQueries.olderRecoveryCodes, check, context),
    ]
  }

  /// Re-encrypts the secrets of a table; returns how many another key had encrypted.
  ///
  /// It appends those that no key decrypts to `lost`.
  @EventLoop private static func reencrypt(
    _ secrets: SealedRows, _ discardsLost: Bool, _ lost: inout [String], _ context: RequestContext
  ) async throws(Failure) -> Int {
    let master = context.keys.master
    var (count, last) = (0, SealedRow())
    while case let page = try await context.read(secrets.page, last.key, last.rest, on: .exclusive),
      let next = page.last
    {
      last = next
      var (changes, removals) = ([PendingQuery](), [PendingQuery]())
      for row in page {
        let (name, old) = (secrets.name(of: row), BinaryBytes(row.sealed))
        guard master.isOutdated(row.sealed, as: name) else { continue }
        guard let secret = master.opened(row.sealed, as: name) else {
          lost.append("\(secrets.kind) \(name)")
          removals.append(PendingQuery(secrets.removal, row.key, row.rest, old))
          continue
        }
        let new = BinaryBytes(try master.sealed(secret, as: name))
        changes.append(PendingQuery(secrets.change, row.key, row.rest, old, new))
      }
      count += try await context.write(changes, returning: Int.self).count
      if discardsLost { try await context.write(removals) }
    }
    return count
  }

  /// Counts the credentials that are older than a master key.
  @EventLoop private static func older(
    _ statement: Statement<Int, String>, _ check: BinaryBytes, _ context: RequestContext
  ) async throws(Failure) -> JSON {
    let since =
      try await context.read(ReencryptionQueries.since, check, on: .exclusive).first ?? "infinity"
    return .number(JSONNumber(try await context.read(statement, since, on: .search).first ?? 0))
  }
}

/// A secret with the key of its row.
struct SealedRow: RowDecodable {
  let key: String
  let rest: String
  let sealed: [UInt8]

  /// The position before the first row.
  init() { (key, rest, sealed) = ("", "", []) }

  init(from row: Row) throws(DatabaseError) {
    key = try row.text(0)
    rest = try row.text(1)
    sealed = try row.binary(2)
  }
}

/// The secrets of a table.
struct SealedRows {
  let kind: String
  /// Returns 500 secrets of all shards, after a key.
  let page: Statement<SealedRow, String, String>
  /// Changes a secret, unless another program has changed it.
  let change: Statement<Int, String, String, BinaryBytes, BinaryBytes>
  let removal: Statement<NoRow, String, String, BinaryBytes>
  private let prefix: String
  private let names: Naming

  /// The columns of the key whose values are in the name that a secret is bound to.
  private enum Naming { case first, second, both }

  /// - Parameters:
  ///   - kind: the kind of its secrets in messages.
  ///   - table: the table.
  ///   - key: the two columns of the key of a row.
  ///   - column: the column with the secret.
  ///   - prefix: the text in front of the name that a secret is bound to.
  ///   - names: the columns that follow it in that name.
  ///   - page: the name of the statement that finds the secrets.
  ///   - change: the name of the statement that changes one.
  ///   - removal: the name of the statement that deletes the row of one.
  private init(
    _ kind: String, _ table: SQL, _ key: (first: SQL, second: SQL), _ column: SQL, prefix: String,
    names: Naming = .both, page: StaticString, change: StaticString, removal: StaticString
  ) {
    self.kind = kind
    (self.prefix, self.names) = (prefix, names)
    let (key, rest) = key
    self.page = Statement(
      page,
      """
      select \(key), \(rest), \(column) from \(table)
      where \(column) is not null and (\(key), \(rest)) > ($1, $2)
      order by \(key), \(rest) limit 500
      """)
    let row: SQL = "\(key) = $1 and \(rest) = $2 and \(column) = $3"
    self.change = Statement(change, "update \(table) set \(column) = $4 where \(row) returning 1")
    self.removal = Statement(removal, "delete from \(table) where \(row)")
  }

  /// Returns the name that a secret is bound to.
  func name(of row: SealedRow) -> String {
    switch names {
    case .first: prefix + row.key
    case .second: prefix + row.rest
    case .both: "\(prefix)\(row.key) \(row.rest)"
    }
  }

  static let all = [
    SealedRows(
      "signing_key", "signing_keys", ("app_id", "key_id"), "private_key", prefix: "",
      page: "reencryption.keys", change: "reencryption.change_key",
      removal: "reencryption.remove_key"
    ),
    SealedRows(
      "issuer", "issuers", ("app_id", "name"), "secret", prefix: "issuer ",
      page: "reencryption.issuers", change: "reencryption.change_issuer",
      removal: "reencryption.remove_issuer"
    ),
    SealedRows(
      "connection", "connections", ("app_id", "name"), "client_secret", prefix: "connection ",
      page: "reencryption.connections", change: "reencryption.change_connection",
      removal: "reencryption.remove_connection"
    ),
    SealedRows(
      "webhook", "webhooks", ("app_id", "webhook_id"), "secret", prefix: "webhook ",
      page: "reencryption.webhooks", change: "reencryption.change_webhook",
      removal: "reencryption.remove_webhook"
    ),
    SealedRows(
      "log_stream", "log_streams", ("app_id", "stream_id"), "header_value", prefix: "log stream ",
      page: "reencryption.log_streams", change: "reencryption.change_log_stream",
      removal: "reencryption.remove_log_stream"
    ),
    SealedRows(
      "mail", "mail_outbox", ("mail_id", "app_id"), "sealed", prefix: "mail ", names: .first,
      page: "reencryption.mails", change: "reencryption.change_mail",
      removal: "reencryption.remove_mail"
    ),
    SealedRows(
      "second_factor", "second_factors", ("user_id", "factor_id"), "secret", prefix: "factor ",
      page: "reencryption.factors", change: "reencryption.change_factor",
      removal: "reencryption.remove_factor"
    ),
    SealedRows(
      "job", "job_parts", ("job_id", "part"), "sealed", prefix: "job ",
      page: "reencryption.job_parts", change: "reencryption.change_job_part",
      removal: "reencryption.remove_job_part"
    ),
    SealedRows(
      "merge", "merges", ("user_id", "merge_id"), "sealed", prefix: "merge ", names: .second,
      page: "reencryption.merges", change: "reencryption.change_merge",
      removal: "reencryption.remove_merge"
    ),
    // A token keeps its name when it goes to another user.
    SealedRows(
      "identity_token", "identity_tokens", ("user_id", "token_id"), "sealed", prefix: "token ",
      names: .second, page: "reencryption.tokens", change: "reencryption.change_token",
      removal: "reencryption.remove_token"
    ),
  ]
}

package enum ReencryptionQueries {
  static let forgetOthers = Statement<NoRow, BinaryBytes>(
    "reencryption.forget_others", "delete from master_keys where check_value <> $1"
  )

  /// Returns when a master key first encrypted something.
  static let since = Statement<String, BinaryBytes>(
    "reencryption.since", "select created_at::text from master_keys where check_value = $1"
  )

  /// Counts the API keys of all shards that are older than `$1`.
  static let olderKeys = Statement<Int, String>(
    "reencryption.older_keys", "select count(*) from api_keys where created_at < $1"
  )

  static let olderClients = Statement<Int, String>(
    "reencryption.older_clients", "select count(*) from clients where secret_created_at < $1"
  )

  /// Counts the recovery codes of all shards that are older than `$1`.
  static let olderRecoveryCodes = Statement<Int, String>(
    "reencryption.older_recovery_codes", "select count(*) from recovery_codes where created_at < $1"
  )
}
