internal import Crypto
import FoundationEssentials

/// The operator's secret, of which every other one is derived or by which it is sealed.
///
/// Whoever has the database without it can neither read the signing keys nor make a token.
package struct MasterKey: Sendable {
  private let credentialHash: SymmetricKey
  private let credentialMark: SymmetricKey
  private let failures: SymmetricKey
  private let passwordSalts: SymmetricKey
  private let seal: SymmetricKey

  /// - Parameter secret: at least 32 bytes, random.
  package init(_ secret: [UInt8]) {
    let master = SymmetricKey(data: secret)
    func derived(_ purpose: String) -> SymmetricKey {
      HKDF<SHA256>.deriveKey(
        inputKeyMaterial: master,
        info: Data("dossier \(purpose) v1".utf8),
        outputByteCount: 32
      )
    }
    credentialHash = derived("credential hash")
    credentialMark = derived("credential mark")
    failures = derived("failures")
    passwordSalts = derived("password salts")
    seal = derived("seal")
  }

  /// What the database keeps of a credential.
  func hash(of credential: [UInt8]) -> [UInt8] { mac(credential, credentialHash) }

  /// Tells a credential that was once issued from one made up, without the database.
  func mark(of credential: [UInt8]) -> [UInt8] { mac(credential, credentialMark) }

  /// The name under which attempts are counted: their table is not to be a list of who tried to log
  /// in.
  func attemptSubject(_ text: String) -> [UInt8] { mac(Array(text.utf8), failures) }

  /// Bytes that go with one name and cannot be foretold by others.
  func passwordSalt(_ name: String) -> [UInt8] { mac(Array(name.utf8), passwordSalts) }

  private func mac(_ bytes: [UInt8], _ key: SymmetricKey) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
  }

  /// Encrypts what rests in the database, bound to the name it rests under.
  func sealed(_ secret: [UInt8], as name: String) throws -> [UInt8] {
    let box = try AES.GCM.seal(secret, using: seal, authenticating: Data(name.utf8))
    return Array(box.combined ?? Data())
  }

  /// - Throws: when it was sealed with another master key, or under another name.
  func opened(_ sealed: [UInt8], as name: String) throws -> [UInt8] {
    let box = try AES.GCM.SealedBox(combined: sealed)
    return Array(try AES.GCM.open(box, using: seal, authenticating: Data(name.utf8)))
  }
}

/// Compares without telling by its time where the two differ.
func isEqualInConstantTime(_ first: [UInt8], _ second: [UInt8]) -> Bool {
  guard first.count == second.count else { return false }
  return zip(first, second).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
}
