import Encoding
package import Events
import Runtime

/// An event as a message of syslog.
///
/// The text is the event as JSON. Structured data has the sender and the position in the feed, so that
/// a log system sees gaps and repetitions.
/// - Source: RFC 5424.
package struct SyslogMessage {
  /// Of security and authorization messages, which hosts keep apart: `authpriv`.
  private static let facility = 10
  private static let informational = 6
  /// The greatest value of `sequenceId`; 1 follows.
  private static let greatestNumber = 2_147_483_647

  private let message: FeedMessage
  private let position: Int
  private let stream: String
  private let sender: SyslogSender

  /// - Parameters:
  ///   - message: the event.
  ///   - position: its position in the feed.
  ///   - stream: the name of the stream.
  ///   - sender: the process that sends it.
  package init(
    _ message: FeedMessage, at position: Int, of stream: String, from sender: SyslogSender
  ) {
    (self.message, self.position, self.stream, self.sender) = (message, position, stream, sender)
  }

  package var bytes: [UInt8] {
    let number = max(0, position - 1) % Self.greatestNumber + 1
    let header = [
      "<\(Self.facility * 8 + Self.informational)>1", Self.time(message.at.text),
      Self.word(sender.host, 255), Self.word("dossier", 48), Self.word(String(sender.process), 128),
      Self.word(message.type, 32),
    ]
    let data =
      "[origin software=\"Dossier\" swVersion=\(Self.value(sender.version, 32))]"
      + "[meta sequenceId=\"\(number)\"]"
    let event = String(decoding: message.body, as: UTF8.self)
    var text = "{\"stream\":\(Self.quoted(stream)),\"event\":\(event)}"
    text = Self.withoutControls(text)
    return Array("\(header.joined(separator: " ")) \(data) \(text)".utf8)
  }

  /// Returns a time with `Z`, and with at most six digits of the fraction.
  private static func time(_ text: String) -> String { "\(text.prefix { $0 != "+" })Z" }

  /// Returns a field of the header: visible ASCII of a limited length; `-` if nothing is left.
  static func word(_ text: String, _ longest: Int) -> String {
    let bytes = text.utf8.filter(\.isVisible).prefix(longest)
    return bytes.isEmpty ? "-" : String(decoding: Array(bytes), as: UTF8.self)
  }

  /// Returns the value of a parameter of structured data, in quotes, with its escapes.
  static func value(_ text: String, _ longest: Int) -> String {
    var escaped = "\""
    for character in text.unicodeScalars.prefix(longest) {
      if ["\"", "\\", "]"].contains(character) { escaped += "\\" }
      escaped.unicodeScalars.append(character)
    }
    return escaped + "\""
  }

  /// A slug needs no escape.
  private static func quoted(_ slug: String) -> String {
    "\"\(slug.filter { $0 != "\"" && $0 != "\\" })\""
  }

  /// JSON has control characters only between its values.
  private static func withoutControls(_ text: String) -> String {
    let bytes = text.utf8.map { $0 < 0x20 ? UInt8(ascii: " ") : $0 }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The process that sends messages of syslog.
package struct SyslogSender: Sendable {
  package let host: String
  package let process: Int
  package let version: String

  package init(host: String, process: Int, version: String) {
    (self.host, self.process, self.version) = (host, process, version)
  }
}
