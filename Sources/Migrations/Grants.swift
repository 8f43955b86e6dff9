/// The privileges of a role that serves requests but does not change the schema.
enum Grants {
  /// Returns idempotent grants.
  ///
  /// The role may only read the ledger.
  static func statements(_ ledger: Ledger, to role: String) -> [String] {
    let (schema, role) = (quotedName(ledger.schema), quotedName(role))
    return [
      "grant usage on schema \(schema) to \(role)",
      "grant select, insert, update, delete on all tables in schema \(schema) to \(role)",
      "grant execute on all functions in schema \(schema) to \(role)",
      "alter default privileges in schema \(schema)\n"
        + "  grant select, insert, update, delete on tables to \(role)",
      "revoke all on \(ledger.table), \(ledger.progressTable) from \(role)",
      "grant select on \(ledger.table), \(ledger.progressTable) to \(role)",
    ]
  }
}
