import EventLoop
package import JSON
package import Postgres

extension MasterKeys {
  /// Re-encrypts all sealed secrets with the first master key.
  ///
  /// Afterwards the other master keys are needed only for credentials that were issued with them.
  /// - Parameters:
  ///   - discardsLost: whether to remove secrets that no key decrypts, since their master key is
  ///     lost.
  ///   - context: the context of the request.
  /// - Returns: `resealed`, the number of secrets; `discarded`, their names; `api_keys`, `clients`
  ///   and `recovery_codes`, the numbers that are older than the key and need earlier ones.
  /// - Throws: `.internalError` if a secret cannot be decrypted, `.databaseUnavailable`.
  @EventLoop package static func reseal(
    discardingLost discardsLost: Bool,
    _ context: RequestContext
  ) async throws(Failure) -> JSON {
    let master = context.keys.master
    var lost: [String] = []
    var count = 0
    try await context.transaction { transaction async throws(Failure) in
      (lost, count) = ([], 0)
      for secret in try await transaction.run(ResealingQueries.secrets) {
        guard let opened = try? master.opened(secret.sealed, as: secret.name) else {
          lost.append("\(secret.kind.rawValue) \(secret.name)")
          if discardsLost { _ = try await transaction.run(secret.kind.removal, secret.name) }
          continue
        }
        guard let sealed = try? master.sealed(opened, as: secret.name) else { continue }
        _ = try await transaction.run(secret.kind.change, secret.name, BinaryBytes(sealed))
        count += 1
      }
      guard discardsLost || lost.isEmpty else {
        throw .internalError(
          "sealed with a master key that is not given here: \(lost.joined(separator: ", "))"
        )
      }
      _ = try await transaction.run(MasterKeysQueries.add, BinaryBytes(master.checks[0]))
      _ = try await transaction.run(ResealingQueries.forgetOthers, BinaryBytes(master.checks[0]))
      try await Event(
        "master_key_reseal",
        detail: [
          "resealed": .number(JSONNumber(count)), "discarded": .number(JSONNumber(lost.count)),
        ]
      ).record(in: transaction, app: .deployment, context)
    }
    let older = try await context.search(ResealingQueries.older).first
    return [
      "resealed": .number(JSONNumber(count)), "discarded": .array(lost.map(JSON.string)),
      "api_keys": .number(JSONNumber(older?.keys ?? 0)),
      "clients": .number(JSONNumber(older?.clients ?? 0)),
      "recovery_codes": .number(JSONNumber(older?.recoveryCodes ?? 0)),
    ]
  }
}

/// A sealed secret with its kind.
private struct KindedSecret: RowDecodable {
  let kind: Kind
  let name: String
  let sealed: [UInt8]

  enum Kind: String {
    case signingKey = "signing_key"
    case issuer
    case mail
    case secondFactor = "second_factor"
  }

  init(from row: Row) throws(DatabaseError) {
    guard let kind = Kind(rawValue: try row.text(0)) else {
      throw DatabaseError(.unexpectedColumn, "an unknown kind of secret")
    }
    self.kind = kind
    name = try row.text(1)
    sealed = try row.binary(2)
  }
}

extension KindedSecret.Kind {
  fileprivate var change: Statement<NoRow, String, BinaryBytes> {
    switch self {
    case .signingKey: ResealingQueries.changeKey
    case .issuer: ResealingQueries.changeIssuer
    case .mail: ResealingQueries.changeMail
    case .secondFactor: ResealingQueries.changeFactor
    }
  }

  fileprivate var removal: Statement<NoRow, String> {
    switch self {
    case .signingKey: ResealingQueries.removeKey
    case .issuer: ResealingQueries.removeIssuer
    case .mail: ResealingQueries.removeMail
    case .secondFactor: ResealingQueries.removeFactor
    }
  }
}

private struct OlderCredentials: RowDecodable {
  let keys: Int
  let clients: Int
  let recoveryCodes: Int

  init(from row: Row) throws(DatabaseError) {
    keys = try row.int(0)
    clients = try row.int(1)
    recoveryCodes = try row.int(2)
  }
}

package enum ResealingQueries {
  /// Returns all sealed secrets with the names that they are bound to.
  fileprivate static let secrets = Statement<KindedSecret>(
    "resealing.secrets",
    """
    select 'signing_key', app_id || ' ' || key_id, private_key from signing_keys
    union all
    select 'issuer', 'issuer ' || app_id || ' ' || name, secret from issuers
    where secret is not null
    union all
    select 'mail', 'mail ' || mail_id, sealed from mail_outbox
    union all
    select 'second_factor', 'factor ' || user_id || ' ' || factor_id, secret from second_factors
    """
  )

  static let changeKey = Statement<NoRow, String, BinaryBytes>(
    "resealing.change_key",
    "update signing_keys set private_key = $2 where app_id || ' ' || key_id = $1"
  )

  static let changeIssuer = Statement<NoRow, String, BinaryBytes>(
    "resealing.change_issuer",
    "update issuers set secret = $2 where 'issuer ' || app_id || ' ' || name = $1"
  )

  static let changeMail = Statement<NoRow, String, BinaryBytes>(
    "resealing.change_mail",
    "update mail_outbox set sealed = $2 where mail_id = substr($1, 6)"
  )

  static let changeFactor = Statement<NoRow, String, BinaryBytes>(
    "resealing.change_factor",
    """
    update second_factors set secret = $2
    where user_id = split_part($1, ' ', 2) and factor_id = split_part($1, ' ', 3)
    """
  )

  static let removeFactor = Statement<NoRow, String>(
    "resealing.remove_factor",
    """
    delete from second_factors
    where user_id = split_part($1, ' ', 2) and factor_id = split_part($1, ' ', 3)
    """
  )

  static let removeMail = Statement<NoRow, String>(
    "resealing.remove_mail",
    "delete from mail_outbox where mail_id = substr($1, 6)"
  )

  static let removeKey = Statement<NoRow, String>(
    "resealing.remove_key",
    "delete from signing_keys where app_id || ' ' || key_id = $1"
  )

  static let removeIssuer = Statement<NoRow, String>(
    "resealing.remove_issuer",
    "delete from issuers where 'issuer ' || app_id || ' ' || name = $1"
  )

  static let forgetOthers = Statement<NoRow, BinaryBytes>(
    "resealing.forget_others",
    "delete from master_keys where check_value <> $1"
  )

  /// Counts the credentials that are older than the remaining master key.
  fileprivate static let older = Statement<OlderCredentials>(
    "resealing.older",
    """
    select (select count(*) from api_keys k where k.created_at < m.created_at),
      (select count(*) from clients c where c.secret_created_at < m.created_at),
      (select count(*) from recovery_codes r where r.created_at < m.created_at)
    from master_keys m
    """
  )

  package static let all: [any PreparedStatement] = [
    secrets, changeKey, changeIssuer, changeMail, changeFactor, removeKey, removeIssuer, removeMail,
    removeFactor, forgetOthers, older,
  ]
}
