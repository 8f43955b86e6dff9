import EventLoop

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

/// A statement composed for one call from fixed pieces and parameters.
///
/// The pieces are literals of the program, and values are parameters, so no external text enters
/// the SQL. It is not prepared, so the server plans it for its values.
package struct ComposedStatement<Row: RowDecodable>: Sendable {
  package private(set) var sql = ""
  private(set) var parameters = Parameters()
  private var count = 0

  package init() {}

  /// Appends a piece of SQL.
  package mutating func append(_ piece: StaticString) { sql += "\(piece)" }

  /// Appends a piece that several statements share.
  package mutating func append(columns piece: SQL) { sql += "\(piece)" }

  /// Appends a parameter, `$n::type`.
  ///
  /// - Parameters:
  ///   - value: the value of the parameter.
  ///   - type: the SQL name of its type.
  package mutating func bind(_ value: some Bindable, as type: StaticString) {
    count += 1
    parameters.append(value)
    sql += "$\(count)::\(type)"
  }
}

/// Text values as an SQL array.
package struct TextArray: Bindable, Sendable {
  package let values: [String]
  package init(_ values: [String]) { self.values = values }

  package func appendText(to bytes: inout [UInt8]) -> Bool {
    bytes.append(UInt8(ascii: "{"))
    for (index, value) in values.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes.append(UInt8(ascii: "\""))
      for byte in value.utf8 {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
          bytes.append(UInt8(ascii: "\\"))
        }
        bytes.append(byte)
      }
      bytes.append(UInt8(ascii: "\""))
    }
    bytes.append(UInt8(ascii: "}"))
    return true
  }
}

/// Numbers as an array of PostgreSQL.
package struct NumberArray: Bindable, Sendable {
  private let values: [Int]
  package init(_ values: [Int]) { self.values = values }

  package func appendText(to bytes: inout [UInt8]) -> Bool {
    let list = values.map { String($0) }.joined(separator: ",")
    return "{\(list)}".appendText(to: &bytes)
  }
}

/// The outcome of one statement, without its parameters.
package struct StatementReport: Sendable {
  /// The name of the statement; `composed` if its SQL was composed for one call.
  package let name: StaticString
  package let nanoseconds: UInt64
  /// The rows that it returned, or else changed.
  package let rows: Int
  /// Nil if it succeeded.
  package let failure: SQLState?
}

/// Is called when a statement is sent, in the task of the caller.
///
/// Returns the function that receives the outcome.
package typealias StatementObserver = @EventLoop @Sendable () -> StatementReceiver

package typealias StatementReceiver = @EventLoop (StatementReport) -> Void

/// A statement that an observer waits for.
struct StatementObservation {
  let start = EventLoop.now()
  let receive: StatementReceiver

  @EventLoop func end(_ call: PendingQuery, rows: Int, _ failure: SQLState?) {
    receive(
      StatementReport(
        name: call.composed == nil ? call.name : "composed", nanoseconds: EventLoop.now() - start,
        rows: rows, failure: failure
      )
    )
  }
}
