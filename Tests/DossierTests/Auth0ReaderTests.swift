import Tenancy
import Documents
import JSON
import Testing

@testable import PasswordHashes
@testable import Runtime
@testable import Transfer

@Suite struct Auth0ReaderTests {
  private static let bcrypt = "$2b$05$SDBkp0QWRq9BA/b3SC62GuS3IC2731rwdVmkMnelKCJDuTSqwfqLW"

  private func read(_ text: String, hashes: [String] = []) throws -> TranslatedLine {
    var found = Auth0Hashes()
    for line in hashes { try found.add(Array(line.utf8)) }
    let reader = Auth0Reader(
      issuers: ["google-oauth2": "https://accounts.google.com"], hashes: found
    )
    return try reader.translated(Array(text.utf8))
  }

  private func faults(_ line: TranslatedLine) -> [String] {
    line.leftOut.map { "\($0.place) \($0.code)" }
  }

  private func user(_ line: TranslatedLine) throws -> ImportedUser {
    try ImportedUser(line.row, stringLimit: 128, mixesScripts: false, schemas: DocumentSchemas())
  }

  @Test func `a user keeps the id, the hash of the other file and all supported data`() throws {
    let line = try read(
      """
      {"user_id":"auth0|own-id","email":"Ada@example.test","email_verified":true,"name":"Ada",
       "given_name":"Ada","family_name":"Example","nickname":"ada","phone_number":"+441234567890",
       "picture":"https://s.gravatar.com/avatar/1","created_at":"2026-01-02T03:04:05.678Z",
       "last_login":"2026-03-04T05:06:07.080Z","last_ip":"192.0.2.7","logins_count":12,
       "blocked":true,"user_metadata":{"theme":"dark"},"app_metadata":{"plan":"pro"},
       "mfa_factors":[{"totp":{"secret":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"}}],
       "identities":[
         {"connection":"Username-Password-Authentication","provider":"auth0","user_id":"own-id"},
         {"connection":"google-oauth2","provider":"google-oauth2","user_id":108}]}
      """,
      hashes: [
        #"{"_id":{"$oid":"65f1c0de65f1c0de65f1c0de"},"alt_id":"own-id","passwordHash":"\#(Self.bcrypt)"}"#
      ]
    )
    #expect(line.leftOut.isEmpty)
    let ada = try user(line)
    #expect(ada.foreignID == "auth0|own-id")
    #expect(ada.email == "Ada@example.test" && ada.isVerified == true && ada.isBlocked == true)
    #expect(ada.password == .hash(Self.bcrypt))
    #expect(ada.profile["phone"] == "+441234567890" && ada.profile["nickname"] == "ada")
    #expect(ada.createdAt == "2026-01-02T03:04:05.678Z" && ada.loginCount == 12)
    #expect(ada.lastLoginAt == "2026-03-04T05:06:07.080Z")
    #expect(ada.totpSecrets == [Array("12345678901234567890".utf8)])
    #expect(
      ada.identities == [
        ImportedUser.Identity(
          provider: IdentityProvider(ofIssuer: "https://accounts.google.com"), subject: "108"
        )
      ]
    )
    #expect(ada.documents.map(\.kind.rawValue) == ["metadata", "app_metadata"])
    #expect(ada.subjects.last == ImportedUser.Identity(provider: .foreign, subject: "auth0|own-id"))
  }

  @Test func `the first identity stays primary, and the others keep their data`() throws {
    let line = try read(
      """
      {"user_id":"google-oauth2|108","email":"a@b.example","password_hash":"\(Self.bcrypt)",
       "identities":[{"provider":"google-oauth2","user_id":"108","connection":"google-oauth2"},
         {"provider":"auth0","user_id":"own","connection":"Username-Password-Authentication",
          "profileData":{"name":"Ada","nickname":7,"email":"A@b.example","email_verified":true,
            "picture":"https://a/b"}}]}
      """)
    #expect(faults(line) == ["/identities/1/profileData profile_data", "/identities/1 no_hash"])
    let ada = try user(line)
    #expect(ada.identities.map(\.place) == [1] && ada.identities[0].profile.count == 0)
    #expect(ada.addressIdentity?.place == 2 && ada.addressProvider == .password)
    #expect(
      ada.addressIdentity.map { JSON.object($0.profile) } == [
        "foreign_id": "auth0|own", "name": "Ada", "email": "A@b.example", "email_verified": true,
      ]
    )
  }

  @Test func `a user with an address and no password signs in with mailed codes`() throws {
    let only = try user(read(#"{"user_id":"email|1","email":"a@b.example"}"#))
    #expect(only.addressProvider == .email && !only.hasPassword && only.signsIn)
    let both = try user(
      read(
        #"{"user_id":"email|1","email":"a@b.example","identities":[{"provider":"email","user_id":"#
          + #""1"},{"provider":"auth0","user_id":"2"}]}"#
      )
    )
    #expect(both.addressProvider == .password && both.addressIdentity?.place == 1)
  }

  @Test func `the id names the identity if none is listed`() throws {
    let google = try read(#"{"user_id":"google-oauth2|108","email":"a@b.example"}"#)
    #expect(google.row["identities"]?.array?.first?["subject"] == "108")
    #expect(google.row["password_hash"] == nil)
    let plain = try read(
      #"{"user_id":"65f1","email":"a@b.example","password_hash":"\#(Self.bcrypt)"}"#
    )
    #expect(plain.row["foreign_id"] == "auth0|65f1")
    #expect(plain.row["password_hash"] == .string(Self.bcrypt))
  }

  @Test(arguments: [
    (#"{"user_id":"facebook|1","email":"a@b.example"}"#, ["/user_id no_issuer"]),
    (#"{"user_id":"auth0|1","email":"a@b.example"}"#, ["/user_id no_hash"]),
    (
      #"{"user_id":"sms|1","email":"a@b.example","phone_number":"12"}"#,
      ["/user_id no_sms", "/phone_number phone"]
    ),
    (
      #"{"user_id":"email|1","email":"a@b.example","username":"ada","picture":"a/b","phone_verified":true,"org":1}"#,
      [
        "/username no_username", "/picture url", "/phone_verified phone_verified",
        "/org unknown_member",
      ]
    ),
    (
      #"{"user_id":"email|1","email":"a@b.example","created_at":"yesterday","name":7}"#,
      ["/name type", "/created_at time"]
    ),
    (
      #"{"user_id":"email|1","email":"a@b.example","multifactor":["guardian"]}"#,
      ["/multifactor factor"]
    ),
    (
      #"{"user_id":"email|1","email":"a@b.example","mfa_factors":[{"phone":{"value":"+1"}},"#
        + #"{"totp":{"secret":"1"}},7]}"#,
      ["/mfa_factors/0 factor", "/mfa_factors/1 secret", "/mfa_factors/2 factor"]
    ),
    (
      #"{"user_id":"email|1","email":"a@b.example","identities":[{"provider":"auth0","#
        + #""user_id":"2","profileData":{"email":"c@d.example"}},{"provider":7},[]]}"#,
      ["/identities/0 second_address", "/identities/1 type", "/identities/2 type"]
    ),
    (
      #"{"user_id":"auth0|1","email":"a@b.example","custom_password_hash":{"algorithm":"ldap"}}"#,
      ["/user_id hash_format"]
    ),
    (
      #"{"user_id":"auth0|1","email":"a@b.example","password_hash":"$2b$05$x"}"#,
      ["/user_id hash_format"]
    ),
  ])
  func `omitted parts are reported with place and reason`(text: String, expected: [String]) throws {
    let line = try read(text)
    #expect(faults(line) == expected)
    _ = try user(line)
  }

  @Test(arguments: [
    ("{", " json.syntax"), ("[]", " type"), ("{}", "/user_id required"),
    (#"{"user_id":7,"email":"a@b.example"}"#, "/user_id required"),
    (#"{"user_id":"|","email":"a@b.example"}"#, "/user_id foreign_id"),
    (#"{"user_id":"auth0|a b","email":"a@b.example"}"#, "/user_id foreign_id"),
    (#"{"user_id":"auth0|1","email":"a@b.example","identities":{}}"#, "/identities type"),
    (
      #"{"user_id":"auth0|1","identities":[0\#(String(repeating: ",0", count: 100))]}"#,
      "/identities type"
    ),
    (#"{"user_id":"google-oauth2|1","identities":[]}"#, "/email no_login_method"),
  ])
  func `a line that is not a user is refused`(text: String, fault: String) {
    do {
      _ = try read(text)
      Issue.record("it is taken")
    } catch let error as Failure {
      #expect(error.faults.map { "\($0.place) \($0.code)" } == [fault])
    } catch {
      Issue.record(error)
    }
  }

  @Test(arguments: [
    #"{"algorithm":"argon2","hash":{"value":"$argon2id$v=19$m=1024,t=3,p=1$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM"}}"#,
    #"{"algorithm":"bcrypt","hash":{"value":"\#(bcrypt)","encoding":"utf8"}}"#,
    #"{"algorithm":"pbkdf2","hash":{"value":"$pbkdf2-sha256$i=1234,l=32$+vv8/f7/c2FsdA$AIjkSpiLDJ8p0q4Z1miLMT/P+fwouaEORZ+tFgZeQuQ"}}"#,
    #"{"algorithm":"scrypt","cost":1024,"keylen":32,"salt":{"value":"000102030405060708090a0b0c0d0e0f10","encoding":"hex"},"hash":{"value":"uK9+0hUgKIHDQKKr8XAdf9rbU0gmwppgqMCIcjS7ldc=","encoding":"base64"}}"#,
    #"{"algorithm":"md5","hash":{"value":"990297547d8b870af9d5ada8e25be433","encoding":"hex"}}"#,
    #"{"algorithm":"sha1","salt":{"value":"salt","position":"prefix"},"hash":{"value":"Cx/Wm+nG4hov3gP0Qb/GwXEADLQ=","encoding":"base64"}}"#,
    #"{"algorithm":"sha256","salt":{"value":"c2FsdA==","encoding":"base64","position":"suffix"},"hash":{"value":"ZV7UgOHXpSVDSwy1NBMDv/8Oblvf+c32QDMRuMhnpCU=","encoding":"base64"}}"#,
    #"{"algorithm":"sha512","salt":{"value":"salt"},"password":{"encoding":"utf8"},"hash":{"value":"ajzYnX8Nwevsf68dkgQpUwVETzlMre4KOsS6ZMw1ubLnVYobNhP/L0tdGVnkbIOpCSM0pPztCEg9oxKpjG/FWQ==","encoding":"base64"}}"#,
    #"{"algorithm":"hmac","salt":{"value":"salt"},"hash":{"digest":"sha256","key":{"value":"6b6579","encoding":"hex"},"value":"qQKZZgsML1KjdLCUkXTFz0JK2IJPmSjFjTmKyULv1rc=","encoding":"base64"}}"#,
  ])
  func `a custom hash verifies its password`(text: String) throws {
    let json = try JSON.parse(Array(text.utf8))
    let hash = try PasswordHash(try Auth0Password.text(of: json, at: "/user_id"))
    #expect(hash.isRight("pässwörd 9"))
    #expect(!hash.isRight("pässwörd 8"))
  }

  @Test(arguments: [
    "{}", "7", #"{"algorithm":"md4"}"#, #"{"algorithm":"ldap","hash":{"value":"{SSHA}x"}}"#,
    #"{"algorithm":"md5"}"#, #"{"algorithm":"md5","hash":{"value":"ff","encoding":"hex"}}"#,
    #"{"algorithm":"md5","hash":{"value":"x","encoding":"rot13"}}"#,
    #"{"algorithm":"md5","salt":{"value":"x","position":"middle"},"hash":{"value":"990297547d8b870af9d5ada8e25be433","encoding":"hex"}}"#,
    #"{"algorithm":"md5","password":{"encoding":"utf16le"},"hash":{"value":"990297547d8b870af9d5ada8e25be433","encoding":"hex"}}"#,
    #"{"algorithm":"scrypt","cost":1000,"salt":{"value":"x"},"hash":{"value":"990297547d8b870af9d5ada8e25be433","encoding":"hex"}}"#,
    #"{"algorithm":"scrypt","keylen":64,"salt":{"value":"x"},"hash":{"value":"990297547d8b870af9d5ada8e25be433","encoding":"hex"}}"#,
    #"{"algorithm":"scrypt","blockSize":-9223372036854775808,"salt":{"value":"x"},"hash":{"value":"990297547d8b870af9d5ada8e25be433","encoding":"hex"}}"#,
    #"{"algorithm":"scrypt","cost":4611686018427387904,"salt":{"value":"x"},"hash":{"value":"990297547d8b870af9d5ada8e25be433","encoding":"hex"}}"#,
    #"{"algorithm":"hmac","hash":{"digest":"whirlpool","value":"x"}}"#,
    #"{"algorithm":"hmac","hash":{"digest":"md5","value":"990297547d8b870af9d5ada8e25be433","encoding":"hex"}}"#,
    #"{"algorithm":"argon2","hash":{"value":"$argon2d$v=19$m=1024,t=3,p=1$c2FsdHNhbHRzYWx0$S7OFgF7GWKjN8LY6UNmpS0BcwYzi2lIM"}}"#,
  ])
  func `a custom hash that cannot be verified is refused`(text: String) throws {
    let json = try JSON.parse(Array(text.utf8))
    #expect(throws: Failure.self) { try Auth0Password.text(of: json, at: "") }
  }

  @Test(arguments: [
    "[]", "{}", #"{"_id":"a"}"#, #"{"_id":{"$oid":"a"},"passwordHash":null}"#,
    #"{"_id":{"$oid":"known"},"passwordHash":"x"}"#,
    #"{"alt_id":"auth0|known","passwordHash":"x"}"#,
  ])
  func `a line without a hash of a new user is refused`(text: String) throws {
    var hashes = Auth0Hashes()
    try hashes.add(Array(#"{"_id":{"$oid":"known"},"passwordHash":"x"}"#.utf8))
    #expect(throws: Failure.self) { try hashes.add(Array(text.utf8)) }
    #expect(hashes.count == 1)
  }
}
