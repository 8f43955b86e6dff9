import EventLoop
import HTTP
import JSON
import TestSupport
import Testing

/// Tests the first address of a user whose issuer named none.
@Suite(.fewAtOnce) struct FirstAddressTests {
  init() { LoopThread.start() }

  @Test @EventLoop func `a user of an issuer adds an address, and then changes it`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    try await cast.expect(201, cast.asOperator(.post, "/v1/issuers", Scenario.issuer))
    let body = #"{"token":"\#(Scenario.token())"}"#
    let login = try await cast.expect(200, cast.question(.post, "/v1/login/jwt", body))
    var person = Fixtures.Person()
    (person.id, person.access) = (try login.string("user_id"), try login.string("access_token"))
    cast.become(person)
    for email in ["first-\(cast.app)@example.com", "second-\(cast.app)@example.com"] {
      let asked = try await cast.expect(
        202, cast.asUser(.post, "/v1/me/email", #"{"email":"\#(email)"}"#))
      let flow = try asked.string("flow")
      let code = try await cast.mailedCode(to: "To: \(email)")
      try await cast.expect(
        204, cast.asUser(.post, "/v1/me/email/verify", #"{"flow":"\#(flow)","code":"\#(code)"}"#))
      let me = try await cast.expect(200, cast.asUser(.get, "/v1/me")).json
      #expect(me["email"]?.string == email && me["email_verified"] == .bool(true))
    }
    let identities = try await cast.expect(200, cast.asUser(.get, "/v1/me/identities")).json
    #expect(
      identities.array?.map { $0["provider"]?.string } == ["jwt:https://partner.example", "email"])
  }

  @Test @EventLoop func `a guest adds no address, but links one`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let email = #"{"email":"guest-\#(cast.app)@example.com"}"#
    let refused = await cast.ask(cast.asUser(.post, "/v1/me/email", email))
    #expect(refused.status == 409 && refused.json["code"]?.string == "no_email")
    // An API key makes a guest permanent, and another person may have made it.
    try await cast.expect(201, cast.asUser(.post, "/v1/me/api-keys", #"{"name":"laptop"}"#))
    let again = await cast.ask(cast.asUser(.post, "/v1/me/email", email))
    #expect(again.status == 409 && again.json["code"]?.string == "no_email")
  }
}
