import Encoding
package import JSON
package import Postgres

/// The table of a record, with the statements that read and write it.
///
/// The table has a key, the columns `app_id`, `version`, `created_at` and `attributes`, and columns
/// of its own for what other statements join or what must be unique.
package struct RecordTable<R: Record>: Sendable {
  package let shape: RecordShape
  /// The columns of a `Stored`, of the table `r`; `, ''` or the name of the app follows.
  package let columns: SQL
  /// The attributes with columns of their own; all others are in `attributes`.
  private let ownNames: [String]
  /// The name of the key, which may be that of a column.
  package let keyName: String
  package let statements: Statements

  package struct Statements: Sendable {
    package let list: Statement<Stored<R>, String?>
    package let show: Statement<Stored<R>, String?, String>
    /// Locks a record, so that concurrent changes of it run one after the other.
    package let lock: Statement<Stored<R>, String?, String>
    /// Violates a unique key if the app has a record with the key or another unique column.
    package let insert: Statement<NoRow, String, String, TextBytes>
    package let change: Statement<NoRow, String, String, TextBytes>
    /// Returns the id of the app.
    package let delete: Statement<String, String?, String>

    /// All of them, for the tests.
    package var all: [any PreparedStatement] { [list, show, lock, insert, change, delete] }
  }

  /// A column of the table for one attribute, which has the same name.
  package struct OwnColumn: Sendable {
    fileprivate let name: SQL
    /// The value in the JSON `$3` of an insert.
    fileprivate let inserted: SQL
    /// The value in the JSON `$3` of a change.
    fileprivate let changed: SQL
    /// The member of the JSON that is read; nil for a secret.
    fileprivate let member: SQL?

    package static func text(_ name: SQL) -> OwnColumn {
      let value: SQL = "$3::json ->> '\(name)'"
      return OwnColumn(name: name, inserted: value, changed: value, member: "'\(name)', r.\(name)")
    }

    /// An object that keeps the order of its members.
    package static func json(_ name: SQL) -> OwnColumn {
      let value: SQL = "coalesce($3::json -> '\(name)', '{}')"
      return OwnColumn(name: name, inserted: value, changed: value, member: "'\(name)', r.\(name)")
    }

    /// A sealed secret in base 64, of which a table has at most one; a change that does not name it
    /// keeps it.
    package static func sealed(_ name: SQL) -> OwnColumn {
      let value: SQL = "decode($3::json ->> '\(name)', 'base64')"
      return OwnColumn(
        name: name, inserted: value,
        changed: "case when $3::jsonb ? '\(name)' then \(value) else r.\(name) end", member: nil)
    }
  }

  /// The names of the statements, each unique in the program.
  package struct Names {
    let list, show, lock, insert, change, delete: StaticString

    package init(
      list: StaticString, show: StaticString, lock: StaticString, insert: StaticString,
      change: StaticString, delete: StaticString
    ) {
      (self.list, self.show, self.lock) = (list, show, lock)
      (self.insert, self.change, self.delete) = (insert, change, delete)
    }
  }

  /// - Parameters:
  ///   - table: the name of the table.
  ///   - key: the column by which routes and commands name a record.
  ///   - own: its columns for single attributes, which may be the key.
  ///   - names: the names of the statements.
  package init(_ table: SQL, key: SQL, own: [OwnColumn], _ names: Names) {
    shape = RecordShape([R.self])
    ownNames = own.map(\.name.description)
    keyName = key.description
    columns = """
      r.\(key), r.app_id, r.version, r.created_at,
        json_build_object(\(.list(own.compactMap(\.member))))::text, r.attributes::text,
        \(own.first { $0.member == nil }.map { "r.\($0.name)" } ?? "null::bytea")
      """
    let select: SQL = """
      select \(columns), a.name from \(table) r join apps a on a.app_id = r.app_id
      """
    // The key of some tables is unique in the deployment, that of others in an app.
    let one: SQL = "($1::text is null or r.app_id = $1) and r.\(key) = $2"
    let written = own.filter { $0.name.description != key.description }
    let attributes: SQL = "($3::json -> 'attributes')::jsonb"
    let assignments: [SQL] =
      written.map { "\($0.name) = \($0.changed)" }
      + ["attributes = \(attributes)", "version = r.version + 1"]
    statements = Statements(
      list: Statement(
        names.list, "\(select) where $1::text is null or r.app_id = $1 order by r.\(key)"),
      show: Statement(names.show, "\(select) where \(one)"),
      lock: Statement(names.lock, "\(select) where \(one) for update of r"),
      insert: Statement(
        names.insert,
        """
        insert into \(table) (\(.list(["app_id", key] + written.map(\.name) + ["attributes"])))
        values (\(.list(["$1", "$2"] + written.map(\.inserted) + [attributes])))
        """),
      change: Statement(
        names.change,
        """
        update \(table) r set \(.list(assignments))
        where r.app_id = $1 and r.\(key) = $2
        """),
      delete: Statement(names.delete, "delete from \(table) r where \(one) returning r.app_id"))
  }

  /// Returns the parameter `$3` of `insert` and `change`: own columns, and all else as attributes.
  ///
  /// - Parameters:
  ///   - values: the chosen values.
  ///   - secrets: sealed bytes by their column; nil removes them.
  /// - Returns: the text.
  package func row(of values: JSONObject, secrets: [String: [UInt8]?] = [:]) -> TextBytes {
    var (row, attributes) = (JSONObject(), JSONObject())
    for (name, value) in values
    where value != .null && shape.column(named: name)?.has(.secret) != true {
      if ownNames.contains(name) { row[name] = value } else { attributes[name] = value }
    }
    for (name, bytes) in secrets { row[name] = bytes.map { .string($0.paddedBase64) } ?? .null }
    row["attributes"] = .object(attributes)
    return TextBytes(row.serialized())
  }
}

extension SQL {
  /// Returns pieces with commas between them.
  fileprivate static func list(_ pieces: [SQL]) -> SQL {
    guard let first = pieces.first else { return "" }
    return pieces.dropFirst().reduce(first) { "\($0), \($1)" }
  }
}
