import Encoding
import Localization
import Outbound

/// The subject and the text of a mail, with placeholders.
struct MailTemplate: Sendable {
  private let subject: Template
  private let text: Template

  /// Parses both parts.
  ///
  /// - Parameters:
  ///   - subject: one line; a final line end is removed, since files have one.
  ///   - text: the plain form.
  ///   - names: the names of the available placeholders.
  /// - Throws: `MailTemplateError` with the first placeholder that is not in `names`, or the part
  ///   with an unclosed one; `.brokenSubject` if the subject is invalid.
  init(subject: String, text: String, names: Set<String>) throws(MailTemplateError) {
    let subject = subject.last?.isNewline == true ? String(subject.dropLast()) : subject
    guard !subject.hasControlCharacters else { throw .brokenSubject }
    self.subject = try Self.template(subject, .subject, names)
    self.text = try Self.template(text, .text, names)
  }

  private static func template(
    _ source: String, _ part: MailTemplateError.Part, _ names: Set<String>
  ) throws(MailTemplateError) -> Template {
    let template: Template
    do throws(Template.Unclosed) {
      template = try Template(source)
    } catch {
      throw .unclosed(part)
    }
    if let name = template.names.first(where: { !names.contains($0) }) {
      throw .unknown(name, part)
    }
    return template
  }

  /// Returns the message with the values inserted.
  ///
  /// In the subject, control characters of a value, including line ends, become spaces. A value
  /// there is cut to 100 characters.
  /// - Parameters:
  ///   - from: the sender.
  ///   - to: the recipient.
  ///   - values: the values by placeholder; a missing one is replaced by empty text.
  /// - Returns: the message, with an id of its own.
  /// - Throws: `MailMessageError` if a field of the message is invalid.
  func message(
    from: MailAddress, to: MailAddress, values: [String: String]
  ) throws(MailMessageError) -> MailMessage {
    try MailMessage(
      from: from, to: to, subject: subject.filled { Self.inOneLine(values[$0] ?? "") },
      text: text.filled { values[$0] ?? "" }
    )
  }

  private static func inOneLine(_ value: String) -> String {
    let scalars = value.unicodeScalars.prefix(100).map { scalar in
      scalar.properties.generalCategory == .control ? " " : scalar
    }
    return String(String.UnicodeScalarView(scalars))
  }
}

/// The error in a template, found when it is parsed.
enum MailTemplateError: Error, Equatable, CustomStringConvertible {
  enum Part: String, Sendable { case subject, text }

  /// An unknown placeholder.
  case unknown(String, Part)
  /// `{{` without `}}`.
  case unclosed(Part)
  /// The subject has more than one line, or a control character.
  case brokenSubject

  var description: String {
    switch self {
    case .unknown(let name, let part): "unknown placeholder {{\(name)}} in the \(part.rawValue)"
    case .unclosed(let part): "a placeholder without end in the \(part.rawValue)"
    case .brokenSubject: "the subject is not one line"
    }
  }
}
