internal import Crypto
import Encoding
import FoundationEssentials
import JSON

/// The keys of a webhook, which sign its deliveries.
///
/// After a rotation, the key before signs too for a day, so that a receiver can change its key
/// meanwhile.
/// - Source: Standard Webhooks 1.0.
package struct WebhookKeys: Sendable, Equatable {
  /// The ways to sign.
  package enum Kind: String, CaseIterable, Sendable {
    case hmac
    case ed25519
  }

  struct Key: Sendable, Equatable {
    let bytes: [UInt8]
    /// The second since 1970 until which it signs; nil for the present key.
    var until: Int?
  }

  let kind: Kind
  private(set) var all: [Key]

  /// How long a key signs after its successor was made, in seconds.
  package static let overlap = 86_400
  /// The most keys that sign at once: each is a part of one header field.
  static let most = 5
  private static let length = 32

  /// Creates a new key.
  package init(_ kind: Kind) {
    self.kind = kind
    all = [Self.newKey()]
  }

  private static func newKey() -> Key {
    Key(bytes: SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) })
  }

  /// Makes a new key the present one.
  package mutating func rotate(at second: Int) {
    all = all.compactMap { key in
      var key = key
      key.until = key.until ?? second + Self.overlap
      return key.until ?? 0 > second ? key : nil
    }
    all = Array(([Self.newKey()] + all).prefix(Self.most))
  }

  // MARK: Stored form

  /// Reads the stored form; nil for another text.
  package init?(stored bytes: [UInt8]) {
    guard let json = try? JSON.parse(bytes), let kind = json["kind"]?.string.flatMap(Kind.init),
      let keys = json["keys"]?.array, !keys.isEmpty
    else { return nil }
    self.kind = kind
    all = keys.compactMap { key in
      guard let bytes = key["key"]?.string.flatMap({ [UInt8](paddedBase64: $0) }),
        bytes.count == Self.length
      else { return nil }
      return Key(bytes: bytes, until: key["until"]?.number?.int)
    }
    guard all.count == keys.count else { return nil }
  }

  package var stored: [UInt8] {
    let keys = all.map { key in
      var members = JSONObject([("key", .string(key.bytes.paddedBase64))])
      members["until"] = key.until.map { .number(JSONNumber($0)) }
      return JSON.object(members)
    }
    let json: JSON = ["kind": .string(kind.rawValue), "keys": .array(JSONArray(keys))]
    return json.serialized()
  }

  // MARK: Use

  /// The secret, or the public key, that the receiver needs.
  package var shown: String {
    switch kind {
    case .hmac: "whsec_\(all[0].bytes.paddedBase64)"
    case .ed25519: "whpk_\(Self.publicKey(all[0].bytes).paddedBase64)"
    }
  }

  private static func publicKey(_ bytes: [UInt8]) -> [UInt8] {
    guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes) else { return [] }
    return Array(key.publicKey.rawRepresentation)
  }

  /// Returns the header fields of an attempt.
  ///
  /// - Parameters:
  ///   - body: the body of the call.
  ///   - id: the id of the event, the same for each attempt.
  ///   - second: the time of the attempt in seconds since 1970.
  /// - Returns: the names and values.
  package func fields(
    for body: [UInt8], id: String, at second: Int
  ) -> [(name: String, value: String)] {
    let signed = Array("\(id).\(second).".utf8) + body
    let keys = all.filter { $0.until.map { $0 > second } ?? true }
    let signatures = keys.compactMap { signature(of: signed, by: $0.bytes) }
    return [
      ("webhook-id", id), ("webhook-timestamp", String(second)),
      ("webhook-signature", signatures.joined(separator: " ")),
    ]
  }

  private func signature(of bytes: [UInt8], by key: [UInt8]) -> String? {
    switch kind {
    case .hmac:
      let code = HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key))
      return "v1,\(Array(code).paddedBase64)"
    case .ed25519:
      guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: key),
        let signature = try? key.signature(for: bytes)
      else { return nil }
      return "v1a,\(Array(signature).paddedBase64)"
    }
  }
}
