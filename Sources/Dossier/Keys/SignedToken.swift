import FoundationEssentials
import JSON
import Notation

/// A JWT as it came: its head and its claims have passed our gate, and nothing in it is verified.
///
/// All tokens are read here before jwt-kit sees them.
struct SignedToken {
  let head: JSONObject
  let claims: JSONObject

  /// Reads a token; nil for what is none, or has a large number in its head.
  ///
  /// No parameter of the head of a signed token is one, and jwt-kit stops the process over a number
  /// that is whole and no `Int`, such as `1e300`.
  /// - Source: RFC 7515 sections 4 and 7.1.
  init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let head = Self.object(parts[0]), let claims = Self.object(parts[1]),
      !Self.hasLargeNumber(.object(head))
    else { return nil }
    (self.head, self.claims) = (head, claims)
  }

  private static func object(_ part: Substring) -> JSONObject? {
    Data(base64URL: part).flatMap { (try? JSON.parse([UInt8]($0)))?.object }
  }

  private static func hasLargeNumber(_ value: JSON) -> Bool {
    switch value {
    // Below this, doubles are whole numbers that an Int holds.
    case .number(let number): number.double.map { abs($0) >= 0x1p53 } ?? true
    case .array(let elements): elements.contains(where: hasLargeNumber)
    case .object(let object): object.contains { hasLargeNumber($0.value) }
    default: false
    }
  }
}
