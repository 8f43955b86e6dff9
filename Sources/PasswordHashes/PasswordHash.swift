internal import CCrypt
internal import CSodium
internal import CryptoExtras
import Encoding
internal import FoundationEssentials

/// A password hash as another program stored it, with its algorithm and parameters.
///
/// It is parsed from modular crypt and PHC strings, and verified by its algorithm's library.
package struct PasswordHash: Sendable, Equatable {
  package enum Algorithm: Sendable, Equatable {
    case bcrypt(cost: Int)
    /// `$5$` or `$6$`.
    case shaCrypt(rounds: Int)
    /// `$3$`: MD4 of the password in UTF-16.
    case nt
    /// Memory in KiB.
    case argon2(memory: Int, passes: Int, lanes: Int)
    case scrypt(logN: Int, r: Int, p: Int, salt: [UInt8], key: [UInt8])
    case pbkdf2(Digest, rounds: Int, salt: [UInt8], key: [UInt8])
    case digest(SaltedDigest)
  }

  package enum Digest: String, Sendable, CaseIterable { case md5, sha1, sha256, sha384, sha512 }

  /// The hash in the one form that the algorithm's library reads.
  package let text: String
  package let algorithm: Algorithm

  /// The hash of users without a password, which no password matches.
  ///
  /// Such a user sets a password by mail.
  package static let none = "*"

  /// The maximum length of a hash.
  ///
  /// A salt and a key of 64 bytes each take less than half of it in base64.
  private static let longest = 512

  /// Parses a hash.
  ///
  /// - Throws: an error with the reason if the hash is rejected.
  package init(_ text: String) throws(PasswordHashError) {
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy(\.isVisible) else {
      throw .malformed("A hash may have at most \(Self.longest) printable characters.")
    }
    let parts = text.split(separator: "$", omittingEmptySubsequences: false).dropFirst()
    guard text.utf8.first == UInt8(ascii: "$"), parts.count >= 3, let name = parts.first else {
      throw .unknownAlgorithm
    }
    let fields = Array(parts.dropFirst())
    algorithm =
      switch name {
      case "2a", "2b", "2y": try Self.bcrypt(fields)
      case "5": try Self.shaCrypt(fields, length: 43)
      case "6": try Self.shaCrypt(fields, length: 86)
      case "3": try Self.nt(fields)
      case "argon2id", "argon2i": try Self.argon2(fields)
      case "scrypt": try Self.scrypt(fields)
      case "pbkdf2", "pbkdf2-sha1": try Self.pbkdf2(.sha1, fields)
      case "pbkdf2-sha256": try Self.pbkdf2(.sha256, fields)
      case "pbkdf2-sha512": try Self.pbkdf2(.sha512, fields)
      default: .digest(try SaltedDigest(name, fields))
      }
    self.text =
      switch algorithm {
      case .argon2: Self.argon2Text(name, fields)
      case .bcrypt: Self.bcryptText(name, fields)
      default: text
      }
  }

  /// Returns whether the hash is Argon2id with this cost, as new hashes are.
  package func isMade(at cost: HashingCost) -> Bool {
    guard case .argon2(let memory, let passes, lanes: 1) = algorithm else { return false }
    return text.hasPrefix("$argon2id$v=19$m=\(cost.memory),t=\(cost.passes),p=1$")
      && memory == cost.memory && passes == cost.passes
  }

  /// A name shared by all hashes that take equally long to verify.
  package var costClass: String {
    switch algorithm {
    case .bcrypt(let cost): "bcrypt \(cost)"
    case .shaCrypt(let rounds): "\(text.prefix(3)) \(rounds)"
    case .nt: "nt"
    case .argon2(let memory, let passes, let lanes): "argon2 \(memory) \(passes) \(lanes)"
    case .scrypt(let logN, let r, let p, _, _): "scrypt \(logN) \(r) \(p)"
    case .pbkdf2(let digest, let rounds, _, _): "pbkdf2 \(digest) \(rounds)"
    case .digest: "digest"
    }
  }

  /// Reads a hash of another program.
  ///
  /// - Returns: a hash that a sign-in can verify, in a second or two.
  /// - Throws: an error with the reason if the hash is rejected, also by the library that verifies.
  package static func imported(_ text: String) throws(PasswordHashError) -> PasswordHash {
    let hash = try PasswordHash(text)
    try hash.checkCost()
    guard hash.isVerifiable else {
      throw .malformed("The library that verifies it refuses the hash.")
    }
    return hash
  }

  /// The maximum memory of a foreign hash, in KiB.
  private static let memoryLimit = 262_144

  /// Rejects a hash whose verification at login would take more than a second or two, or much
  /// memory.
  ///
  /// Stored hashes are not checked: the operator chooses the cost of our own.
  private func checkCost() throws(PasswordHashError) {
    let limit = Self.memoryLimit
    switch algorithm {
    case .bcrypt(let cost):
      // Each step doubles the time; 14 takes about a second.
      guard (4...14).contains(cost) else { throw .tooCostly("The cost of bcrypt must be 4 to 14.") }
    case .shaCrypt(let rounds):
      guard (1_000...1_000_000).contains(rounds) else {
        throw .tooCostly("The rounds of SHA-crypt must be 1000 to 1000000.")
      }
    case .argon2(let memory, let passes, let lanes):
      guard memory <= limit, memory * passes <= 4 * limit, lanes <= 64 else {
        throw .tooCostly("Argon2 may have at most m=\(limit), m × t=\(4 * limit) and p=64.")
      }
    case .scrypt(let logN, let r, let p, _, _):
      // 128 × N × r bytes equal r × N / 8 KiB.
      guard logN <= 21, r <= 64, p <= 64, r << logN / 8 <= limit, p * (r << logN / 8) <= 2 * limit
      else { throw .tooCostly("scrypt may have at most 128 × N × r = 256 MiB, and × p = 512 MiB.") }
    case .pbkdf2(_, let rounds, _, _):
      // More than OWASP recommends for any digest: 1.4 million for SHA-1.
      guard rounds <= 2_000_000 else { throw .tooCostly("PBKDF2 may have at most 2000000 rounds.") }
    case .nt, .digest: break
    }
  }

  // MARK: Each algorithm

  private static func bcrypt(_ fields: [Substring]) throws(PasswordHashError) -> Algorithm {
    guard fields.count == 2, fields[0].utf8.count == 2, fields[0].isDigits,
      let cost = Int(fields[0]),
      fields[1].utf8.count == 53, fields[1].utf8.allSatisfy(\.isCryptDigit)
    else { throw .malformed("A bcrypt hash must be $2b$, two digits, $ and 53 characters.") }
    return .bcrypt(cost: cost)
  }

  /// Returns a bcrypt hash whose salt and key end with zeros, where their last digits have more bits
  /// than they need.
  ///
  /// The library writes zeros there, and some programs wrote random bits.
  private static func bcryptText(_ name: Substring, _ fields: [Substring]) -> String {
    // 22 digits have 132 bits for the 128 of the salt, and 31 have 186 for the 184 of the key.
    let salt = fields[1].prefix(22).maskingLastDigit(0b110000)
    let key = fields[1].dropFirst(22).maskingLastDigit(0b111100)
    return "$\(name)$\(fields[0])$\(salt)\(key)"
  }

  /// Parses SHA-crypt.
  ///
  /// `length` is the length of the key in characters.
  private static func shaCrypt(
    _ fields: [Substring], length: Int
  ) throws(PasswordHashError) -> Algorithm {
    var fields = fields[...]
    // The default of crypt(3).
    var rounds = 5_000
    if let given = fields.first.flatMap({ Parameters($0, names: ["rounds"]) })?["rounds"] {
      rounds = given
      fields = fields.dropFirst()
    }
    guard fields.count == 2, let salt = fields.first, let key = fields.last,
      (1...16).contains(salt.utf8.count), key.utf8.count == length,
      salt.utf8.allSatisfy(\.isCryptDigit), key.utf8.allSatisfy(\.isCryptDigit),
      // The last digit has two or four bits more than the key, which are its highest.
      let last = key.utf8.last, (length == 43 ? "./0123456789ABCD" : "./01").utf8.contains(last)
    else { throw .malformed("A SHA-crypt hash must be $6$, a salt, $ and \(length) characters.") }
    return .shaCrypt(rounds: rounds)
  }

  private static func nt(_ fields: [Substring]) throws(PasswordHashError) -> Algorithm {
    guard fields.count == 2, fields[0].isEmpty, fields[1].utf8.count == 32,
      fields[1].utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) })
    else { throw .malformed("An NT hash must be $3$$ and 32 hexadecimal digits.") }
    return .nt
  }

  private static func argon2(_ fields: [Substring]) throws(PasswordHashError) -> Algorithm {
    guard fields.count == 4, fields[0] == "v=19",
      let parameters = Parameters(fields[1], names: ["m", "t", "p"]),
      let memory = parameters["m"],
      let passes = parameters["t"], let lanes = parameters["p"], memory > 0, passes > 0, lanes > 0,
      let salt = [UInt8](hashed: fields[2]), (8...64).contains(salt.count),
      let key = [UInt8](hashed: fields[3]), (16...64).contains(key.count), memory >= 8 * lanes
    else {
      throw .malformed("An Argon2 hash must be $argon2id$v=19$m=,t=,p=$, a salt, $ and a key.")
    }
    return .argon2(memory: memory, passes: passes, lanes: lanes)
  }

  /// Returns an Argon2 hash with its parameters in the order that the library reads.
  ///
  /// Other programs write them in another order, which PHC strings leave open.
  private static func argon2Text(_ name: Substring, _ fields: [Substring]) -> String {
    let parts = fields[1].split(separator: ",")
    let parameters = ["m", "t", "p"].compactMap { name in parts.first { $0.hasPrefix("\(name)=") } }
    let rest = fields[2...].map { $0.replacing(".", with: "+") }.joined(separator: "$")
    return "$\(name)$v=19$\(parameters.joined(separator: ","))$\(rest)"
  }

  private static func scrypt(_ fields: [Substring]) throws(PasswordHashError) -> Algorithm {
    guard fields.count == 3, let parameters = Parameters(fields[0], names: ["ln", "r", "p"]),
      let logN = parameters["ln"],
      let r = parameters["r"], let p = parameters["p"], logN > 0, r > 0, p > 0,
      let salt = [UInt8](hashed: fields[1]), (1...64).contains(salt.count),
      let key = [UInt8](hashed: fields[2]), (16...64).contains(key.count)
    else { throw .malformed("An scrypt hash must be $scrypt$ln=,r=,p=$, a salt, $ and a key.") }
    return .scrypt(logN: logN, r: r, p: p, salt: salt, key: key)
  }

  /// Returns the text of an scrypt hash, which need not be valid.
  package static func scrypt(logN: Int, r: Int, p: Int, salt: [UInt8], key: [UInt8]) -> String {
    "$scrypt$ln=\(logN),r=\(r),p=\(p)$\(salt.base64)$\(key.base64)"
  }

  /// Parses PBKDF2.
  ///
  /// The rounds are `i=600000`, or a plain number as passlib writes them.
  private static func pbkdf2(
    _ digest: Digest, _ fields: [Substring]
  ) throws(PasswordHashError) -> Algorithm {
    let parameters = fields.first.flatMap { Parameters($0, names: ["i", "l"]) }
    guard fields.count == 3,
      let rounds = fields[0].isDigits ? Int(fields[0]) : parameters?["i"],
      let salt = [UInt8](hashed: fields[1]), (1...64).contains(salt.count),
      let key = [UInt8](hashed: fields[2]), (16...64).contains(key.count), rounds > 0,
      parameters?["l"] ?? key.count == key.count
    else { throw .malformed("A PBKDF2 hash must be $pbkdf2-sha256$i=$, a salt, $ and a key.") }
    return .pbkdf2(digest, rounds: rounds, salt: salt, key: key)
  }
}

/// The reason why a password hash is rejected.
package enum PasswordHashError: Error, Equatable {
  case unknownAlgorithm
  case malformed(String)
  case tooCostly(String)
}

// The standard library compares texts by this form, and offers it to no one else by name.
@_spi(_Unicode) import Swift

extension String {
  /// The form of a password that is checked and hashed.
  ///
  /// Devices write the same letter in different ways: composed, or as a base and a mark. The form is
  /// composed (NFC), and every space is U+0020. Unlike the standard, it keeps control characters and
  /// letters that Unicode has not assigned yet: refusing them would lock out users who have them.
  ///
  /// - Source: RFC 8265 section 4.2, OpaqueString.
  package var preparedPassword: String {
    // Most passwords are ASCII.
    guard utf8.contains(where: { $0 >= 0x80 }) else { return self }
    var spaced = UnicodeScalarView()
    for scalar in unicodeScalars {
      spaced.append(scalar.properties.generalCategory == .spaceSeparator ? " " : scalar)
    }
    var prepared = UnicodeScalarView()
    for scalar in String(spaced)._nfc { prepared.append(scalar) }
    return String(prepared)
  }
}

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

/// Parameters of the form `name=number`, separated by commas.
struct Parameters {
  private var values: [Substring: Int] = [:]

  /// Parses parameters.
  ///
  /// Returns nil if a part has another form or another name, or a name occurs twice.
  init?(_ text: Substring, names: Set<Substring>) {
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let sign = part.firstIndex(of: "=") else { return nil }
      let digits = part[part.index(after: sign)...]
      guard names.contains(part[..<sign]), !digits.isEmpty, digits.utf8.count < 10,
        digits.utf8.first != UInt8(ascii: "0"),
        digits.utf8.allSatisfy(\.isDigit),
        let value = Int(digits), values.updateValue(value, forKey: part[..<sign]) == nil
      else { return nil }
    }
  }

  subscript(_ name: Substring) -> Int? { values[name] }
}

extension [UInt8] {
  /// Reads the base64 of password hashes: without padding, and with `.` for `+` as passlib writes
  /// it.
  init?(hashed text: Substring) {
    self.init(base64: text.utf8.map { $0 == UInt8(ascii: ".") ? UInt8(ascii: "+") : $0 })
  }
}

extension StringProtocol {
  /// Whether there are digits, and nothing else.
  var isDigits: Bool { !isEmpty && utf8.allSatisfy(\.isDigit) }

  /// Returns the text with the bits of its last crypt(3) digit that a mask has.
  ///
  /// The digits are those of bcrypt, whose first bits are the highest.
  func maskingLastDigit(_ mask: Int) -> String {
    let digits = Array("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    guard let last = Substring(self).utf8.last, let value = digits.firstIndex(of: last) else {
      return String(self)
    }
    return String(dropLast()) + String(UnicodeScalar(digits[value & mask]))
  }
}

extension UInt8 {
  /// Whether crypt(3) uses the byte as a digit: a letter, a digit, a dot or a slash.
  var isCryptDigit: Bool {
    isLetterOrDigit || self == UInt8(ascii: ".") || self == UInt8(ascii: "/")
  }
}
