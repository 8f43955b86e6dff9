internal import Crypto
import Encoding
internal import FoundationEssentials

/// One digest of a password between a prefix and a suffix, or an HMAC of them.
///
/// It is not a password hash by today's standards: a guess takes no time. So it is replaced at the
/// first login, as every foreign hash is.
package struct SaltedDigest: Sendable, Equatable {
  package let digest: PasswordHash.Digest
  /// The key of an HMAC; nil for a plain digest.
  package let key: [UInt8]?
  package let prefix: [UInt8]
  package let suffix: [UInt8]
  package let value: [UInt8]

  package init(
    _ digest: PasswordHash.Digest, key: [UInt8]? = nil, prefix: [UInt8] = [], suffix: [UInt8] = [],
    value: [UInt8]
  ) {
    self.digest = digest
    self.key = key
    self.prefix = prefix
    self.suffix = suffix
    self.value = value
  }

  /// The stored form, with each part in base64.
  ///
  /// A digest is `$digest-sha256$prefix$suffix$value`, an HMAC `$hmac-sha256$key$prefix$suffix$value`.
  package var text: String {
    let (name, parts) = key.map { ("hmac", [$0]) } ?? ("digest", [])
    let fields = (parts + [prefix, suffix, value]).map(\.base64)
    return "$\(name)-\(digest)$" + fields.joined(separator: "$")
  }

  /// Parses the fields behind the name of the stored form.
  init(_ name: Substring, _ fields: [Substring]) throws(PasswordHashError) {
    let words = name.split(separator: "-", omittingEmptySubsequences: false)
    guard words.count == 2, ["digest", "hmac"].contains(words[0]),
      let digest = PasswordHash.Digest(rawValue: String(words[1]))
    else { throw .unknownAlgorithm }
    let isKeyed = words[0] == "hmac"
    let parts = fields.compactMap { [UInt8](hashed: $0) }
    guard fields.count == (isKeyed ? 4 : 3), parts.count == fields.count,
      parts[parts.count - 1].count == digest.length
    else {
      throw .malformed(
        "A salted digest must be $digest-sha256$, a prefix, $, a suffix, $ and a digest."
      )
    }
    self.digest = digest
    key = isKeyed ? parts[0] : nil
    prefix = parts[parts.count - 3]
    suffix = parts[parts.count - 2]
    value = parts[parts.count - 1]
  }

  /// Returns the digest of a password.
  func made(of password: String) -> [UInt8] {
    let text = prefix + Array(password.utf8) + suffix
    return switch digest {
    case .md5: made(of: text, by: Insecure.MD5.self)
    case .sha1: made(of: text, by: Insecure.SHA1.self)
    case .sha256: made(of: text, by: SHA256.self)
    case .sha384: made(of: text, by: SHA384.self)
    case .sha512: made(of: text, by: SHA512.self)
    }
  }

  private func made<Function: HashFunction>(of text: [UInt8], by: Function.Type) -> [UInt8] {
    guard let key else { return Array(Function.hash(data: text)) }
    return Array(HMAC<Function>.authenticationCode(for: text, using: SymmetricKey(data: key)))
  }
}

extension PasswordHash.Digest {
  /// The length of a digest, in bytes.
  package var length: Int {
    switch self {
    case .md5: 16
    case .sha1: 20
    case .sha256: 32
    case .sha384: 48
    case .sha512: 64
    }
  }
}
