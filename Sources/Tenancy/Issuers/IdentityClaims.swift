import Encoding
package import JSON

/// The claims of an issuer's token that an identity keeps, as texts by their names here.
///
/// They show what the issuer last stated. They prove nothing: an address among them is not the
/// address of the user.
package struct IdentityClaims: Sendable {
  package private(set) var values = JSONObject()
  /// The names of the operator for which the token has no claim.
  package internal(set) var absent: [String] = []

  /// In bytes, as JSON: with the profile of a link, an exported identity can be imported.
  private static let limit = 2_000
  private static let valueLimit = 1_000
  package static let countLimit = 50

  package init() {}

  /// Adds a claim, unless its name is invalid, it is too long, or is no text, number or boolean.
  package mutating func add(_ name: String, _ claim: JSON?) {
    guard Self.isName(name) else { return }
    let text: String
    switch claim {
    case .string(let value): text = value
    case .number(let value): text = value.text
    case .bool(let value): text = value ? "true" : "false"
    case .null, .array, .object, nil: return
    }
    guard (1...Self.valueLimit).contains(text.utf8.count) else { return }
    var values = values
    values[name] = .string(text)
    guard values.count <= Self.countLimit,
      JSON.object(values).serialized().count <= Self.limit
    else { return }
    self.values = values
  }

  /// Returns whether a claim may have this name: one of a property in code, except `id`.
  package static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && text != "id"
      && text.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
  }
}
