import Encoding
import JSON
import PasswordHashes
import Runtime

/// The password hashes of Auth0's exports, and of the files of its bulk import.
enum Auth0Password {
  /// Returns the text that `PasswordHash` reads.
  ///
  /// - Parameters:
  ///   - json: a bcrypt hash, or an object as in `custom_password_hash`.
  ///   - place: the place for faults.
  /// - Returns: a text that is valid, and not too costly.
  /// - Throws: `.invalid` if the hash is rejected.
  static func text(of json: JSON, at place: String) throws(Failure) -> String {
    let text = if let given = json.string { given } else { try custom(json, place) }
    do throws(PasswordHashError) {
      return try PasswordHash.imported(text).text
    } catch {
      throw .invalid([ImportedUser.fault(of: error, at: place)])
    }
  }

  private static func custom(_ json: JSON, _ place: String) throws(Failure) -> String {
    guard let algorithm = json["algorithm"]?.string else {
      throw refusal(place, "A hash must have an algorithm.")
    }
    let encoding = json["password"]?["encoding"]?.string ?? "utf8"
    if algorithm == "md4" { return try md4(json, encoding, place) }
    guard ["utf8", "ascii"].contains(encoding) else {
      throw refusal(place, "Passwords are hashed in UTF-8 here, not in \(encoding).")
    }
    switch algorithm {
    case "argon2", "bcrypt", "pbkdf2":
      guard let text = json["hash"]?["value"]?.string else {
        throw refusal(place, "A hash of \(algorithm) must have its text in hash.value.")
      }
      return text
    case "scrypt": return try scrypt(json, place)
    case "ldap": return try ldap(json["hash"]?["value"]?.string ?? "", place)
    case "hmac":
      guard let name = json["hash"]?["digest"]?.string,
        let digest = PasswordHash.Digest(rawValue: name)
      else { throw unknown("hmac", json["hash"]?["digest"]?.string ?? "none", place) }
      let key = try bytes(json["hash"]?["key"], "hash.key", place)
      return try salted(digest, key: key, json, place)
    default:
      guard let digest = PasswordHash.Digest(rawValue: algorithm) else {
        throw unknown("hash", algorithm, place)
      }
      return try salted(digest, key: nil, json, place)
    }
  }

  private static func salted(
    _ digest: PasswordHash.Digest, key: [UInt8]?, _ json: JSON, _ place: String
  ) throws(Failure) -> String {
    let value = try bytes(json["hash"], "hash", place)
    guard let salt = json["salt"], salt != .null else {
      return SaltedDigest(digest, key: key, value: value).text
    }
    let bytes = try bytes(salt, "salt", place)
    switch salt["position"]?.string ?? "prefix" {
    case "prefix": return SaltedDigest(digest, key: key, prefix: bytes, value: value).text
    case "suffix": return SaltedDigest(digest, key: key, suffix: bytes, value: value).text
    default: throw refusal(place, "The position of a salt must be prefix or suffix.")
    }
  }

  /// Returns the hash of an entry of a directory, by the name of its scheme.
  ///
  /// - Source: RFC 2307 section 5.3.
  private static func ldap(_ text: String, _ place: String) throws(Failure) -> String {
    let parts = text.split(separator: "}", maxSplits: 1)
    guard parts.count == 2, parts[0].first == "{" else {
      throw refusal(place, "A hash of ldap must begin with its scheme, such as {SSHA}.")
    }
    let (scheme, value) = (parts[0].dropFirst().uppercased(), String(parts[1]))
    if scheme == "CRYPT" { return value }
    let schemes: [String: PasswordHash.Digest] = [
      "MD5": .md5, "SHA": .sha1, "SHA256": .sha256, "SHA384": .sha384, "SHA512": .sha512,
    ]
    let isSalted = scheme.hasPrefix("S") && schemes[scheme] == nil
    guard let digest = schemes[isSalted ? String(scheme.dropFirst()) : scheme] else {
      throw unknown("ldap", scheme.excerpt(20), place)
    }
    let bytes = try bytes(["value": .string(value), "encoding": "base64"], "hash", place)
    guard isSalted ? bytes.count > digest.length : bytes.count == digest.length else {
      let rule = "A hash of \(scheme) must have \(digest.length) bytes"
      throw refusal(place, rule + (isSalted ? ", and then its salt." : "."))
    }
    return SaltedDigest(
      digest, suffix: Array(bytes.dropFirst(digest.length)),
      value: Array(bytes.prefix(digest.length))
    ).text
  }

  /// Returns the hash of a password in UTF-16 without a salt, as Windows stores it.
  private static func md4(
    _ json: JSON, _ encoding: String, _ place: String
  ) throws(Failure) -> String {
    guard ["utf16le", "ucs2"].contains(encoding), json["salt"] ?? .null == .null else {
      throw refusal(place, "A hash of MD4 must be of a password in utf16le, without a salt.")
    }
    return "$3$$" + String(hexadecimal: try bytes(json["hash"], "hash", place))
  }

  /// Returns an scrypt hash; the defaults are those of Auth0.
  private static func scrypt(_ json: JSON, _ place: String) throws(Failure) -> String {
    let value = try bytes(json["hash"], "hash", place)
    let salt = try bytes(json["salt"], "salt", place)
    let cost = json["cost"]?.number?.int ?? 16_384
    guard cost > 1, cost.nonzeroBitCount == 1 else {
      throw refusal(place, "The cost of scrypt must be a power of two.")
    }
    if let length = json["keylen"]?.number?.int, length != value.count {
      throw refusal(place, "The hash must have keylen (\(length)) bytes, not \(value.count).")
    }
    return PasswordHash.scrypt(
      logN: cost.trailingZeroBitCount, r: json["blockSize"]?.number?.int ?? 8,
      p: json["parallelization"]?.number?.int ?? 1, salt: salt, key: value
    )
  }

  /// Returns the bytes of a value with an encoding.
  private static func bytes(
    _ json: JSON?, _ name: String, _ place: String
  ) throws(Failure) -> [UInt8] {
    guard let text = json?["value"]?.string else {
      throw refusal(place, "\(name).value is missing.")
    }
    let read: [UInt8]? =
      switch json?["encoding"]?.string ?? "utf8" {
      case "utf8": Array(text.utf8)
      case "hex": [UInt8](hexadecimal: text.utf8)
      case "base64":
        [UInt8](base64: Array(text.utf8.prefix { $0 != UInt8(ascii: "=") }))
      default: nil
      }
    guard let read else { throw refusal(place, "\(name).value is not in the encoding it names.") }
    return read
  }

  private static func refusal(_ place: String, _ rule: String) -> Failure {
    .invalid([FieldError(place, "hash_format", rule + byMail)])
  }

  private static func unknown(_ kind: String, _ name: String, _ place: String) -> Failure {
    let known = PasswordHash.Digest.allCases.map(\.rawValue).joined(separator: ", ")
    let others = kind == "hash" ? ", md4, argon2, bcrypt, pbkdf2, scrypt, hmac and ldap" : ""
    let rule = "Dossier cannot verify the \(kind) \(name), but \(known)\(others)."
    return .invalid([FieldError(place, "hash_algorithm", rule + byMail)])
  }

  private static let byMail = " The user chooses a new password by mail."
}
