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
  private var lines: [UInt8] = []
  private var table: CSVFile?

  private static let columns = [
    "id", "at", "app", "user_id", "action", "actor", "session_id", "device_id", "address", "agent",
    "detail", "request_id",
  ]

  init(_ format: AuditFormat) { table = format == .csv ? CSVFile(Self.columns) : nil }

  var bytes: [UInt8] { table?.bytes ?? lines }

  mutating func append(_ event: AuditEntry) {
    let json = event.jsonWithUser
    guard table != nil else {
      lines += json.serialized()
      return lines.append(UInt8(ascii: "\n"))
    }
    table?.append(
      Self.columns.map { name in
        let value = json[name] ?? .null
        return value.string ?? (value == .null ? "" : value.text)
      })
  }
}

extension MediaType {
  static let csv = MediaType(rawValue: "text/csv")
  static let ndjson = MediaType(rawValue: "application/x-ndjson")
}
