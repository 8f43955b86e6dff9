import Crypto
import CryptoExtras
import Encoding
package import JSON
package import WebAuthn

/// An authenticator and its browser, with one passkey; each part of what they return can be changed.
package struct TestAuthenticator {
  private enum Key: Sendable {
    case edDSA(Curve25519.Signing.PrivateKey)
    case es256(P256.Signing.PrivateKey)
    case rs256(_RSA.Signing.PrivateKey)
  }

  private let key: Key
  package var relyingPartyID = "example.org"
  package var origin = "https://example.org"
  package var credentialID = [UInt8](repeating: 7, count: 32)
  package var userHandle: [UInt8]? = Array("0123456789abcdef01234567".utf8)
  /// The flags of authenticator data, without those of parts: user present and verified.
  package var flags: UInt8 = 0x05
  package var signCount: UInt32 = 0
  /// The last bytes of authenticator data, for example extensions.
  package var appendix: [UInt8] = []
  /// Members of the client data; nil removes one.
  package var clientMembers: [(String, JSON?)] = []
  /// Members of the response in JSON; nil removes one.
  package var responseMembers: [(String, JSON?)] = []
  /// Members of the credential in JSON; nil removes one.
  package var credentialMembers: [(String, JSON?)] = []
  /// The public key in COSE's format; nil for that of `key`.
  package var publicKey: CBOR?
  /// Client data to use as it is.
  package var clientData: [UInt8]?
  /// Changes a signature.
  package var changeSignature: ([UInt8]) -> [UInt8] = { $0 }

  package init(_ algorithm: SignatureAlgorithm = .es256) throws {
    key =
      switch algorithm {
      case .edDSA: .edDSA(Curve25519.Signing.PrivateKey())
      case .es256: .es256(P256.Signing.PrivateKey())
      case .rs256: .rs256(try Self.rsaKey.get())
      }
  }

  /// One key for all tests, since a new one takes long.
  private static let rsaKey = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

  /// The public key in COSE's format.
  package var coseKey: CBOR {
    if let publicKey { return publicKey }
    switch key {
    case .edDSA(let key):
      return .map([
        1: .integer(1), 3: .integer(-8), -1: .integer(6),
        -2: .bytes(Array(key.publicKey.rawRepresentation)),
      ])
    case .es256(let key):
      let point = Array(key.publicKey.rawRepresentation)
      return .map([
        1: .integer(2), 3: .integer(-7), -1: .integer(1), -2: .bytes(Array(point[..<32])),
        -3: .bytes(Array(point[32...])),
      ])
    case .rs256(let key):
      guard let parts = try? key.publicKey.getKeyPrimitives() else { return .null }
      return .map([
        1: .integer(3), 3: .integer(-257), -1: .bytes(Array(parts.modulus)),
        -2: .bytes(Array(parts.publicExponent)),
      ])
    }
  }

  /// Returns authenticator data, of a registration with the new credential.
  package func authenticatorData(withCredential credential: Bool) -> [UInt8] {
    var data = Array(SHA256.hash(data: Array(relyingPartyID.utf8)))
    data.append(flags | (credential ? 0x40 : 0))
    data += (0..<4).map { UInt8(truncatingIfNeeded: signCount >> UInt32(24 - 8 * $0)) }
    if credential {
      data += [UInt8](repeating: 1, count: 16)
      data += [UInt8(credentialID.count >> 8), UInt8(credentialID.count & 0xff)] + credentialID
      data += coseKey.encoded
    }
    return data + appendix
  }

  /// Returns an attestation object of the format `none`.
  package func attestationObject() -> [UInt8] {
    CBOR.map([
      "fmt": .text(ByteString("none")), "attStmt": .map([:]),
      "authData": .bytes(authenticatorData(withCredential: true)),
    ]).encoded
  }

  private func client(_ type: String, _ challenge: [UInt8]) -> [UInt8] {
    if let clientData { return clientData }
    let members: [(String, JSON?)] = [
      ("type", .string(type)), ("challenge", .string(challenge.base64URL)),
      ("origin", .string(origin)), ("crossOrigin", false),
    ]
    return Self.object(members, clientMembers).serialized()
  }

  private static func object(
    _ members: [(String, JSON?)], _ changes: [(String, JSON?)]
  ) -> JSON {
    var object = JSONObject()
    for (name, value) in members + changes { object[name] = value }
    return .object(object)
  }

  private func credential(_ response: [(String, JSON?)]) -> JSON {
    let id = JSON.string(credentialID.base64URL)
    return Self.object(
      [
        ("id", id), ("rawId", id), ("type", "public-key"),
        ("authenticatorAttachment", "platform"), ("clientExtensionResults", [:]),
        ("response", Self.object(response, responseMembers)),
      ], credentialMembers)
  }

  /// Returns what `navigator.credentials.create` does, as JSON.
  package func create(_ challenge: [UInt8]) -> JSON {
    credential([
      ("clientDataJSON", .string(client("webauthn.create", challenge).base64URL)),
      ("attestationObject", .string(attestationObject().base64URL)),
      ("authenticatorData", .string(authenticatorData(withCredential: true).base64URL)),
      ("publicKeyAlgorithm", -7), ("transports", ["internal", "hybrid"]),
    ])
  }

  /// Returns what `navigator.credentials.get` does, as JSON.
  ///
  /// Throws an error if the key cannot sign.
  package func get(_ challenge: [UInt8]) throws -> JSON {
    let client = client("webauthn.get", challenge)
    let data = authenticatorData(withCredential: false)
    let signature = changeSignature(try sign(data + SHA256.hash(data: client)))
    return credential([
      ("clientDataJSON", .string(client.base64URL)),
      ("authenticatorData", .string(data.base64URL)),
      ("signature", .string(signature.base64URL)),
      ("userHandle", userHandle.map { .string($0.base64URL) } ?? .null),
    ])
  }

  private func sign(_ data: [UInt8]) throws -> [UInt8] {
    switch key {
    case .edDSA(let key): Array(try key.signature(for: data))
    case .es256(let key): Array(try key.signature(for: data).derRepresentation)
    case .rs256(let key):
      Array(
        try key.signature(for: SHA256.hash(data: data), padding: .insecurePKCS1v1_5)
          .rawRepresentation)
    }
  }
}
