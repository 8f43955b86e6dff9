import Events
import JSON

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
  static func change(_ parts: JSONObject, _ cursor: String) -> [UInt8] {
    event("change", id: cursor, parts)
  }

  /// Returns an event of a feed, with the cursor after it.
  static func event(_ event: FeedEvent, _ cursor: String) -> [UInt8] {
    Self.event("event", id: cursor, FeedMessage(event).body)
  }

  /// Returns the last event of a stream that has nothing more to tell.
  static func end(_ reason: String) -> [UInt8] {
    event("end", id: nil, JSONObject([("reason", .string(reason))]))
  }

  /// The last event of a stream that the client is to open again.
  static let reconnect = event("reconnect", id: nil, JSONObject())

  /// Returns the answer that refuses a stream; nginx adds the body.
  static func refusal(_ status: String) -> [UInt8] {
    Array("Status: \(status)\r\nContent-Length: 0\r\n\r\n".utf8)
  }

  /// Returns a whole answer with the numbers of the program.
  static func metrics(_ text: String) -> [UInt8] {
    Array("Status: 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n\(text)".utf8)
  }

  private static func event(_ name: String, id: String?, _ data: JSONObject) -> [UInt8] {
    event(name, id: id, JSON.object(data).serialized())
  }

  private static func event(_ name: String, id: String?, _ data: [UInt8]) -> [UInt8] {
    let id = id.map { "id: \($0)\n" } ?? ""
    return Array("event: \(name)\n\(id)data: ".utf8) + data + Array("\n\n".utf8)
  }
}
