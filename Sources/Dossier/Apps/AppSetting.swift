package import JSON
import Outbound

/// What an operator can choose for an app, as `AppSettings` declares it.
package struct AppSetting: Sendable {
  package let name: String
  package let rule: SettingRule
  /// For people.
  package let meaning: String

  /// In the order in which people are told of them.
  package static let all: [AppSetting] = {
    var reader = SettingsReader(JSONObject(), isListing: true)
    _ = AppSettings(&reader)
    return reader.settings
  }()

  package static func named(_ name: String) -> AppSetting? {
    all.first { $0.name.hasSameBytes(as: name) }
  }
}

/// What the value of a setting must be.
package enum SettingRule: Sendable {
  case flag
  case number(ClosedRange<Int>)
  case choice([String])
  /// At most so many characters.
  case text(Int)
  case address
  /// `service/database/collection`, or nothing.
  case collection
  /// The name of a field of a document.
  case field
  case origins

  /// Reads a value as somebody types it: `null` for the default, JSON where it is JSON of the
  /// setting's type, any other text as it is; origins one beside the other.
  package func value(of text: String) -> JSON {
    guard let json = try? JSON.parse(Array(text.utf8)) else {
      if case .origins = self { return AllowedOrigin.list(typed: text) }
      return .string(text)
    }
    let isFit =
      switch self {
      case .flag: json.bool != nil
      case .number: json.number != nil
      case .choice, .text, .address, .collection, .field: json.string != nil
      case .origins: json.array != nil
      }
    return isFit || json == .null ? json : .string(text)
  }

  /// Code and detail of what is wrong with a value; nil when nothing is.
  func fault(_ value: JSON) -> (String, String)? {
    switch self {
    case .flag: value.bool == nil ? ("type", "This setting is true or false.") : nil
    case .number(let range):
      value.number?.int.map(range.contains) == true
        ? nil : ("range", "This setting is a whole number in \(range).")
    case .choice(let choices):
      value.string.map(choices.contains) == true
        ? nil : ("choice", "This setting is one of \(choices.joined(separator: ", ")).")
    case .text(let limit):
      value.string.map { (1...limit).contains($0.unicodeScalars.count) } == true
        ? nil : ("length", "This setting is a text of 1 to \(limit) characters.")
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
    }
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
    (1...100).contains(text.unicodeScalars.count) && text != "_id"
      && text.unicodeScalars.allSatisfy {
        $0 != "." && $0 != "$" && $0.properties.generalCategory != .control
      }
  }
}
