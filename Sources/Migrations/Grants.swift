/// The privileges of a role that serves requests but does not change the schema.
enum Grants {
  /// The tables whose rows the role can read and add, but not change or delete.
  private static let appendOnly = ["audit"]

  /// Returns idempotent grants.
  ///
  /// The role may only read the ledger.
  static func statements(_ ledger: Ledger, to role: String) -> [String] {
    let (schema, role) = (quotedName(ledger.schema), quotedName(role))
    let revocations = appendOnly.map { table in
      let table = "\(schema).\(quotedName(table))"
      return """
        do $$ begin
          if to_regclass(\(quotedText(table))) is not null then
            revoke update, delete on \(table) from \(role);
          end if;
        end $$
        """
    }
    return [
      "grant usage on schema \(schema) to \(role)",
      "grant select, insert, update, delete on all tables in schema \(schema) to \(role)",
    ] + revocations + [
      "grant execute on all functions in schema \(schema) to \(role)",
      "alter default privileges in schema \(schema)\n"
        + "  grant select, insert, update, delete on tables to \(role)",
      "revoke all on \(ledger.table), \(ledger.progressTable) from \(role)",
      "grant select on \(ledger.table), \(ledger.progressTable) to \(role)",
    ]
  }
}
