import Encoding
import JSON

/// The rules for client data: the statement of a browser, which the authenticator signs.
///
/// - Source: WebAuthn sections 5.8.1, 7.1 and 7.2. Unknown members are accepted, since clients add
///   some on purpose.
struct ClientData {
  /// The greatest length in bytes.
  static let limit = 4_096

  enum Kind: String, Sendable {
    case creation = "webauthn.create"
    case assertion = "webauthn.get"
  }

  /// Verifies client data.
  ///
  /// - Parameters:
  ///   - bytes: the client data, as the authenticator signed it.
  ///   - kind: the ceremony for which it must be.
  ///   - challenge: the challenge that was issued.
  ///   - relyingParty: the party whose origins are accepted.
  /// - Throws: `.invalidClientData` with the rule that it breaks.
  static func verify(
    _ bytes: [UInt8], _ kind: Kind, challenge: [UInt8], _ relyingParty: RelyingParty
  ) throws(WebAuthnError) {
    guard bytes.count <= limit else {
      throw .invalidClientData(rule: "it is longer than \(limit) bytes")
    }
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    let text = bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
    guard let members = (try? JSON.parse(text))?.object else {
      throw .invalidClientData(rule: "it is not a JSON object of unique keys in UTF-8")
    }
    guard let type = members["type"]?.string, type.hasSameBytes(as: kind.rawValue) else {
      throw .invalidClientData(rule: "its type is not \(kind.rawValue)")
    }
    guard let stated = members["challenge"]?.string, isSame(stated, challenge.base64URL) else {
      throw .invalidClientData(rule: "its challenge is not the issued one")
    }
    guard let origin = members["origin"]?.string, relyingParty.accepts(origin) else {
      throw .invalidClientData(rule: "its origin is not accepted")
    }
    guard members["crossOrigin"].map({ $0 == false }) ?? true, members["topOrigin"] == nil else {
      throw .invalidClientData(rule: "it is from a frame of another origin")
    }
  }

  /// Returns whether two texts have the same bytes, in a time that depends only on their lengths.
  private static func isSame(_ first: String, _ second: String) -> Bool {
    guard first.utf8.count == second.utf8.count else { return false }
    return zip(first.utf8, second.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
