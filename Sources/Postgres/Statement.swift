/// A statement with the types of what goes in and of what comes out.
///
/// Prepared by each connection when it first meets it. The SQL is a literal: no value can get into
/// it but by `$n`.
package struct Statement<Row: RowDecodable, each Parameter: Bindable>: PreparedStatement {
  package let name: StaticString
  package let sql: StaticString

  /// - Parameters:
  ///   - name: `feature.verb`, one of its kind in the program.
  ///   - sql: with `$1` … in the order of the parameter types.
  package init(_ name: StaticString, _ sql: StaticString) {
    self.name = name
    self.sql = sql
  }
}

/// A statement whatever its types, for the test that prepares them all.
package protocol PreparedStatement: Sendable {
  var name: StaticString { get }
  var sql: StaticString { get }
}

extension StaticString {
  /// Distinguishes literals without comparing their text.
  var address: UInt { unsafe UInt(bitPattern: utf8Start) }

  @unsafe var cString: UnsafePointer<CChar> {
    unsafe UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
