import Postgres

/// Pieces of statements about the device `$1`.
extension SQL {
  /// The condition that the hash `$3` authenticates `devices d` in the app `$2`.
  static let isProvedDevice: SQL = """
    d.device_id = $1 and d.app_id = $2 and (d.secret_hash = $3::bytea
        or d.previous_hash = $3::bytea and d.replaced_at > now() - interval '30 seconds')
    """

  /// The columns of a `DeviceState`.
  static let deviceState: SQL = "d.user_ids, d.inactive_since"

  /// The time before which users were activated for whom the hash `$3` acts; null for all users.
  ///
  /// A replaced secret never acts for the user of the login that replaced it.
  static let provedUntil: SQL = "case when d.secret_hash <> $3::bytea then d.replaced_at end"
}
