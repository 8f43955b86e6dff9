package import JSON
import Outbound

/// A setting of an app, as `AppSettings` declares it.
package struct AppSetting: Sendable {
  package let name: String
  package let rule: SettingRule
  /// Description for operators.
  package let meaning: String

  /// All settings, in display order.
  package static let all: [AppSetting] = {
    var reader = SettingsReader(JSONObject(), isListing: true)
    _ = AppSettings(&reader)
    return reader.settings
  }()

  package static func named(_ name: String) -> AppSetting? {
    all.first { $0.name.hasSameBytes(as: name) }
  }
}

/// The rule for the value of a setting.
package enum SettingRule: Sendable {
  case flag
  case number(ClosedRange<Int>)
  case choice([String])
  /// A list of some of these words.
  case choices([String])
  /// The display name of the sender address.
  case senderName
  /// The name that authenticator apps show, or empty.
  case issuerName
  case address
  /// `service/database/collection`, or empty.
  case collection
  /// The name of a field of a document.
  case field
  case origins
  /// The URL of a web page, or empty.
  case page
  /// The subject line of a mail.
  case subject(of: MailKind)
  case body(of: MailKind)
  /// Texts of mails by language.
  case translations

  /// Reads a value as an operator types it.
  ///
  /// `null` resets to the default. JSON of the setting's type is read as JSON, any other text as a
  /// string. Lists may be typed without JSON.
  package func value(of text: String) -> JSON {
    guard let json = try? JSON.parse(Array(text.utf8)) else {
      switch self {
      case .origins, .choices: return Self.list(typed: text)
      default: return .string(text)
      }
    }
    let isFit =
      switch self {
      case .flag: json.bool != nil
      case .number: json.number != nil
      case .choice, .senderName, .issuerName, .address, .collection, .field, .page, .subject, .body:
        json.string != nil
      case .origins, .choices: json.array != nil
      case .translations: json.object != nil
      }
    return isFit || json == .null ? json : .string(text)
  }

  /// Reads the entries of a list as an operator types them, separated by commas or spaces.
  private static func list(typed text: String) -> JSON {
    .array(text.split { $0 == "," || $0 == " " }.map { .string(String($0)) })
  }

  /// Returns the code and detail of the fault of a value; nil if it is valid.
  func fault(_ value: JSON) -> (String, String)? {
    switch self {
    case .flag: value.bool == nil ? ("type", "This setting is true or false.") : nil
    case .number(let range):
      value.number?.int.map(range.contains) == true
        ? nil : ("range", "This setting is a whole number in \(range).")
    case .choice(let choices):
      value.string.map(choices.contains) == true
        ? nil : ("choice", "This setting is one of \(choices.joined(separator: ", ")).")
    case .choices(let choices):
      value.array?.allSatisfy { $0.string.map(choices.contains) == true } == true
        ? nil : ("choice", "This setting is a list out of \(choices.joined(separator: ", ")).")
    case .senderName:
      Self.lengthFault(value, 100)
        ?? value.string.flatMap { MailAddress.fault(inName: $0) }.map { _ in
          ("control", "This setting is of one line, without control characters.")
        }
    case .issuerName:
      value.string.map { $0.unicodeScalars.count <= 100 && !$0.contains(":") } == true
        ? nil
        : ("name", "This setting is a name of up to 100 characters without a colon, or empty.")
    case .subject(let kind):
      Self.lengthFault(value, Self.longestSubject)
        ?? Self.templateFault(subject: value.string ?? "", text: "", kind)
    case .body(let kind):
      Self.lengthFault(value, Self.longestBody)
        ?? Self.templateFault(subject: "", text: value.string ?? "", kind)
    case .address:
      value.string.map { MailAddress.fault(in: $0) == nil } == true
        ? nil : ("email", "This setting is an address of mail.")
    case .collection:
      value.string.map(Self.isCollection) == true
        ? nil : ("collection", "This setting is service/database/collection, or empty.")
    case .field:
      value.string.map(Self.isField) == true
        ? nil : ("field", "This setting is a name of 1 to 100 characters without dots and dollars.")
    case .origins:
      AllowedOrigin.fault(in: value).map { ("origin", $0) }
    case .page:
      value.string.map(Self.isPage) == true
        ? nil
        : (
          "page",
          "This setting is the address of a page without a fragment (#), by https or of this "
            + "machine, such as https://app.example.com/account, or empty."
        )
    case .translations: MailTranslations.fault(in: value).map { ("translation", $0) }
    }
  }

  /// In characters.
  package static let longestSubject = 200
  package static let longestBody = 20_000

  private static func lengthFault(_ value: JSON, _ limit: Int) -> (String, String)? {
    value.string.map { (1...limit).contains($0.unicodeScalars.count) } == true
      ? nil : ("length", "This setting is a text of 1 to \(limit) characters.")
  }

  private static func templateFault(
    subject: String,
    text: String,
    _ kind: MailKind
  ) -> (String, String)? {
    do throws(MailTemplateError) {
      _ = try MailTemplate(subject: subject, text: text, names: kind.places)
      return nil
    } catch {
      return ("template", "No mail can be made of this: \(error).")
    }
  }

  private static func isPage(_ text: String) -> Bool {
    guard !text.isEmpty else { return true }
    let starts = ["https://", "http://127.0.0.1", "http://localhost"]
    return text.utf8.count <= 1_000 && starts.contains { text.hasPrefix($0) && text != "https://" }
      && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }
  }

  private static func isCollection(_ text: String) -> Bool {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    return text.isEmpty
      || parts.count == 3
        && parts.allSatisfy { part in
          (1...120).contains(part.utf8.count)
            && part.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        }
  }

  private static func isField(_ text: String) -> Bool {
    (1...100).contains(text.unicodeScalars.count)
      && text.unicodeScalars.allSatisfy {
        $0 != "." && $0 != "$" && $0.properties.generalCategory != .control
      }
  }
}
