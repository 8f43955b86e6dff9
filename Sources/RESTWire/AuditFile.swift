import Encoding
import HTTP
import JSON
import Runtime

/// The formats of files with audit events.
enum AuditFormat: String, CaseIterable {
  case ndjson
  case csv

  var type: MediaType { self == .csv ? .csv : .ndjson }
}

/// Writes audit events into a file.
struct AuditFile {
  private let format: AuditFormat
  private(set) var bytes: [UInt8] = []

  private static let columns = [
    "id", "at", "app", "user_id", "action", "actor", "session_id", "device_id", "address", "agent",
    "detail", "request_id",
  ]

  init(_ format: AuditFormat) {
    self.format = format
    if format == .csv { append(Self.columns) }
  }

  mutating func append(_ event: AuditEntry) {
    let json = event.jsonWithUser
    switch format {
    case .ndjson:
      bytes += json.serialized()
      bytes.append(UInt8(ascii: "\n"))
    case .csv:
      append(
        Self.columns.map { name in
          let value = json[name] ?? .null
          return value.string ?? (value == .null ? "" : value.text)
        })
    }
  }

  /// Appends a line of cells, each in quotes.
  ///
  /// - Source: RFC 4180 section 2.
  private mutating func append(_ cells: [String]) {
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

extension MediaType {
  static let csv = MediaType(rawValue: "text/csv")
  static let ndjson = MediaType(rawValue: "application/x-ndjson")
}
