import Runtime
import Postgres

/// A code that a user keeps on paper, in place of an authenticator that is lost.
///
/// It has 120 random bits, in four groups of six characters. So a fast keyed hash is enough to store
/// it; codes of less than 112 bits need a password hash. The letters I, L, O and U are not in it. A
/// user who types I, L or O means 1, 1 or 0.
/// - Source: OWASP ASVS 5.0, 6.5.2, for the entropy; Douglas Crockford's base 32, for the alphabet.
struct RecoveryCode: Hashable {
  /// How many codes a user gets at once.
  static let count = 10
  private static let length = 24
  private static let groupLength = 6
  private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

  private let characters: [UInt8]

  /// Makes a new code.
  init() {
    characters = (0..<Self.length).map { _ in Self.alphabet[Int.random(in: 0..<32)] }
  }

  /// Reads what a user typed, in either case, with any spaces and hyphens.
  ///
  /// Returns nil if it does not have the form of a recovery code.
  init?(_ typed: String) {
    var characters: [UInt8] = []
    for byte in typed.utf8.prefix(100) {
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "-"): continue
      case UInt8(ascii: "o"), UInt8(ascii: "O"): characters.append(UInt8(ascii: "0"))
      case UInt8(ascii: "i"), UInt8(ascii: "I"), UInt8(ascii: "l"), UInt8(ascii: "L"):
        characters.append(UInt8(ascii: "1"))
      default:
        let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
        characters.append(isUpper ? byte + 32 : byte)
      }
    }
    guard characters.count == Self.length, characters.allSatisfy(Self.alphabet.contains) else {
      return nil
    }
    self.characters = characters
  }

  /// Returns the code as the user sees it.
  var text: String {
    stride(from: 0, to: characters.count, by: Self.groupLength).map { start in
      String(decoding: characters[start...].prefix(Self.groupLength), as: UTF8.self)
    }.joined(separator: "-")
  }

  /// Returns what the database stores: a keyed hash with the first master key.
  func hash(of user: UserID, _ master: MasterKey) -> BinaryBytes {
    hashes(of: user, master)[0]
  }

  /// Returns the hash by each master key: a code may be older than the first key.
  func hashes(of user: UserID, _ master: MasterKey) -> [BinaryBytes] {
    let named = Array("recovery code \(user) ".utf8) + characters
    return master.checks.indices.map { BinaryBytes(master.hash(of: named, by: $0)) }
  }

  /// Makes the codes of a user, no two of which are the same.
  static func make() -> [RecoveryCode] {
    var codes: Set<RecoveryCode> = []
    while codes.count < count { codes.insert(RecoveryCode()) }
    return Array(codes)
  }
}
