internal import CCrypt
internal import CSodium
internal import CryptoExtras
internal import FoundationEssentials

extension PasswordHash {
  /// Returns whether the password matches the hash.
  ///
  /// Blocks its thread.
  package func isRight(_ password: String) -> Bool {
    switch algorithm {
    // The program that created the hash truncated longer passwords there.
    case .bcrypt: crypted(Array(password.utf8.prefix(72)))
    case .shaCrypt: crypted(Array(password.utf8))
    // The library widens bytes to UTF-16, so only Latin-1 passes through.
    case .nt:
      password.unicodeScalars.allSatisfy { $0.value < 0x100 }
        && crypted(password.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    case .argon2: crypto_pwhash_str_verify(text, password, UInt64(password.utf8.count)) == 0
    case .scrypt(let logN, let r, let p, let salt, let key):
      areSame(scrypt(password, logN, r, p, salt, key.count), key)
    case .pbkdf2(let digest, let rounds, let salt, let key):
      areSame(pbkdf2(password, digest, rounds, salt, key.count), key)
    case .digest(let salted): areSame(salted.made(of: password), salted.value)
    }
  }

  /// Whether the library that verifies the hash can read it.
  ///
  /// Takes no time of hashing.
  var isVerifiable: Bool {
    switch algorithm {
    case .bcrypt, .shaCrypt, .nt:
      // It knows methods that are old or cheap, and says so.
      ![CRYPT_SALT_INVALID, CRYPT_SALT_METHOD_DISABLED].contains(crypt_checksalt(text))
    // The result is -1 only for an unreadable hash.
    case .argon2: crypto_pwhash_str_needs_rehash(text, 1, 8_192) != -1
    // The parser reads the very numbers and bytes that are computed with.
    case .scrypt, .pbkdf2, .digest: true
    }
  }

  /// Verifies a password with libxcrypt, which accepts up to 511 bytes.
  private func crypted(_ password: [UInt8]) -> Bool {
    withUnsafeTemporaryAllocation(of: crypt_data.self, capacity: 1) { data in
      guard let data = data.baseAddress else { return false }
      // crypt_r requires zeroed memory before its first use.
      UnsafeMutableRawPointer(data).initializeMemory(
        as: UInt8.self, repeating: 0, count: MemoryLayout<crypt_data>.size
      )
      defer { sodium_memzero(data, MemoryLayout<crypt_data>.size) }
      let phrase = (password + [0]).map { CChar(bitPattern: $0) }
      guard let made = crypt_r(phrase, text, data) else { return false }
      return areSame(Array(String(cString: made).utf8), Array(text.utf8))
    }
  }

  private func scrypt(
    _ password: String, _ logN: Int, _ r: Int, _ p: Int, _ salt: [UInt8], _ count: Int
  ) -> [UInt8]? {
    var made = [UInt8](repeating: 0, count: count)
    let phrase = Array(password.utf8)
    let code = crypto_pwhash_scryptsalsa208sha256_ll(
      phrase, phrase.count, salt, salt.count, 1 << UInt64(logN), UInt32(r), UInt32(p), &made, count
    )
    return code == 0 ? made : nil
  }

  private func pbkdf2(
    _ password: String, _ digest: Digest, _ rounds: Int, _ salt: [UInt8], _ count: Int
  ) -> [UInt8]? {
    let function: KDF.Insecure.PBKDF2.HashFunction =
      switch digest {
      case .md5: .insecureMD5
      case .sha1: .insecureSHA1
      case .sha256: .sha256
      case .sha384: .sha384
      case .sha512: .sha512
      }
    // Unchecked, since a foreign hash is verified once and then replaced by a new one.
    let key = try? KDF.Insecure.PBKDF2.deriveKey(
      from: Array(password.utf8), salt: salt, using: function, outputByteCount: count,
      unsafeUncheckedRounds: rounds
    )
    return key?.withUnsafeBytes { Array($0) }
  }
}

/// Returns whether two secrets are equal, in constant time.
package func areSame(_ made: [UInt8]?, _ shown: [UInt8]) -> Bool {
  guard let made, made.count == shown.count else { return false }
  return sodium_memcmp(made, shown, shown.count) == 0
}
