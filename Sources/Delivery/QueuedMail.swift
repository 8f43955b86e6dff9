package import Runtime
import FoundationEssentials
import JSON
package import Outbound
package import Postgres

/// A mail before or after its storage in the queue.
package struct QueuedMail: Sendable {
  package let id: MailID
  /// The message, without its HTML part.
  package let message: MailMessage
  /// The language tag of the text.
  package let language: String
  /// The code or the token in the text; nil if it has none.
  package let secret: String?
  /// The label of the button that opens the link; nil if the text has none.
  package let label: String?

  /// Creates a new mail.
  init(_ message: MailMessage, language: String, secret: String?, label: String?) {
    id = MailID()
    self.message = message
    (self.language, self.secret, self.label) = (language, secret, label)
  }

  /// Reads a stored mail; returns nil if it cannot be decrypted.
  package init?(_ id: MailID, sealed: [UInt8], _ master: MasterKey) {
    guard let json = master.openedJSON(sealed, as: Self.name(id)),
      let from = json["from"]?.string,
      let to = json["to"]?.string, let subject = json["subject"]?.string,
      let text = json["text"]?.string, let local = json["id"]?.string,
      let date = json["date"]?.number?.int,
      // The same message id and date, so that the recipient can recognize a duplicate.
      let message = try? MailMessage(
        from: MailAddress(from, name: json["from_name"]?.string), to: MailAddress(to),
        subject: subject, text: text, id: local, date: date
      )
    else { return nil }
    self.id = id
    self.message = message
    // A mail of an earlier version has no language.
    language = json["language"]?.string ?? MailCatalogs.english.language
    secret = json["secret"]?.string
    label = json["label"]?.string
  }

  package func sealed(_ master: MasterKey) throws(Failure) -> BinaryBytes {
    let json: JSON = [
      "from": .string(message.from.address), "from_name": .string(message.from.name ?? ""),
      "to": .string(message.to.address), "subject": .string(message.subject),
      "text": .string(message.text),
      "id": .string(String(message.id.prefix { $0 != "@" })),
      "date": .number(JSONNumber(message.date)), "language": .string(language),
      "secret": secret.map(JSON.string) ?? .null, "label": label.map(JSON.string) ?? .null,
    ]
    return BinaryBytes(try master.sealed(json.serialized(), as: Self.name(id)))
  }

  /// Returns the name under which the content of a mail is sealed.
  package static func name(_ id: MailID) -> String { "mail \(id)" }
}

package typealias MailID = ID<QueuedMail>
