/// The person who uses the command line, as events name the actor.
///
/// The name is what the operating system or the person states. It grants nothing.
package struct CommandLinePerson: Sendable {
  /// The actor of events: `operator:NAME`, or `administrator:ID` for an account of the console.
  package let actor: String

  /// The greatest number of bytes of a name.
  package static let longest = 64

  /// A person without an account; nil if the text cannot be a name.
  package init?(named name: String) {
    guard (1...Self.longest).contains(name.utf8.count), name.utf8.allSatisfy(Self.isPlain) else {
      return nil
    }
    actor = "operator:\(name)"
  }

  /// A user of the operating system, with other bytes of the name as `%` and two digits; nil if
  /// the name is empty.
  package init?(systemUser name: String) {
    var text = ""
    for byte in name.utf8 {
      let digits = String(byte, radix: 16, uppercase: true)
      let piece =
        Self.isPlain(byte)
        ? String(UnicodeScalar(byte)) : "%" + (digits.utf8.count == 1 ? "0" : "") + digits
      guard text.utf8.count + piece.utf8.count <= Self.longest else { break }
      text += piece
    }
    guard !text.isEmpty else { return nil }
    actor = "operator:\(text)"
  }

  /// An administrator of the console.
  package init(_ administrator: UserID) { actor = "administrator:\(administrator.text)" }

  /// A person by the actor that was stored; nil for an actor of another kind.
  package init?(storedActor actor: String) {
    guard actor.hasPrefix("operator:") || actor.hasPrefix("administrator:") else { return nil }
    self.actor = actor
  }

  /// Returns whether a byte may be in a name: no space, no sign of a shell or of a terminal.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "._@+-".utf8.contains(byte)
    }
  }
}
