import Documents
import JSON
@testable import Runtime
@testable import Transfer

extension FuzzTarget {
  /// The lines of Auth0's export of users; those that begin with `#` are password hashes.
  static let auth0 = FuzzTarget(
    "auth0",
    isJSON: true,
    words: [
      "user_id", "email", "email_verified", "identities", "provider", "connection", "profileData",
      "auth0", "auth0|1", "google-oauth2", "google-oauth2|1", "email|1", "sms|1", "name",
      "nickname",
      "phone_number", "picture", "username", "blocked", "created_at", "last_login", "$date",
      "logins_count", "user_metadata", "app_metadata", "mfa_factors", "totp", "secret",
      "GEZDGNBVGY3TQOJQ", "multifactor", "_id", "$oid", "alt_id", "passwordHash", "password_hash",
      "custom_password_hash", "algorithm", "argon2", "bcrypt", "hmac", "ldap", "md4", "md5", "sha1",
      "sha256", "sha512", "pbkdf2", "scrypt", "hash", "value", "encoding", "base64", "hex", "utf8",
      "digest", "key", "salt", "position", "prefix", "suffix", "password", "keylen", "cost",
      "blockSize", "parallelization", "9223372036854775807", "-9223372036854775808",
      "2026-01-02T03:04:05.678Z", "ada@example.com",
      "$2b$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234",
    ],
    bound: MemoryBound(factor: 200, base: 1_048_576)
  ) { input in
    var hashes = Auth0Hashes()
    var users: [[UInt8]] = []
    for line in lines(input).prefix(8) {
      if line.first == UInt8(ascii: "#") {
        refuses { () throws(Failure) in try hashes.add(Array(line.dropFirst())) }
      } else {
        users.append(line)
      }
    }
    let reader = Auth0Reader(
      issuers: ["google-oauth2": "https://a.example"], roles: [ByteString("editor"): RoleID()],
      hashes: hashes
    )
    var batch = ImportBatch(import: nil)
    for line in users {
      refuses { () throws(Failure) in
        let line = try reader.translated(line)
        expectStorable(line.row, "a row of Auth0")
        expect(line.leftOut.allSatisfy { JSONPointer($0.place) != nil }, "a place is no pointer")
        let hash = line.row["password_hash"]
        expect(hash == nil || line.row["email"] != nil, "a password has no address")
        let row = try ImportedUser(
          line.row, stringLimit: 128, mixesScripts: false, schemas: DocumentSchemas()
        )
        expect(row.foreignID != nil, "a user lost its id")
        _ = batch.add(row, ImportMatch(emailKey: row.email), .create(UserID()))
      }
    }
  }
}
