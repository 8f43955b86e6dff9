internal import CSodium
internal import Crypto
import FoundationEssentials

/// The operator's secrets, of which every other one is derived or by which it is sealed.
///
/// Whoever has the database without them can neither read the signing keys nor make a token. The
/// first seals and derives what is new; the others open what they sealed, and know the credentials
/// that were issued by them.
package struct MasterKey: Sendable {
  private let secrets: [Derived]

  /// What is derived of one secret; codes are begun with their keys, which takes longer than most of
  /// what they are of.
  private struct Derived {
    let credentialHash: HMAC<SHA256>
    let credentialMark: HMAC<SHA256>
    let failures: HMAC<SHA256>
    let settings: HMAC<SHA256>
    let seal: SymmetricKey
    let check: [UInt8]

    init(_ secret: [UInt8]) {
      let master = SymmetricKey(data: secret)
      func derived(_ purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
          inputKeyMaterial: master,
          info: Data("dossier \(purpose) v1".utf8),
          outputByteCount: 32
        )
      }
      credentialHash = HMAC(key: derived("credential hash"))
      credentialMark = HMAC(key: derived("credential mark"))
      failures = HMAC(key: derived("failures"))
      settings = HMAC(key: derived("settings"))
      seal = derived("seal")
      check = derived("check").withUnsafeBytes { Array($0) }
    }
  }

  /// - Parameter secrets: at least one, each of at least 32 bytes, random.
  package init(_ secrets: [[UInt8]]) {
    precondition(!secrets.isEmpty, "no master key")
    self.secrets = secrets.map(Derived.init)
  }

  /// A single one.
  package init(_ secret: [UInt8]) { self.init([secret]) }

  /// What tells each from others and nothing of it; the database keeps it.
  var checks: [[UInt8]] { secrets.map(\.check) }

  /// What the database keeps of a credential that bears the mark of a secret, by its number.
  func hash(of credential: [UInt8], by number: Int) -> [UInt8] {
    Self.mac(credential, secrets[number].credentialHash)
  }

  /// Tells a credential that was once issued by a secret from one made up, without the database.
  func mark(of credential: [UInt8], by number: Int) -> [UInt8] {
    Self.mac(credential, secrets[number].credentialMark)
  }

  /// Finds the secret whose mark of a credential `isMark` takes for it.
  func number(marking credential: [UInt8], _ isMark: ([UInt8]) -> Bool) -> Int? {
    secrets.indices.first { isMark(mark(of: credential, by: $0)) }
  }

  /// The name under which attempts are counted: their table is not to be a list of who tried to log
  /// in.
  func attemptSubject(_ text: String) -> [UInt8] { Self.mac(Array(text.utf8), secrets[0].failures) }

  /// Returns a hash by which two hosts compare the value of a setting that neither shows.
  func settingHash(of value: String, named name: String) -> [UInt8] {
    Self.mac(Array("\(name)\0\(value)".utf8), secrets[0].settings)
  }

  private static func mac(_ bytes: [UInt8], _ begun: HMAC<SHA256>) -> [UInt8] {
    var code = begun
    code.update(data: bytes)
    return code.finalize().withUnsafeBytes { Array($0) }
  }

  /// Encrypts what rests in the database, bound to the name it rests under.
  func sealed(_ secret: [UInt8], as name: String) throws -> [UInt8] {
    let box = try AES.GCM.seal(secret, using: secrets[0].seal, authenticating: Data(name.utf8))
    return Array(box.combined ?? Data())
  }

  /// - Throws: when it was sealed with another master key, or under another name.
  func opened(_ sealed: [UInt8], as name: String) throws -> [UInt8] {
    let box = try AES.GCM.SealedBox(combined: sealed)
    let name = Data(name.utf8)
    for secret in secrets.dropLast() {
      if let opened = try? AES.GCM.open(box, using: secret.seal, authenticating: name) {
        return Array(opened)
      }
    }
    return Array(
      try AES.GCM.open(box, using: secrets[secrets.count - 1].seal, authenticating: name)
    )
  }
}
