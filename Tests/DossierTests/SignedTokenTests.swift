import FoundationEssentials
import JSON
import Notation
import Testing

@testable import Dossier

@Suite struct SignedTokenTests {
  private func token(_ head: String, _ claims: String = "{}") -> String {
    "\(Data(head.utf8).base64URL).\(Data(claims.utf8).base64URL).c2ln"
  }

  @Test(arguments: [
    #"{"alg":9223372036854775808}"#, #"{"alg":"HS256","x":1e300}"#, #"{"kid":-1e19}"#,
    #"{"jwk":{"a":[1e19]}}"#, #"{"alg":1e-9223372036854775808}"#, #"{"alg":"a","alg":"b"}"#, "[]",
  ])
  func `a head that jwt-kit must not see is refused`(head: String) {
    #expect(SignedToken(token(head)) == nil)
    let claims = #"{"iss":"i","sub":"s","aud":"a","exp":1}"#
    #expect(throws: Failure.self) { try ExternalToken(token(head, claims)) }
  }

  @Test(arguments: ["", "a", "a.b", "a.b.c", "e30.e30", "e30.e30.e30.e30", "e30=.e30.", "e30. .x"])
  func `what is no token is refused`(text: String) { #expect(SignedToken(text) == nil) }

  @Test func `head and claims are read`() throws {
    let read = try #require(
      SignedToken(token(#"{"alg":"ES256","x5c":["a"],"n":1.5}"#, #"{"exp":1.5,"sub":"x"}"#))
    )
    #expect(read.head["alg"] == "ES256")
    #expect(read.claims["sub"] == "x")
  }
}
