package import Runtime
import FoundationEssentials
import JSON
package import Outbound
package import Postgres

/// A mail before or after its storage in the queue.
package struct QueuedMail: Sendable {
  package let id: MailID
  package let message: MailMessage

  /// Creates a new mail.
  package init(_ message: MailMessage) {
    id = MailID()
    self.message = message
  }

  /// Reads a stored mail; returns nil if it cannot be decrypted.
  package init?(_ id: MailID, sealed: [UInt8], _ master: MasterKey) {
    guard let opened = try? master.opened(sealed, as: Self.name(id)),
      let json = try? JSON.parse(opened), let from = json["from"]?.string,
      let to = json["to"]?.string, let subject = json["subject"]?.string,
      let text = json["text"]?.string, let local = json["id"]?.string,
      let date = json["date"]?.number?.int,
      // The same message id and date, so that the recipient can recognize a duplicate.
      let message = try? MailMessage(
        from: MailAddress(from, name: json["from_name"]?.string),
        to: MailAddress(to),
        subject: subject,
        text: text,
        id: local,
        date: date
      )
    else { return nil }
    self.id = id
    self.message = message
  }

  package func sealed(_ master: MasterKey) throws -> BinaryBytes {
    let json: JSON = [
      "from": .string(message.from.address), "from_name": .string(message.from.name ?? ""),
      "to": .string(message.to.address), "subject": .string(message.subject),
      "text": .string(message.text),
      "id": .string(String(message.id.prefix { $0 != "@" })),
      "date": .number(JSONNumber(message.date)),
    ]
    return BinaryBytes(try master.sealed(json.serialized(), as: Self.name(id)))
  }

  /// Returns the name under which the content of a mail is sealed.
  package static func name(_ id: MailID) -> String { "mail \(id)" }
}

package typealias MailID = ID<QueuedMail>
