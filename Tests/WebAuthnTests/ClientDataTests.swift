import Encoding
import JSON
import TestSupport
import Testing

@testable import WebAuthn

/// Client data, in both ceremonies.
@Suite struct ClientDataTests {
  /// Expects that both ceremonies refuse what a change of the authenticator makes, or accept it.
  private func expect(
    _ rule: String?, at party: RelyingParty = Fixtures.relyingParty,
    challenge: [UInt8] = Fixtures.challenge, _ change: (inout TestAuthenticator) -> Void
  ) throws {
    var authenticator = try TestAuthenticator()
    authenticator.relyingPartyID = party.id
    var origin = authenticator
    origin.origin = "https://\(party.id)"
    let record = try Fixtures.register(origin, at: party)
    change(&authenticator)
    if let rule {
      #expect(throws: WebAuthnError.invalidClientData(rule: rule)) {
        try Fixtures.register(authenticator, at: party, challenge)
      }
      #expect(throws: WebAuthnError.invalidClientData(rule: rule)) {
        try Fixtures.signIn(authenticator, record, at: party, challenge)
      }
    } else {
      #expect(try Fixtures.register(authenticator, at: party, challenge).id == record.id)
      #expect(try Fixtures.signIn(authenticator, record, at: party, challenge).id == record.id)
    }
  }

  @Test func `client data is accepted with members that clients add`() throws {
    try expect(nil) { _ in }
    try expect(nil) {
      $0.clientMembers = [
        ("crossOrigin", nil), ("tokenBinding", ["status": "supported"]),
        ("other_keys_can_be_added_here", "do not compare clientDataJSON against a template"),
      ]
    }
  }

  @Test(arguments: ["webauthn.create", "webauthn.get", "WEBAUTHN.GET", "payment.get", ""])
  func `the type of another ceremony is refused`(type: String) throws {
    var authenticator = try TestAuthenticator()
    let record = try Fixtures.register(authenticator)
    authenticator.clientMembers = [("type", .string(type))]
    if type != "webauthn.create" {
      let rule = "its type is not webauthn.create"
      #expect(throws: WebAuthnError.invalidClientData(rule: rule)) {
        try Fixtures.register(authenticator)
      }
    }
    if type != "webauthn.get" {
      let rule = "its type is not webauthn.get"
      #expect(throws: WebAuthnError.invalidClientData(rule: rule)) {
        try Fixtures.signIn(authenticator, record)
      }
    }
  }

  @Test(
    arguments: [
      .string([UInt8](1..<33).base64URL), .string([UInt8](0..<31).base64URL),
      .string([UInt8](0..<33).base64URL), .string([UInt8](0..<32).base64URL + "="),
      .string([UInt8](0..<32).base64URL + "\n"), .string([UInt8](0..<32).base64URL.lowercased()),
      "", .null, 7, .none,
    ] as [JSON?])
  func `another challenge is refused`(challenge: JSON?) throws {
    try expect("its challenge is not the issued one") {
      $0.clientMembers = [("challenge", challenge)]
    }
  }

  @Test(arguments: [
    "https://example.org", "https://login.example.org", "android:apk-key-hash:abc",
  ])
  func `each origin of the list is accepted`(origin: String) throws {
    try expect(nil) { $0.origin = origin }
  }

  @Test(arguments: [
    "http://example.org", "https://example.org:8443", "https://example.org:443",
    "https://EXAMPLE.ORG", "HTTPS://example.org", "https://example.org/", "https://example.org.",
    "https://example.org.evil", "https://www.example.org", "https://evil.example", "example.org",
    "https://user@example.org", "https://example.org#", "null", "", "android:apk-key-hash:ABC",
    "android:apk-key-hash:abc=", "ios:bundle-id:org.example", "https://\u{435}xample.org",
    "http://localhost", "http://localhost:8080", "https://localhost",
  ])
  func `another origin is refused`(origin: String) throws {
    try expect("its origin is not accepted") { $0.origin = origin }
  }

  @Test(arguments: [.null, 7, ["https://example.org"], .none] as [JSON?])
  func `an origin that is no text is refused`(origin: JSON?) throws {
    try expect("its origin is not accepted") { $0.clientMembers = [("origin", origin)] }
  }

  @Test func `an origin is compared by bytes`() throws {
    // Swift's strings are equal.
    let party = RelyingParty(id: "example.org", origins: ["https://caf\u{e9}.example"])
    try expect(nil, at: party) { $0.origin = "https://caf\u{e9}.example" }
    try expect("its origin is not accepted", at: party) {
      $0.origin = "https://cafe\u{301}.example"
    }
  }

  @Test(arguments: [
    "http://localhost", "http://localhost:1", "http://localhost:8080", "http://localhost:65535",
    "https://localhost",
  ])
  func `at localhost each port is accepted`(origin: String) throws {
    try expect(nil, at: RelyingParty(id: "localhost")) { $0.origin = origin }
  }

  @Test(arguments: [
    "http://localhost:", "http://localhost:0", "http://localhost:65536", "http://localhost:08080",
    "http://localhost:+80", "http://localhost:80/", "http://localhost.evil", "http://localhost80",
    "http://app.localhost", "https://localhost:8080", "http://127.0.0.1:8080",
    "http://localhost:80@evil.example",
  ])
  func `at localhost other origins are refused`(origin: String) throws {
    try expect("its origin is not accepted", at: RelyingParty(id: "localhost")) {
      $0.origin = origin
    }
  }

  @Test(
    arguments: [
      [("crossOrigin", true)], [("crossOrigin", .null)], [("crossOrigin", "false")],
      [("crossOrigin", 0)], [("topOrigin", "https://example.org")], [("topOrigin", .null)],
      [("crossOrigin", true), ("topOrigin", "https://evil.example")],
    ] as [[(String, JSON)]])
  func `a frame of another origin is refused`(members: [(String, JSON)]) throws {
    try expect("it is from a frame of another origin") {
      $0.clientMembers = members.map { ($0.0, $0.1) }
    }
  }

  /// Returns client data of both ceremonies, in turn; only the type differs.
  private func texts(_ wrap: (String) -> [UInt8]) -> [[UInt8]] {
    ["create", "get"].map { type in
      let challenge = Fixtures.challenge.base64URL
      return wrap(
        #"{"type":"webauthn.\#(type)","challenge":"\#(challenge)","origin":"https://example.org"}"#)
    }
  }

  private func verdicts(_ wrap: (String) -> [UInt8]) -> [WebAuthnError?] {
    zip(texts(wrap), [ClientData.Kind.creation, .assertion]).map { text, kind in
      do throws(WebAuthnError) {
        try ClientData.verify(
          text, kind, challenge: Fixtures.challenge, Fixtures.relyingParty)
        return nil
      } catch { return error }
    }
  }

  @Test func `a byte order mark and white space are accepted`() {
    #expect(verdicts { [0xef, 0xbb, 0xbf] + Array($0.utf8) } == [nil, nil])
    #expect(verdicts { Array(" \n\($0)\r\n\t".utf8) } == [nil, nil])
  }

  @Test func `other texts than one JSON object in UTF-8 are refused`() {
    let rule = "it is not a JSON object of unique keys in UTF-8"
    let refused = [WebAuthnError.invalidClientData(rule: rule), .invalidClientData(rule: rule)]
    // Two marks, other encodings, a list, two values, bytes behind it, bytes that are not UTF-8.
    #expect(verdicts { [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf] + Array($0.utf8) } == refused)
    #expect(verdicts { [0xff, 0xfe] + $0.utf8.flatMap { [$0, 0] } } == refused)
    #expect(verdicts { Array("[\($0)]".utf8) } == refused)
    #expect(verdicts { Array(($0 + $0).utf8) } == refused)
    #expect(verdicts { Array($0.utf8) + [0] } == refused)
    #expect(verdicts { Array($0.utf8.dropLast()) } == refused)
    #expect(
      verdicts { Array($0.utf8.dropLast()) + Array(#","a":"\#u{e9}"}"#.utf8.dropLast(3)) }
        == refused)
    #expect(
      verdicts { Array($0.utf8.dropLast()) + [0x2c, 0x22, 0xff, 0x22, 0x3a, 0x30, 0x7d] } == refused
    )
    #expect(verdicts { _ in [] } == refused)
  }

  @Test(arguments: ["type", "challenge", "origin", "crossOrigin", "extra"])
  func `a key that occurs twice is refused`(key: String) {
    let rule = "it is not a JSON object of unique keys in UTF-8"
    // The copy says the same as the original, so only the repetition is wrong.
    let found = verdicts { text in
      let members = (try? JSON.parse(Array(text.utf8)))?.object
      let value = (members?[key] ?? false).text
      let copy = members?[key] == nil ? #","\#(key)":\#(value)"# : ""
      return Array("\(text.dropLast())\(copy),\"\(key)\":\(value)}".utf8)
    }
    #expect(found == [.invalidClientData(rule: rule), .invalidClientData(rule: rule)])
  }

  @Test func `client data has at most 4096 bytes`() {
    func padded(_ length: Int) -> (String) -> [UInt8] {
      { Array(($0 + String(repeating: " ", count: length - $0.utf8.count)).utf8) }
    }
    #expect(verdicts(padded(4_096)) == [nil, nil])
    let rule = "it is longer than 4096 bytes"
    #expect(
      verdicts(padded(4_097)) == [.invalidClientData(rule: rule), .invalidClientData(rule: rule)])
  }
}
