import JSON
import Encoding
import Testing
import WebTokens

@testable import Runtime
@testable import Tenancy

@Suite struct SignedTokenTests {
  private func token(_ head: String, _ claims: String = "{}") -> String {
    "\(Array(head.utf8).base64URL).\(Array(claims.utf8).base64URL).c2ln"
  }

  private let claims = #"{"iss":"i","sub":"s","aud":"a","exp":1}"#

  @Test(arguments: [#"{"alg":"a","alg":"b"}"#, "[]", "7", "{", #"{"x":1e9223372036854775808}"#])
  func `a header that is not strict JSON is refused`(head: String) {
    #expect(SignedToken(token(head)) == nil)
    #expect(throws: Failure.self) { try ExternalToken(token(head, claims)) }
  }

  @Test(arguments: [
    #"{"alg":9223372036854775808,"kid":-1e19}"#, #"{"alg":[1e19],"kid":null}"#,
    #"{"alg":{"a":"b"}}"#,
  ])
  func `an algorithm or key id that is not a string is ignored`(head: String) throws {
    let read = try #require(SignedToken(token(head)))
    #expect(read.algorithm == nil && read.keyID == nil)
    #expect(!IssuerKeys.secret([UInt8](repeating: 7, count: 64)).verify(read))
  }

  @Test(arguments: [
    "", "a", "a.b", "a.b.c", "e30.e30", "e30.e30.e30.e30", "e30=.e30.", "e30. .x", "e30.e30.c2l=",
    "e30.e30.c2m", "e30.e30.!",
  ])
  func `a malformed token is refused`(text: String) { #expect(SignedToken(text) == nil) }

  @Test func `the header, the claims and the signature are parsed`() throws {
    let text = token(#"{"alg":"ES256","x5c":["a"],"n":1.5}"#, #"{"exp":1.5,"sub":"x"}"#)
    let read = try #require(SignedToken(text))
    #expect(read.algorithm == "ES256")
    #expect(read.claims["sub"] == "x")
    #expect(read.signed == Array(text.dropLast(5).utf8))
    #expect(read.signature == Array("sig".utf8))
  }

  @Test(arguments: ["1e9", "1.5", "1000000000.25"])
  func `a time can have any notation of a number`(time: String) throws {
    let read = try ExternalToken(
      token(#"{"alg":"ES256"}"#, #"{"iss":"i","sub":"s","aud":[],"exp":\#(time),"nbf":\#(time)}"#)
    )
    #expect(read.expires == Double(time) && read.begins == Double(time) && read.audiences == [])
  }
}

@Suite struct ClaimPathTests {
  private let claims: JSONObject? =
    ([
      "name": "a", "a.b": "whole", "a": ["b": "member", "c.d": ["e": 1]], "list": [1],
      "https://issuer.example/team": "t",
    ] as JSON).object

  @Test(
    arguments: [
      ("name", "a"), ("a.b", "whole"), (#"a.c\.d.e"#, 1), ("a.x", nil), ("list.0", nil),
      ("name.x", nil), ("", nil), (".", nil), ("https://issuer.example/team", "t"),
      ("https://issuer.example/x", nil),
    ] as [(String, JSON?)])
  func `a claim is found by its name, or by a path`(path: String, value: JSON?) throws {
    #expect(try ClaimPath(path).value(in: #require(claims)) == value)
  }
}
