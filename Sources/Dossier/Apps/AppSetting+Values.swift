package import JSON
import Outbound

extension AppSetting {
  /// Reads a value as somebody types it: `null` for the default, JSON where it is JSON of the
  /// setting's type, any other text as it is; origins one beside the other.
  package func value(of text: String) -> JSON {
    guard let json = try? JSON.parse(Array(text.utf8)) else {
      if case .origins = rule { return AllowedOrigin.list(typed: text) }
      return .string(text)
    }
    let isFit =
      switch rule {
      case .flag: json.bool != nil
      case .number: json.number != nil
      case .choice, .text, .address, .collection, .field: json.string != nil
      case .origins: json.array != nil
      }
    return isFit || json == .null ? json : .string(text)
  }

  /// Code and detail of what is wrong with a value; nil when nothing is.
  func fault(_ value: JSON) -> (String, String)? {
    switch rule {
    case .flag: value.bool == nil ? ("type", "This setting is true or false.") : nil
    case .number(let range, _):
      value.number?.int.map(range.contains) == true
        ? nil : ("range", "This setting is a whole number in \(range).")
    case .choice(let choices, _):
      value.string.map(choices.contains) == true
        ? nil : ("choice", "This setting is one of \(choices.joined(separator: ", ")).")
    case .text(let limit, _):
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
