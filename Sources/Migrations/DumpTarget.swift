import CPostgres
import FoundationEssentials

/// The connection of pg_dump.
///
/// The environment holds the password, since other users cannot read it.
struct DumpTarget {
  let conninfo: String
  let environment: [String: String]

  init(_ conninfo: String) throws(MigrationError) {
    guard let options = PQconninfoParse(conninfo, nil) else {
      throw .cannotConnect("the connection string is malformed")
    }
    defer { PQconninfoFree(options) }
    var words: [String] = []
    var environment = ProcessInfo.processInfo.environment
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val.map({ String(cString: $0) }) {
        let keyword = String(cString: keyword)
        if keyword == "password" {
          environment["PGPASSWORD"] = value
        } else {
          let escaped = value.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
          words.append("\(keyword)='\(escaped)'")
        }
      }
      option += 1
    }
    self.conninfo = words.joined(separator: " ")
    self.environment = environment
  }
}
