import Declarations
import Accounts
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON
import Encoding
import RESTWire
import TestSupport
import Testing
import WireKit

/// Tests the session style that a wire declares.
@Suite(.fewAtOnce) struct SessionStyleTests {
  init() { LoopThread.start() }

  private static let style = SessionStyle("toy", scopes: Scopes(Scopes.readUser)) {
    (context) async throws(Failure) in
    [("user_data", ["id": .string(context.principal.user?.text ?? "")]), ("sub", "somebody else")]
  }

  @Test @EventLoop func `sessions have the scopes of their wire, and tokens its claims`()
    async throws
  {
    let world = try await TestService.shared.value.get()
    let cast = try await world.cast()
    let context = try await world.context(of: cast.app)
    let opened = try await Users.signInAnonymously(as: Self.style, context).tokens(context)
    try check(opened, of: opened.user)
    var read = cast.question(.get, "/v1/me")
    read.authorize(opened.accessToken)
    #expect(try await cast.expect(200, read).string("id") == opened.user.text)
    var change = cast.question(.put, "/v1/me/metadata", "{}")
    change.authorize(opened.accessToken)
    #expect(try await cast.expect(403, change).code == "insufficient_scope")
    try check(
      try await Sessions.refresh(opened.refreshToken, as: Self.style, context).tokens(context),
      of: opened.user
    )
  }

  @Test @EventLoop func `only its own wire refreshes a session or switches to it`()
    async throws
  {
    let world = try await TestService.shared.value.get()
    let cast = try await world.cast()
    let context = try await world.context(of: cast.app)
    let session = try await Users.signInAnonymously(as: Self.style, context)
    let opened = try await session.tokens(context)
    let body = #"{"refresh_token":"\#(opened.refreshToken)"}"#
    let refresh = cast.question(.post, "/v1/token/refresh", body)
    #expect(try await cast.expect(401, refresh).code == "refresh_token_invalid")
    // The refused attempt did not use up the token, and the session continues in its own wire.
    let again = try await Sessions.refresh(opened.refreshToken, as: Self.style, context)
      .tokens(context)
    let secret = try #require(session.deviceSecret)
    var change = cast.question(.put, "/v1/device/active", #"{"user_id":"\#(opened.user)"}"#)
    change.fields[.device] = secret
    #expect(try await cast.expect(409, change).code == "not_logged_in")
    // Reauthentication returns tokens of the requested wire, with its scopes.
    let own = try await Sessions.refresh(again.refreshToken, as: Self.style, context)
      .tokens(context)
    #expect(own.user == opened.user)
    var browser = cast.question(.post, "/v1/token/refresh", "{}")
    browser.fields[.cookie] = "\(DeviceCookie.name)=\(secret)"
    browser.fields[.origin] = "https://app.example"
    #expect(try await cast.expect(401, browser).code == "session_ended")
  }

  /// Expects the claims of the wire, and that they replace none of ours.
  @EventLoop func check(_ grant: Sessions.TokenSet, of user: UserID) throws {
    let part = grant.accessToken.split(separator: ".")[1]
    let claims = try JSON.parse(try #require([UInt8](base64URL: part)))
    #expect(claims["user_data"]?["id"]?.string == user.text)
    #expect(claims["sub"]?.string == user.text)
    #expect(claims["scope"]?.string == Scopes.readUser)
  }
}
