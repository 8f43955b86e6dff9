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
