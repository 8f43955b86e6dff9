/// A statement with the types of its parameters and of its rows.
///
/// Each connection prepares it on first use. Values enter the SQL only as `$n`.
package struct Statement<Row: RowDecodable, each Parameter: Bindable>: PreparedStatement {
  package let name: StaticString
  package let sql: SQL

  /// Creates a statement.
  ///
  /// - Parameters:
  ///   - name: `feature.verb`, unique in the program.
  ///   - sql: the SQL, with `$1` … in the order of the parameter types.
  package init(_ name: StaticString, _ sql: SQL) {
    self.name = name
    self.sql = sql
  }
}

/// A statement without its types, for the test that prepares all statements.
package protocol PreparedStatement: Sendable {
  var name: StaticString { get }
  var sql: SQL { get }
}

extension StaticString {
  /// The address of a literal, which distinguishes literals without a comparison of text.
  var address: UInt { unsafe UInt(bitPattern: utf8Start) }

  @unsafe var cString: UnsafePointer<CChar> {
    unsafe UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
