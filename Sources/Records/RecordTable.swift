import Encoding
package import JSON
package import Postgres

/// The table of a record, with the statements that read and write it.
///
/// The table has a key, the columns `app_id`, `version`, `created_at` and one for attributes, and
/// columns of its own for what other statements join or what must be unique.
package struct RecordTable<R: Record>: Sendable {
  package let shape: RecordShape
  /// The columns of a `Stored`, of the table `r`; `, ''` or the name of the app follows.
  package let columns: SQL
  /// The attributes with columns of their own; all others are in `attributes`.
  private let ownNames: [String]
  /// Those of them whose columns have words.
  private let lists: [String]
  /// The attribute that is the key, or the name of the key's column.
  package let keyName: String
  package let statements: Statements

  package struct Statements: Sendable {
    package let list: Statement<Stored<R>, String?>
    package let show: Statement<Stored<R>, String?, String>
    /// Locks a record, so that concurrent changes of it run one after the other.
    package let lock: Statement<Stored<R>, String?, String>
    /// Violates a unique key if the app has a record with the key or another unique column.
    package let insert: Statement<NoRow, String?, String, TextBytes>
    package let change: Statement<NoRow, String?, String, TextBytes>
    /// Returns the id of the app; an empty text without one.
    package let delete: Statement<String, String?, String>

    /// All of them, for the tests.
    package var all: [any PreparedStatement] { [list, show, lock, insert, change, delete] }
  }

  /// A column of the table for one attribute.
  package struct OwnColumn: Sendable {
    /// The name of the attribute.
    fileprivate let name: SQL
    fileprivate let column: SQL
    /// The value in the JSON `$3` of an insert.
    fileprivate let inserted: SQL
    /// The value in the JSON `$3` of a change.
    fileprivate let changed: SQL
    /// The value that is read, as a member of JSON; nil for none.
    fileprivate let read: SQL?
    fileprivate var isSealed = false
    fileprivate var isList = false

    /// - Parameters:
    ///   - name: the attribute.
    ///   - column: the column, if it has another name.
    /// - Returns: a column with a text.
    package static func text(_ name: SQL, in column: SQL? = nil) -> OwnColumn {
      let (value, column): (SQL, SQL) = ("$3::json ->> '\(name)'", column ?? name)
      return OwnColumn(
        name: name, column: column, inserted: value, changed: value, read: "r.\(column)")
    }

    /// Returns a column with a list of words, with spaces between them.
    package static func words(_ name: SQL, in column: SQL) -> OwnColumn {
      // Citus refuses subqueries in an insert, so the words are joined before.
      let value: SQL = "coalesce($3::json ->> '\(name)', '')"
      return OwnColumn(
        name: name, column: column, inserted: value, changed: value,
        read: "string_to_array(r.\(column), ' ')", isList: true)
    }

    /// Returns a column with the time since when a Boolean is true; null while it is false.
    package static func time(since name: SQL, in column: SQL) -> OwnColumn {
      let isTrue: SQL = "($3::json ->> '\(name)')::boolean"
      return OwnColumn(
        name: name, column: column, inserted: time("when \(isTrue) then 'infinity'"),
        changed: time("when \(isTrue) then coalesce(r.\(column), 'infinity')"),
        read: "r.\(column) is not null")
    }

    /// An object that keeps the order of its members.
    package static func json(_ name: SQL) -> OwnColumn {
      let value: SQL = "coalesce($3::json -> '\(name)', '{}')"
      return OwnColumn(
        name: name, column: name, inserted: value, changed: value, read: "r.\(name)")
    }

    /// A sealed secret in base 64, of which a table has at most one; a change that does not name it
    /// keeps it.
    package static func sealed(_ name: SQL) -> OwnColumn {
      var column = hash(name)
      column.isSealed = true
      return column
    }

    /// The hash of a secret in base 64, which is not read; a change that does not name it keeps it.
    package static func hash(_ name: SQL) -> OwnColumn {
      let value: SQL = "decode($3::json ->> '\(name)', 'base64')"
      return OwnColumn(
        name: name, column: name, inserted: value,
        changed: "case when $3::jsonb ? '\(name)' then \(value) else r.\(name) end", read: nil)
    }

    /// Returns a column with the time since when a hash is the stored one; null without a hash.
    package static func time(of hash: SQL, in column: SQL) -> OwnColumn {
      let isGiven: SQL = "$3::json ->> '\(hash)' is not null"
      return OwnColumn(
        name: hash, column: column, inserted: time("when \(isGiven) then 'infinity'"),
        changed: time(
          """
          when \(isGiven) then 'infinity'
            when not $3::jsonb ? '\(hash)' then coalesce(r.\(column), '-infinity')
          """),
        read: nil)
    }

    /// Returns a time by the branches of a `case`, where `infinity` means now.
    ///
    /// It is null if no branch is taken, or by `-infinity`. Citus refuses `now()` inside of `case`.
    private static func time(_ branches: SQL) -> SQL {
      "nullif(least(case \(branches) else '-infinity'::timestamptz end, now()), '-infinity')"
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
  ///   - rest: the column for all other attributes.
  ///   - order: the order of lists, by default that of the keys.
  ///   - names: the names of the statements.
  package init(
    _ table: SQL, key: SQL, own: [OwnColumn], rest: SQL = "attributes", order: SQL? = nil,
    _ names: Names
  ) {
    shape = RecordShape([R.self])
    ownNames = own.map(\.name.description)
    lists = own.filter(\.isList).map(\.name.description)
    let isKey = { (own: OwnColumn) in own.column.description == key.description }
    keyName = (own.first(where: isKey)?.name ?? key).description
    let members = own.compactMap { own in own.read.map { "'\(own.name)', \($0)" as SQL } }
    columns = """
      r.\(key), r.app_id, r.version, r.created_at,
        json_build_object(\(.list(members)))::text, r.\(rest)::text,
        \(own.first(where: \.isSealed).map { "r.\($0.column)" } ?? "null::bytea")
      """
    // A client of the operator has no app.
    let select: SQL = """
      select \(columns), coalesce(a.name, '') from \(table) r left join apps a on a.app_id = r.app_id
      """
    // The key of some tables is unique in the deployment, that of others in an app.
    let one: SQL = "($1::text is null or r.app_id = $1) and r.\(key) = $2"
    let written = own.filter { !isKey($0) }
    let attributes: SQL = "($3::json -> 'attributes')::jsonb"
    let assignments: [SQL] =
      written.map { "\($0.column) = \($0.changed)" }
      + ["\(rest) = \(attributes)", "version = r.version + 1"]
    statements = Statements(
      list: Statement(
        names.list,
        "\(select) where $1::text is null or r.app_id = $1 order by \(order ?? "r.\(key)")"),
      show: Statement(names.show, "\(select) where \(one)"),
      lock: Statement(names.lock, "\(select) where \(one) for update of r"),
      insert: Statement(
        names.insert,
        """
        insert into \(table) (\(.list(["app_id", key] + written.map(\.column) + [rest])))
        values (\(.list(["$1", "$2"] + written.map(\.inserted) + [attributes])))
        """),
      change: Statement(
        names.change,
        """
        update \(table) r set \(.list(assignments))
        where \(one)
        """),
      delete: Statement(
        names.delete, "delete from \(table) r where \(one) returning coalesce(r.app_id, '')"))
  }

  /// Whether a record has an id, and not only a name of the operator.
  package var hasID: Bool { shape.column(named: keyName)?.has(.required) != true }

  /// The columns that are stored among the attributes, whose absence means the default.
  package var attributes: [Column] {
    shape.columns.filter { !ownNames.contains($0.name) && !$0.has(.secret) }
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
      if let words = value.array, lists.contains(name) {
        row[name] = .string(words.compactMap(\.string).joined(separator: " "))
      } else if ownNames.contains(name) {
        row[name] = value
      } else {
        attributes[name] = value
      }
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
