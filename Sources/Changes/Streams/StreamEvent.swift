package import JSON
package import Runtime

/// The events of a stream, as server-sent events.
///
/// - Source: HTML Standard, section 9.2.
enum StreamEvent {
  /// The head of the response, and the time after which a browser connects again.
  static let head = Array(
    """
    Status: 200 OK\r
    Content-Type: text/event-stream\r
    Cache-Control: no-store\r
    \r
    retry: 2000


    """.utf8)

  /// A comment, which keeps connections of proxies open.
  static let heartbeat = Array(":\n\n".utf8)

  /// Returns the first event, with the cursor of the present state.
  static func ready(_ cursor: String) -> [UInt8] { event("ready", id: cursor, JSONObject()) }

  /// Returns the event for changed parts, with their versions.
  static func change(_ parts: [UserPart], of state: UserState, _ cursor: String) -> [UInt8] {
    event("change", id: cursor, state.changed(parts))
  }

  /// Returns the last event of a session that is over.
  static func end(_ reason: String) -> [UInt8] {
    event("end", id: nil, JSONObject([("reason", .string(reason))]))
  }

  /// The last event of a stream that the client is to open again.
  static let reconnect = event("reconnect", id: nil, JSONObject())

  /// Returns the answer that refuses a stream; nginx adds the body.
  static func refusal(_ status: String) -> [UInt8] {
    Array("Status: \(status)\r\nContent-Length: 0\r\n\r\n".utf8)
  }

  private static func event(_ name: String, id: String?, _ data: JSONObject) -> [UInt8] {
    let id = id.map { "id: \($0)\n" } ?? ""
    return Array("event: \(name)\n\(id)data: ".utf8) + JSON.object(data).serialized()
      + Array("\n\n".utf8)
  }
}

extension UserState {
  /// Returns an object with changed parts, each with its version if it has one.
  package func changed(_ parts: [UserPart]) -> JSONObject {
    JSONObject(
      parts.map { part in
        let version = version(of: part).map { [("version", JSON.number(JSONNumber($0)))] } ?? []
        return (part.rawValue, .object(JSONObject(version)))
      })
  }
}
