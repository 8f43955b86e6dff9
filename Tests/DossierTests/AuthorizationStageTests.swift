import JSON
import Testing

@testable import Accounts
@testable import OpenID

/// Tests the stored form of what a sign-in waits for.
@Suite struct AuthorizationStageTests {
  @Test(arguments: [
    AuthorizationStage.start, .mailedCode(flow: "f", isOfNewUser: false),
    .mailedCode(flow: "f", isOfNewUser: true),
    .newPasskey(flow: "f", credential: "{}", ceremony: "c"),
    .secondFactor(flow: "f", methods: [.totp, .passkey, .enrollPasskey]),
    .enrollment(flow: "f", secret: "s", uri: "otpauth://totp/a"),
  ])
  func `a stage is stored with its values`(_ stage: AuthorizationStage) throws {
    var state = AuthorizationState()
    (state.stage, state.pageName, state.sentMail) = (stage, "code", .verification)
    (state.hasLedOn, state.isAnother) = (true, true)
    let read = AuthorizationState(try JSON.parse(state.json.serialized()))
    #expect(read.stage == stage && read.pageName == "code" && read.sentMail == .verification)
    #expect(read.hasLedOn && read.isAnother)
  }

  @Test(arguments: [
    #"{"name":"enrollment","flow":"f"}"#, #"{"name":"enrollment","flow":"f","secret":"s"}"#,
    #"{"name":"enrollment","secret":"s","uri":"u"}"#, #"{"name":"mailed_code","flow":"f"}"#,
    #"{"name":"mailed_code","flow":7,"new_user":false}"#, #"{"name":"second_factor","flow":"f"}"#,
    #"{"name":"new_passkey","flow":"f","credential":"{}"}"#,
    #"{"name":"second_factor","flow":null}"#, #"{"name":"other","flow":"f"}"#, #"{"flow":"f"}"#,
    #""second_factor""#, "[]", "null",
  ])
  func `a stage without its values is the start`(_ text: String) throws {
    let json = try JSON.parse(Array(#"{"stage":\#(text),"mail":"other","page":1}"#.utf8))
    let state = AuthorizationState(json)
    #expect(state.stage == .start && state.sentMail == nil && state.pageName == nil)
  }

  @Test func `the end of a stage forgets its values`() {
    var state = AuthorizationState()
    state.email = "ada@example.com"
    state.stage = .enrollment(flow: "f", secret: "s", uri: "u")
    (state.pageName, state.sentMail, state.hasLedOn, state.isAnother) = (
      "enroll", .reset, true, true
    )
    state.endStage()
    #expect(state.stage == .start && state.pageName == nil && state.sentMail == nil)
    #expect(!state.hasLedOn && !state.isAnother && state.email == "ada@example.com")
  }
}
