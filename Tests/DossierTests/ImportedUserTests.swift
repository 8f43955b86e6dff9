import Testing

@testable import Runtime
@testable import Transfer

@Suite struct ImportedUserTests {
  private func faults(_ text: String) -> [String] {
    do throws(Failure) {
      _ = try ImportedUser(Array(text.utf8), stringLimit: 128)
      return []
    } catch let error where error.is(.invalid) {
      return error.faults.map { "\($0.place) \($0.code)" }
    } catch {
      return ["\(error)"]
    }
  }

  @Test(arguments: [
    ("{", " json.syntax"), ("[]", " type"), (#"{"name":1,"name":2}"#, "/name json.duplicate_key"),
    (#"{"metadata":{"a":"\ud800"}}"#, "/metadata/a json.surrogate"),
    (#"{"custom_data":{"a":1e400}}"#, "/custom_data/a json.number"),
    (#"{"id":"xyz"}"#, "/id id"), (#"{"id":1}"#, "/id id"), (#"{"email":"x"}"#, "/email email"),
    (#"{"email":null}"#, "/email email"), (#"{"email_verified":true}"#, "/email required"),
    (#"{"email":"a@b.c","email_verified":1}"#, "/email_verified type"),
    (#"{"password_hash":null}"#, "/email required"),
    (#"{"email":"a@b.c","password_hash":"secret"}"#, "/password_hash hash_algorithm"),
    (#"{"email":"a@b.c","password_hash":"$2b$05$x"}"#, "/password_hash hash_format"),
    (#"{"email":"a@b.c","password_hash":1}"#, "/password_hash type"),
    (#"{"nope":1}"#, "/nope unknown_member"), (#"{"phone":"123"}"#, "/phone phone"),
    (#"{"blocked":"no"}"#, "/blocked type"), (#"{"created_at":"yesterday"}"#, "/created_at time"),
    (#"{"created_at":"2025-02-29T00:00:00Z"}"#, "/created_at time"),
    (#"{"created_at":"2025-02-28T00:00:00"}"#, "/created_at time"),
    (#"{"created_at":"9999-12-31T23:59:59Z"}"#, "/created_at future"),
    (#"{"last_login_at":"9999-12-31T23:59:59+05:30"}"#, "/last_login_at future"),
    (#"{"name":" \u3000\u200e"}"#, "/name blank"),
    (#"{"nickname":"Ada \u202egnp.exe"}"#, "/nickname direction"),
    (#"{"last_login_at":7}"#, "/last_login_at time"), (#"{"login_count":-1}"#, "/login_count type"),
    (#"{"login_count":9007199254740992}"#, "/login_count type"),
    (#"{"login_count":1.5}"#, "/login_count type"),
    (#"{"foreign_id":"auth0|"}"#, "/foreign_id foreign_id"),
    (#"{"foreign_id":null}"#, "/foreign_id foreign_id"),
    (#"{"foreign_id":"auth0|a/b"}"#, "/foreign_id foreign_id"),
    (#"{"totp_secrets":"GEZDGNBVGY3TQOJQ"}"#, "/totp_secrets type"),
    (#"{"totp_secrets":["","","","","",""]}"#, "/totp_secrets type"),
    (#"{"totp_secrets":["GEZDGNBVGY3TQOJQ","GEZDGNBV"]}"#, "/totp_secrets/1 secret"),
    (#"{"identities":[{"provider":"auth0","subject":"x"}]}"#, "/identities/0/provider provider"),
    (#"{"passkeys":{}}"#, "/passkeys type"), (#"{"passkeys":[{}]}"#, "/passkeys too_many_passkeys"),
    (#"{"identities":{}}"#, "/identities type"), (#"{"identities":[1]}"#, "/identities/0 type"),
    (#"{"identities":[{"provider":"email","subject":"x"}]}"#, "/identities/0/provider provider"),
    (#"{"identities":[{"provider":"jwt:a","subject":""}]}"#, "/identities/0/subject length"),
    (#"{"identities":[{"provider":"email","subject":1}]}"#, "/identities/0 type"),
    (#"{"metadata":[]}"#, "/metadata type"), (#"{"properties":[]}"#, "/properties type"),
    (#"{"properties":{"a/b":{}}}"#, "/properties/a~1b type"),
    (#"{"properties":{"":1}}"#, "/properties/ key_length"),
  ])
  func `an error in a line has its place`(text: String, fault: String) {
    #expect(faults(text) == [fault])
  }

  /// An export may contain numbers that were stored before the limit.
  @Test func `a number without exponent may be as long as a document`() {
    let digits = String(repeating: "7", count: 9_000)
    #expect(faults(#"{"custom_data":{"a":\#(digits),"b":-0.\#(digits)}}"#) == [])
    #expect(faults(#"{"custom_data":{"a":\#(digits)e1}}"#) == ["/custom_data/a json.number"])
  }

  @Test func `all errors of a line are reported`() {
    #expect(faults(#"{"id":"x","name":"","blocked":0}"#).count == 3)
  }

  @Test(arguments: [
    "{}", #"{"foreign_id":"auth0|65f1c0de","login_count":9007199254740991}"#,
    #"{"totp_secrets":["gezdgnbvgy3tqojq"],"last_login_at":"2026-01-02T03:04:05.678Z"}"#,
    #"{"id":"0123456789ABCDEF01234567"}"#, #"{"created_at":"1970-01-01T00:00:00Z"}"#,
    #"{"created_at":"2024-02-29T23:59:59.123456+05:30"}"#,
    #"{"email":"a@b.c","password_hash":null,"name":null}"#,
    #"{"identities":[{"provider":"jwt:a","subject":"1"},{"provider":"jwt:a","subject":"2"}]}"#,
  ])
  func `a valid line is accepted`(text: String) { #expect(faults(text) == []) }

  @Test(
    arguments: [
      (#"{\#(passkey)}"#, []),
      (
        #"{\#(passkey),"rp_id":"example.com","sign_count":4294967295,"transports":["usb","other"],"#
          + #""aaguid":"fbfc3007-154e-4ecc-8c0b-6e020557d7bd","backup_eligible":true,"#
          + #""backed_up":true,"name":"Key","created_at":"2025-01-02T03:04:05Z","last_used_at":"2025-01-02T03:04:05Z"}"#,
        []
      ),
      (#"{\#(passkey),"rp_id":"Example.com"}"#, ["/rp_id rp_id"]),
      (
        #"{\#(passkey),"sign_count":4294967296,"more":1}"#,
        ["/sign_count type", "/more unknown_member"]
      ),
      (#"{\#(passkey),"transports":[1],"aaguid":"00"}"#, ["/aaguid type", "/transports type"]),
      (#"{\#(passkey),"name":"","created_at":"soon"}"#, ["/name length", "/created_at time"]),
      (#"{\#(passkey),"backed_up":true}"#, [" passkey"]),
      (#"{\#(passkey),"backed_up":1}"#, ["/backed_up type"]),
      (
        #"{"credential_id":"AA==","user_handle":""}"#,
        ["/credential_id base64url", "/public_key base64url"]
      ),
      ("[]", [" type"]),
    ] as [(String, [String])])
  func `a passkey must fit the app, and have a key`(text: String, expected: [String]) {
    do throws(Failure) {
      _ = try ImportedUser(
        Array(#"{"passkeys":[\#(text)]}"#.utf8), stringLimit: 128,
        passkeys: PasskeyRules(relyingPartyID: "example.com", limit: 1))
      #expect(expected == [])
    } catch {
      let place = "/passkeys/0"
      #expect(error.faults.map { "\($0.place.dropFirst(place.count)) \($0.code)" } == expected)
    }
  }
}

/// The members of a passkey that a line must have, with a key of Ed25519.
private let passkey =
  #""credential_id":"AAAA","user_handle":"AAAA","#
  + #""public_key":"pAEBAycgBiFYIDtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop""#
