import PasswordHashes
import Notation
import Postgres

/// What the server gives out to be shown again: refresh tokens, device secrets, API keys, keys of
/// clients, links in mails.
///
/// It names what it belongs to, so that one read finds it, and a mark keeps made-up ones away from
/// the database. All have one form: a prefix that tells its kind (and lets scanners find leaked
/// ones), then 60 bytes in base64url, which are two ids, a number, 16 random bytes and the mark.
struct Credential {
  enum Kind: String {
    case refreshToken = "drt_"
    case device = "ddv_"
    case apiKey = "dak_"
    case clientKey = "dck_"
    case verification = "dct_"
    case passwordReset = "dpr_"
    case addressRestore = "doa_"
    case flow = "dfl_"
  }

  let kind: Kind
  /// All that the mark covers, and what a stored hash is of.
  let payload: [UInt8]
  /// Which of the master keys it bears the mark of; new ones bear that of the first.
  private var marker = 0

  private static let payloadLength = 12 + 12 + 4 + 16
  private static let markLength = 16

  /// - Parameters:
  ///   - kind: what it is for; one kind is never taken for another.
  ///   - owner: what it belongs to.
  ///   - part: which thing of the owner's.
  ///   - number: at most 32 bits.
  ///   - salt: 16 random bytes.
  init<Part>(
    _ kind: Kind,
    of owner: ID<some Any>,
    part: ID<Part>? = nil as ID<Never>?,
    number: Int = 0,
    salt: [UInt8] = Self.salt()
  ) {
    self.kind = kind
    let digits = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    payload = owner.bytes + (part?.bytes ?? [UInt8](repeating: 0, count: 12)) + digits + salt
  }

  /// Reads what a client sent; nil when it was never issued as that kind with this master key.
  init?(_ kind: Kind, _ text: some StringProtocol, _ key: MasterKey) {
    guard text.hasPrefix(kind.rawValue),
      let bytes = [UInt8](base64URL: text.dropFirst(kind.rawValue.count)),
      bytes.count == Self.payloadLength + Self.markLength
    else { return nil }
    self.kind = kind
    payload = Array(bytes.prefix(Self.payloadLength))
    let mark = Array(bytes.suffix(Self.markLength))
    let number = key.number(marking: tagged) {
      areSame(Array($0.prefix(Self.markLength)), mark)
    }
    guard let number else { return nil }
    marker = number
  }

  func owner<Of>(as type: ID<Of>.Type = ID<Of>.self) -> ID<Of> { ID(bytes: payload[0..<12]) }
  func part<Of>(as type: ID<Of>.Type = ID<Of>.self) -> ID<Of> { ID(bytes: payload[12..<24]) }
  var number: Int { payload[24..<28].reduce(0) { $0 << 8 | Int($1) } }
  var salt: [UInt8] { Array(payload[28...]) }

  func text(_ key: MasterKey) -> String { kind.rawValue + (payload + mark(key)).base64URL }

  /// What the database keeps, where it need not make the credential again.
  func hash(_ key: MasterKey) -> BinaryBytes { BinaryBytes(key.hash(of: tagged, by: marker)) }

  /// As `hash`, of it together with something short that its holder has to know besides.
  func hash(with text: String, _ key: MasterKey) -> BinaryBytes {
    BinaryBytes(key.hash(of: tagged + Array(text.utf8), by: marker))
  }

  /// Returns 16 random bytes; each `UInt64.random` is one call of the system.
  static func salt() -> [UInt8] {
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
