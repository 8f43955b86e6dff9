import CPostgres
package import EventLoop
import Encoding

/// A type that can be decoded from a row.
package protocol RowDecodable: Sendable {
  /// Decodes a row.
  ///
  /// - Throws: `.unexpectedColumn` if a column does not match.
  @EventLoop init(from row: Row) throws(DatabaseError)
}

/// The server's result of one statement.
///
/// It belongs to the loop, and is freed with its last reference.
@safe @EventLoop package final class ResultSet {
  nonisolated(unsafe) let pointer: OpaquePointer
  package let count: Int

  init(_ pointer: OpaquePointer) {
    unsafe self.pointer = pointer
    count = unsafe Int(PQntuples(pointer))
  }

  deinit { unsafe PQclear(pointer) }

  var failure: DatabaseError? {
    switch unsafe PQresultStatus(pointer) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY, PGRES_SINGLE_TUPLE: nil
    default: unsafe DatabaseError(result: pointer)
    }
  }

  /// The rows that the statement returned, or else changed.
  var affectedRows: Int {
    count > 0 ? count : unsafe Int(String(cString: PQcmdTuples(pointer))) ?? 0
  }

  var isAborted: Bool { unsafe PQresultStatus(pointer) == PGRES_PIPELINE_ABORTED }

  package func decode<Value: RowDecodable>(_ type: Value.Type) throws(DatabaseError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(count)
    for index in 0..<count { values.append(try Value(from: row(index))) }
    return values
  }

  /// Decodes the first row of a statement that returns at most one.
  package func decodeFirst<Value: RowDecodable>(
    _ type: Value.Type
  ) throws(DatabaseError) -> Value? {
    count > 0 ? try Value(from: row(0)) : nil
  }

  package func row(_ index: Int) -> Row {
    Row(result: self, index: Int32(index))
  }

  var text: TextResult {
    let columns = unsafe (0..<PQnfields(pointer)).map { column in
      unsafe PQfname(pointer, column).map { unsafe String(cString: $0) } ?? ""
    }
    let rows = (0..<count).map { index in
      let row = Row(result: self, index: Int32(index))
      return columns.indices.map { row.text(ifAny: Int($0)) }
    }
    let tag = unsafe PQcmdStatus(pointer).map { unsafe String(cString: $0) } ?? ""
    return TextResult(columns: columns, rows: rows, tag: tag)
  }
}

/// An untyped result, for tools.
package struct TextResult: Sendable {
  package let columns: [String]
  package let rows: [[String?]]
  /// The server's command tag, such as `INSERT 0 1`.
  package let tag: String
}

/// One row of a result, with columns numbered from 0.
@EventLoop package struct Row {
  let result: ResultSet
  let index: Int32

  package func isNull(_ column: Int) -> Bool {
    unsafe PQgetisnull(result.pointer, index, Int32(column)) != 0
  }

  /// Returns the column in PostgreSQL's text format.
  package func text(_ column: Int) throws(DatabaseError) -> String {
    guard let text = text(ifAny: column) else { throw unexpected(column, "null") }
    return text
  }

  package func text(ifAny column: Int) -> String? {
    guard !isNull(column) else { return nil }
    return unsafe withBytes(column) { unsafe String(decoding: $0, as: UTF8.self) }
  }

  package func bytes(_ column: Int) throws(DatabaseError) -> [UInt8] {
    guard !isNull(column) else { throw unexpected(column, "null") }
    return unsafe withBytes(column) { unsafe Array($0) }
  }

  package func int(_ column: Int) throws(DatabaseError) -> Int {
    guard let value = try int(ifAny: column) else { throw unexpected(column, "null") }
    return value
  }

  package func int(ifAny column: Int) throws(DatabaseError) -> Int? {
    guard !isNull(column) else { return nil }
    guard let value = unsafe withBytes(column, { unsafe Int(decimal: $0) }) else {
      throw unexpected(column, "not an integer")
    }
    return value
  }

  package func bool(_ column: Int) throws(DatabaseError) -> Bool {
    guard !isNull(column) else { throw unexpected(column, "null") }
    return unsafe withBytes(column) { unsafe $0.first == UInt8(ascii: "t") }
  }

  /// Returns a `bytea` column.
  package func binary(_ column: Int) throws(DatabaseError) -> [UInt8] {
    guard let bytes = try binary(ifAny: column) else { throw unexpected(column, "null") }
    return bytes
  }

  package func binary(ifAny column: Int) throws(DatabaseError) -> [UInt8]? {
    guard !isNull(column) else { return nil }
    let text = try bytes(column)
    guard text.starts(with: "\\x".utf8), let bytes = [UInt8](hexadecimal: text.dropFirst(2)) else {
      throw unexpected(column, "not bytea in hexadecimal")
    }
    return bytes
  }

  private func withBytes<Result>(
    _ column: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
  ) -> Result {
    let length = unsafe Int(PQgetlength(result.pointer, index, Int32(column)))
    let start = unsafe UnsafeRawPointer(PQgetvalue(result.pointer, index, Int32(column)))
    return unsafe body(
      UnsafeBufferPointer(start: start?.assumingMemoryBound(to: UInt8.self), count: length)
    )
  }

  private func unexpected(_ column: Int, _ what: String) -> DatabaseError {
    DatabaseError(.unexpectedColumn, "column \(column) is \(what)")
  }
}

extension Int {
  /// Parses a number that PostgreSQL wrote; nil if it is not whole or too large.
  fileprivate init?(decimal digits: UnsafeBufferPointer<UInt8>) {
    let isNegative = unsafe digits.first == UInt8(ascii: "-")
    guard digits.count > (isNegative ? 1 : 0) else { return nil }
    self = 0
    for index in (isNegative ? 1 : 0)..<digits.count {
      let digit = unsafe Int(digits[index]) - Int(UInt8(ascii: "0"))
      guard (0...9).contains(digit) else { return nil }
      // Subtracts, since the negative range is larger by one.
      let (tens, overflows) = multipliedReportingOverflow(by: 10)
      let (value, overflowsToo) = tens.subtractingReportingOverflow(digit)
      guard !overflows, !overflowsToo else { return nil }
      self = value
    }
    guard !isNegative else { return }
    guard self != .min else { return nil }
    self = -self
  }
}

/// The row type of statements that return no rows.
package struct NoRow: RowDecodable {
  package init(from row: Row) throws(DatabaseError) {}
}

extension String: RowDecodable {
  package init(from row: Row) throws(DatabaseError) { self = try row.text(0) }
}

extension BinaryBytes: RowDecodable {
  package init(from row: Row) throws(DatabaseError) { self.init(try row.binary(0)) }
}

extension Int: RowDecodable {
  package init(from row: Row) throws(DatabaseError) { self = try row.int(0) }
}

extension Bool: RowDecodable {
  package init(from row: Row) throws(DatabaseError) { self = try row.bool(0) }
}
