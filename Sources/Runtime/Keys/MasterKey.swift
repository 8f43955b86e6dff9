internal import CSodium
internal import Crypto
import Encoding
import EventLoop
import FoundationEssentials
import Glibc
package import JSON

/// The operator's secrets, which derive or encrypt all other secrets.
///
/// With the database alone, an attacker can neither read the signing keys nor make a token. The
/// first secret encrypts and derives new values. The others decrypt older values and verify older
/// credentials.
package struct MasterKey: Sendable {
  private let secrets: [Derived]

  /// The keys derived from one secret.
  ///
  /// HMACs are stored with their keys already hashed, which takes longer than hashing most inputs.
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
          inputKeyMaterial: master, info: Data("dossier \(purpose) v1".utf8), outputByteCount: 32
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

  /// - Parameter secrets: at least one, each of at least 32 random bytes.
  package init(_ secrets: [[UInt8]]) {
    precondition(!secrets.isEmpty, "no master key")
    self.secrets = secrets.map(Derived.init)
  }

  /// Creates a master key with one secret.
  package init(_ secret: [UInt8]) { self.init([secret]) }

  /// Values in the database that identify the secrets and reveal nothing of them.
  package var checks: [[UInt8]] { secrets.map(\.check) }

  /// Returns the stored hash of a credential, by the secret with that index.
  package func hash(of credential: [UInt8], by number: Int) -> [UInt8] {
    Self.mac(credential, secrets[number].credentialHash)
  }

  /// Returns a MAC that lets us reject forged credentials without a database query.
  package func mark(of credential: [UInt8], by number: Int) -> [UInt8] {
    Self.mac(credential, secrets[number].credentialMark)
  }

  /// Returns the index of the secret whose MAC of a credential satisfies `isMark`.
  package func number(marking credential: [UInt8], _ isMark: ([UInt8]) -> Bool) -> Int? {
    secrets.indices.first { isMark(mark(of: credential, by: $0)) }
  }

  /// Returns a keyed hash of a subject of rate limits or of a recipient, so that their tables do not
  /// list login names.
  package func attemptSubject(_ text: [UInt8]) -> [UInt8] { Self.mac(text, secrets[0].failures) }

  /// Returns a hash by which two hosts compare the value of a setting without revealing it.
  package func settingHash(of value: String, named name: String) -> [UInt8] {
    Self.mac(Array("\(name)\0\(value)".utf8), secrets[0].settings)
  }

  private static func mac(_ bytes: [UInt8], _ begun: HMAC<SHA256>) -> [UInt8] {
    var code = begun
    code.update(data: bytes)
    return code.finalize().withUnsafeBytes { Array($0) }
  }

  /// Encrypts a secret for the database, bound to the name of its row.
  package func sealed(_ secret: [UInt8], as name: String) throws(Failure) -> [UInt8] {
    let (key, name) = (secrets[0].seal, Data(name.utf8))
    guard let sealed = try? AES.GCM.seal(secret, using: key, authenticating: name).combined else {
      throw .internalError(reason: "a secret cannot be encrypted")
    }
    return Array(sealed)
  }

  /// Decrypts a secret; nil if it was encrypted with another master key, or under another name.
  package func opened(_ sealed: [UInt8], as name: String) -> [UInt8]? {
    for number in secrets.indices {
      if let opened = opened(sealed, as: name, by: number) { return opened }
    }
    return nil
  }

  /// Decrypts a secret that is JSON; nil as `opened`.
  package func openedJSON(_ sealed: [UInt8], as name: String) -> JSON? {
    opened(sealed, as: name).flatMap { try? JSON.parse($0) }
  }

  /// Returns whether another key than the first has encrypted a secret.
  func isOutdated(_ sealed: [UInt8], as name: String) -> Bool {
    opened(sealed, as: name, by: 0) == nil
  }

  private func opened(_ sealed: [UInt8], as name: String, by number: Int) -> [UInt8]? {
    guard let box = try? AES.GCM.SealedBox(combined: sealed) else { return nil }
    let (key, name) = (secrets[number].seal, Data(name.utf8))
    return (try? AES.GCM.open(box, using: key, authenticating: name)).map(Array.init)
  }
}

/// Encrypted texts that clients keep, such as cookies and parameters.
extension MasterKey {
  /// The member with the time of the expiry, in seconds since 1970.
  private static let expiry = "until"

  /// Encrypts an object as a text, bound to a name.
  ///
  /// - Throws: `.internalError`.
  package func sealedText(
    _ object: JSONObject, as name: String, for lifetime: Duration
  ) throws(Failure) -> String {
    var object = object
    object[Self.expiry] = .number(JSONNumber(time(nil) + lifetime.wholeSeconds))
    return try sealed(object.serialized(), as: name).base64URL
  }

  /// Decrypts a text; nil if it is forged, or was encrypted under another name.
  package func openedText(_ text: String, as name: String) -> (json: JSON, hasExpired: Bool)? {
    guard let sealed = [UInt8](base64URL: text), let json = openedJSON(sealed, as: name),
      let end = json[Self.expiry]?.number?.int
    else { return nil }
    return (json, end <= time(nil))
  }
}
