internal import Crypto
import Encoding
import Postgres
import Records
import Runtime

/// The secret that a client brings from another server, so that its program stays as it is.
///
/// The database has a keyed hash of the SHA-256 digest, so it takes the text and the digest alike.
/// A slow hash would cost each request of the client as much as a sign-in, and protects nothing: a
/// secret is random, unlike a password.
package enum GivenSecret: Sendable {
  case text(String)
  /// The SHA-256 digest of the text, in hexadecimal.
  case digest(String)

  /// In bytes: 32 random characters have 128 bits even in hexadecimal.
  private static let lengths = 32...256

  /// Returns the hash that the database stores; nil without a valid digest.
  func hash(of client: ClientID, _ key: MasterKey) -> BinaryBytes? {
    digest.map { BinaryBytes(key.hash(of: Self.tagged($0, client), by: 0)) }
  }

  /// Returns the hashes of a presented text, by each of the master keys.
  static func hashes(of text: String, of client: ClientID, _ key: MasterKey) -> [BinaryBytes] {
    let tagged = tagged(Array(SHA256.hash(data: Array(text.utf8))), client)
    return key.checks.indices.map { BinaryBytes(key.hash(of: tagged, by: $0)) }
  }

  private var digest: [UInt8]? {
    switch self {
    case .text(let text): Array(SHA256.hash(data: Array(text.utf8)))
    case .digest(let digest): [UInt8](hexadecimal: digest.utf8)
    }
  }

  private static func tagged(_ digest: [UInt8], _ client: ClientID) -> [UInt8] {
    Array("client secret\0\(client)\0".utf8) + digest
  }

  /// The rule that it breaks; nil for none.
  func fault(of kind: ClientKind) -> ColumnFault? {
    let place =
      switch self {
      case .text: "/secret"
      case .digest: "/secret_sha256"
      }
    if kind.isPublic {
      return ColumnFault(place, "kind", "A client of this kind has no secret. Omit it.")
    }
    switch self {
    case .text(let text):
      guard Self.lengths.contains(text.utf8.count), text.utf8.allSatisfy(\.isVisible) else {
        let rule =
          "A secret must have \(Self.lengths.lowerBound) to \(Self.lengths.upperBound) printable "
          + "ASCII characters, without spaces."
        return ColumnFault(place, "secret", rule)
      }
      guard !Clients.isSecret(text) else {
        let rule = "A secret of Dossier is valid in its own deployment only. Let this one make it."
        return ColumnFault(place, "secret", rule)
      }
    case .digest(let text):
      guard text.utf8.count == 64, text.utf8.allSatisfy(\.isHexadecimalDigit) else {
        let rule = "A SHA-256 digest must have 64 hexadecimal digits."
        return ColumnFault(place, "secret", rule)
      }
    }
    return nil
  }
}
