import PasswordHashes
import Encoding
package import Postgres

/// A secret that the server issues: refresh tokens, device secrets, API keys, client secrets,
/// mail links and links of administrators.
///
/// It contains the id of its owner, so one read finds it. Its MAC rejects forged credentials
/// without a database query. All have one form: a prefix for the kind, which lets scanners find
/// leaks, then 60 bytes in base64url. These are two ids, a number, 16 random bytes and the MAC.
///
/// A client secret has 40 bytes instead: an id of its own, 12 random bytes and the MAC. Its text has
/// exactly 64 characters, which is the length that OAuth libraries expect of secrets.
package struct Credential {
  package enum Kind: String {
    case refreshToken = "ds_refresh_"
    case device = "ds_device_"
    case apiKey = "ds_apikey_"
    case clientSecret = "ds_client_"
    case verification = "ds_verify_"
    case passwordReset = "ds_reset_"
    case addressRestore = "ds_restore_"
    case flow = "ds_flow_"
    case authorizationCode = "ds_code_"
    case administratorLink = "ds_admin_"
    case console = "ds_console_"

    /// Whether a credential has no part, no number and 12 random bytes.
    fileprivate var isShort: Bool { self == .clientSecret }
    /// The bytes before the random ones.
    fileprivate var headLength: Int { isShort ? 12 : 12 + 12 + 4 }
    fileprivate var saltLength: Int { isShort ? 12 : 16 }
  }

  package let kind: Kind
  /// The bytes under the MAC and the stored hash.
  let payload: [UInt8]
  /// The index of the master key of its MAC; new credentials use the first.
  private var marker = 0

  private static let markLength = 16

  /// - Parameters:
  ///   - kind: the kind, which the MAC covers.
  ///   - owner: the user, device or client that it belongs to.
  ///   - part: a part of the owner, such as a key; not in a client secret.
  ///   - number: at most 32 bits; not in a client secret.
  ///   - salt: 16 random bytes, of which a client secret has the first 12.
  package init<Part>(
    _ kind: Kind, of owner: ID<some Any>, part: ID<Part>? = nil as ID<Never>?, number: Int = 0,
    salt: [UInt8] = Self.salt()
  ) {
    self.kind = kind
    let digits = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    let place = (part?.bytes ?? [UInt8](repeating: 0, count: 12)) + digits
    payload = owner.bytes + (kind.isShort ? [] : place) + salt.prefix(kind.saltLength)
  }

  /// Reads a credential; returns nil if it was never issued as that kind with this master key.
  package init?(_ kind: Kind, _ text: some StringProtocol, _ key: MasterKey) {
    let length = kind.headLength + kind.saltLength
    let (text, prefix) = (String(text).utf8, kind.rawValue.utf8)
    guard text.starts(with: prefix),
      let bytes = [UInt8](base64URL: Substring(text.dropFirst(prefix.count))),
      bytes.count == length + Self.markLength
    else { return nil }
    self.kind = kind
    payload = Array(bytes.prefix(length))
    let mark = Array(bytes.suffix(Self.markLength))
    let number = key.number(marking: tagged) {
      areSame(Array($0.prefix(Self.markLength)), mark)
    }
    guard let number else { return nil }
    marker = number
  }

  package func owner<Of>(as type: ID<Of>.Type = ID<Of>.self) -> ID<Of> {
    ID(bytes: payload[0..<12])
  }
  package func part<Of>(as type: ID<Of>.Type = ID<Of>.self) -> ID<Of> {
    ID(bytes: payload[12..<24])
  }
  package var number: Int {
    kind.isShort ? 0 : payload[24..<28].reduce(0) { $0 << 8 | Int($1) }
  }
  package var salt: [UInt8] { Array(payload[kind.headLength...]) }

  package func text(_ key: MasterKey) -> String { kind.rawValue + (payload + mark(key)).base64URL }

  /// Returns the hash that the database stores, if it need not recreate the credential.
  package func hash(_ key: MasterKey) -> BinaryBytes {
    BinaryBytes(key.hash(of: tagged, by: marker))
  }

  /// Returns the hash of the credential together with a short code that the client must also know.
  package func hash(with text: String, _ key: MasterKey) -> BinaryBytes {
    BinaryBytes(key.hash(of: tagged + Array(text.utf8), by: marker))
  }

  /// Returns 16 random bytes; each `UInt64.random` is one system call.
  package static func salt() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(16)
    for _ in 0..<2 {
      let random = UInt64.random(in: .min ... .max)
      for shift: UInt64 in [56, 48, 40, 32, 24, 16, 8, 0] {
        bytes.append(UInt8(truncatingIfNeeded: random >> shift))
      }
    }
    return bytes
  }

  private func mark(_ key: MasterKey) -> [UInt8] {
    Array(key.mark(of: tagged, by: marker).prefix(Self.markLength))
  }

  private var tagged: [UInt8] { Array(kind.rawValue.utf8) + payload }
}
