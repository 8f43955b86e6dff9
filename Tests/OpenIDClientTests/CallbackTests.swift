import HTTP
import JSON
import OpenIDClient
import Testing

@Suite struct CallbackTests {
  private func read(_ query: String) throws -> CallbackParameters {
    try CallbackParameters(#require(FormValues(query[...], repeating: .any)))
  }

  private func rule(_ query: String) -> String? {
    (#expect(throws: OpenIDClientError.self) { try read(query) })?.rule
  }

  @Test func `a code and an error are read`() throws {
    let code = try read(
      "code=a%2Fb&state=s&iss=https%3A%2F%2Fissuer.example&id_token=x&session_state=")
    #expect(code.outcome == .code("a/b") && code.state == "s")
    #expect(code.issuer == Fixtures.issuer && code.name == nil)
    let error = try read("state=s&error=access_denied&error_description=The+user%0Asaid+no")
    #expect(error.outcome == .error(code: "access_denied", description: "The user said no"))
  }

  @Test(arguments: [
    "code=a%2Fb%26state%3Dx&state=s&iss=https%3A%2F%2Fissuer.example",
    "state=s&error=access_denied&error_description=no",
    "code=a&state=s&user=%7B%22name%22%3A%7B%22firstName%22%3A%22%C3%81da%22%7D%7D",
  ])
  func `a query has what is read, and nothing else`(query: String) throws {
    let first = try read(
      "\(query)&id_token=\(String(repeating: "t", count: 20_000))&session_state=x")
    #expect(first.query.utf8.count < 200)
    let second = try read(first.query)
    #expect(second.query == first.query)
    #expect(second.state == first.state && second.outcome == first.outcome)
    #expect(second.issuer == first.issuer && second.name == first.name)
    #expect(
      try read("code=a&state=s&user=\(String(repeating: "n", count: 5_000))").query
        == "state=s&code=a")
  }

  @Test(arguments: [
    ("code=a", "it has no state"), ("code=a&state=", "it has no state"),
    ("state=s", "it has neither code nor error"),
    ("state=s&code=&error=", "it has neither code nor error"),
    ("state=s&code=a&error=b", "it has both code and error"),
    ("state=s&code=a&code=b", "it repeats a parameter"),
    ("state=s&code=a%7Fb", "its code has other characters than printable ASCII"),
    ("state=s&code=a%0Ab", "its code has other characters than printable ASCII"),
    ("state=s&code=%C3%A9", "its code has other characters than printable ASCII"),
    ("state=s&code=a&x=1&x=2", "it repeats a parameter"),
  ])
  func `parameters that contradict each other are refused`(query: String, expected: String) {
    #expect(rule(query) == expected)
  }

  @Test(arguments: [("code", 4_096), ("state", 2_048), ("iss", 1_024)])
  func `a parameter that is too long is refused`(name: String, limit: Int) throws {
    let others = ["code": "&state=s", "state": "&code=c", "iss": "&code=c&state=s"][name] ?? ""
    _ = try read("\(name)=\(String(repeating: "a", count: limit))\(others)")
    #expect(
      rule("\(name)=\(String(repeating: "a", count: limit + 1))\(others)")
        == "its \(name) is longer than \(limit) bytes")
  }

  @Test func `an explanation has only characters that a log prints`() throws {
    let hostile = "a%1B%5D0%3Bx%07%C2%9B31m%E2%80%AEb%E2%80%A8c%0D%0Ad"
    let read = try read("state=s&error=e&error_description=\(hostile)")
    #expect(read.outcome == .error(code: "e", description: "a ]0;x  31m b c  d"))
  }

  @Test func `an explanation is cut, and a strange code is replaced`() throws {
    let long = String(repeating: "%C3%A9", count: 500)
    guard
      case .error(let code, let description?) = try read(
        "state=s&error=%3Cscript%3E+x&error_description=\(long)"
      ).outcome
    else {
      Issue.record("no error")
      return
    }
    #expect(code == "unknown_error")
    #expect(description == String(repeating: "é", count: 100) + "…")
  }

  @Test(arguments: [
    (#"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"a@b.example"}"#, "Ada Lovelace"),
    (#"{"name":{"firstName":"Ada","lastName":""}}"#, "Ada"),
    (#"{"name":{"firstName":"Ada","lastName":"a\u0007b"}}"#, "Ada"),
    (#"{"name":{"firstName":7,"lastName":" "}}"#, nil), (#"{"name":"Ada"}"#, nil), ("{", nil),
    (#"{"name":{"firstName":"\#(String(repeating: "a", count: 151))"}}"#, nil),
    (#"{"name":{"firstName":"A","x":"\#(String(repeating: "a", count: 10_000))"}}"#, nil),
  ])
  func `the name of a new user is read if a profile can hold it`(user: String, full: String?) throws
  {
    #expect(StatedName(user)?.full == full)
    let encoded = user.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(try read("state=s&code=c&user=\(encoded)").name?.full == full)
  }

  // MARK: The issuer of the callback

  private func verify(_ provider: Provider, _ issuer: String?) throws {
    let suffix = issuer.map { "&iss=\($0)" } ?? ""
    try provider.verifyIssuer(of: read("state=s&code=c\(suffix)"))
  }

  @Test func `a callback of another issuer is refused`() throws {
    let provider = try Fixtures.provider()
    try verify(provider, Fixtures.issuer)
    try verify(provider, nil)
    #expect(throws: OpenIDClientError.invalidCallback(rule: "its iss is of another issuer")) {
      try verify(provider, "https://other.example")
    }
    #expect(throws: OpenIDClientError.self) { try verify(provider, "\(Fixtures.issuer)/") }
  }

  @Test func `an issuer that promises iss must send it`() throws {
    let provider = try Fixtures.provider(
      .oidc, ["authorization_response_iss_parameter_supported": true])
    try verify(provider, Fixtures.issuer)
    #expect(
      throws: OpenIDClientError.invalidCallback(rule: "it has no iss, which the issuer promises")
    ) { try verify(provider, nil) }
  }

  @Test func `an issuer with several names may use each`() throws {
    try verify(Fixtures.provider(.google), "accounts.google.com")
    try verify(Fixtures.provider(.github), "https://github.com/login/oauth")
    let microsoft = try Fixtures.provider(.microsoft)
    try verify(microsoft, "https://login.microsoftonline.com/contoso.example/v2.0")
    #expect(throws: OpenIDClientError.self) {
      try verify(microsoft, "https://login.microsoftonline.com/a/b/v2.0")
    }
    // With an issuer of the operator, the names of the preset mean nothing.
    #expect(throws: OpenIDClientError.self) {
      try verify(Fixtures.provider(.google, issuer: Fixtures.issuer), "accounts.google.com")
    }
  }
}
