package import ConsolePages
import Encoding
package import JSON
package import Pages

/// A table of emails: those that wait, and what became of the others.
package enum MailTable {
  /// Returns the table without rows; further columns come last.
  package static func start(
    _ caption: String, _ others: [ConsoleTable.Column] = []
  ) -> ConsoleTable {
    ConsoleTable(
      caption,
      [
        .init("To"), .init("State"), .init("Kind"), .init("Time"),
        .init("Attempts", isNumber: true), .init("Answer of the mail server"),
      ] + others)
  }

  /// Returns the cells of an email; the address leads to its user.
  package static func row(of mail: JSON, user path: LocalPath? = nil) -> [Markup] {
    let address = Part.address(mail["to"]?.string ?? "unreadable")
    let next = mail["next_attempt_at"]?.string
    let answer = mail["answer"]?.string ?? mail["last_error"]?.string ?? ""
    return [
      path.map { #"<a href="\#($0.text)">\#(address)</a>"# } ?? address,
      state(of: mail), Part.name(kind(mail["kind"]?.string ?? "")),
      Part.time(mail["ended_at"]?.string ?? mail["created_at"]?.string),
      "\(mail["attempts"]?.text ?? "")",
      next.map { "\(Part.name(answer)) Next attempt: \(Part.time($0))" } ?? Part.name(answer),
    ]
  }

  private static func state(of mail: JSON) -> Markup {
    switch mail["state"]?.string {
    case "sent": Part.tag("Sent", .success)
    case "failed": Part.tag("Failed", .danger)
    default: Part.tag("Waiting")
    }
  }

  /// Returns the kind in words.
  private static func kind(_ name: String) -> String {
    switch name {
    case "verify": "Address to verify"
    case "reset": "New password"
    case "restore": "Address to restore"
    case "taken": "Address with an account"
    case "unknown": "Address without an account"
    case "change": "Notice of a change"
    case "code": "Code"
    case "operation": "Notice to an administrator"
    case "request": "Request, not composed yet"
    default: name
    }
  }
}
