import Dossier
import EventLoop
import HTTP
import JSON
import Notation
import RESTWire
import TestSupport
import Testing
import Wiring

/// What a wire decides of the sessions that it opens.
@Suite(.fewAtOnce) struct SessionStyleTests {
  init() { LoopThread.start() }

  private static let style = SessionStyle(
    "toy",
    scopes: Scopes(Scopes.readUser),
    tokens: .native { (context) async throws(Failure) in
      [
        ("user_data", ["id": .string(context.principal.user?.text ?? "")]),
        ("sub", "somebody else"),
      ]
    }
  )

  @Test @EventLoop func `sessions have the scopes of their wire, and tokens its claims`()
    async throws
  {
    let world = try await World.shared.value.get()
    let cast = try await world.cast()
    let context = try await world.context(of: cast.app)
    let opened = try await Users.signInAnonymously(as: Self.style, context)
    try check(opened, of: opened.user)
    var read = cast.question(.get, "/v1/me")
    read.authorize(opened.accessToken)
    #expect(try await cast.expect(200, read).string("id") == opened.user.text)
    var change = cast.question(.put, "/v1/me/metadata", "{}")
    change.authorize(opened.accessToken)
    #expect(try await cast.expect(403, change).code == "insufficient_scope")
    try check(
      try await Sessions.refresh(opened.refreshToken, as: Self.style, context),
      of: opened.user
    )
  }

  @Test @EventLoop func `a session of one wire is refreshed and switched to by no other`()
    async throws
  {
    let world = try await World.shared.value.get()
    let cast = try await world.cast()
    let context = try await world.context(of: cast.app)
    let opened = try await Users.signInAnonymously(as: Self.style, context)
    let body = #"{"refresh_token":"\#(opened.refreshToken)"}"#
    let refresh = cast.question(.post, "/v1/token/refresh", body)
    #expect(try await cast.expect(401, refresh).code == "refresh_token_invalid")
    // The token was not used up, and the session goes on where it was opened.
    let again = try await Sessions.refresh(opened.refreshToken, as: Self.style, context)
    let secret = try #require(opened.deviceSecret)
    var change = cast.question(.put, "/v1/device/active", #"{"user_id":"\#(opened.user)"}"#)
    change.fields[.device] = secret
    #expect(try await cast.expect(409, change).code == "not_logged_in")
    // Who proves anew who it is goes on in the tokens of the wire that it asks, and may no more.
    let own = try await Sessions.refresh(again.refreshToken, as: Self.style, context)
    #expect(own.user == opened.user)
    var browser = cast.question(.post, "/v1/token/refresh", "{}")
    browser.fields[.cookie] = "\(DeviceCookie.name)=\(secret)"
    browser.fields[.origin] = "https://app.example"
    #expect(try await cast.expect(401, browser).code == "session_ended")
  }

  /// The claims of the wire are there, and none of them is in the place of one of ours.
  @EventLoop func check(_ grant: Sessions.Grant, of user: UserID) throws {
    let part = grant.accessToken.split(separator: ".")[1]
    let claims = try JSON.parse(try #require([UInt8](base64URL: part)))
    #expect(claims["user_data"]?["id"]?.string == user.text)
    #expect(claims["sub"]?.string == user.text)
    #expect(claims["scope"]?.string == Scopes.readUser)
  }
}
