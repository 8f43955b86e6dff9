/// A file of comma-separated values, for spreadsheets.
///
/// - Source: RFC 4180 section 2.
package struct CSVFile: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init(_ columns: [String]) { append(columns) }

  /// Appends a line of cells, each in quotes.
  package mutating func append(_ cells: [String]) {
    for (index, cell) in cells.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes.append(UInt8(ascii: "\""))
      // Spreadsheets run a cell that begins so. An apostrophe makes it text.
      if let first = cell.utf8.first, "=+-@\t\r".utf8.contains(first) {
        bytes.append(UInt8(ascii: "'"))
      }
      for byte in cell.utf8 {
        if byte == UInt8(ascii: "\"") { bytes.append(byte) }
        bytes.append(byte)
      }
      bytes.append(UInt8(ascii: "\""))
    }
    bytes += Array("\r\n".utf8)
  }
}
