import Accounts
import Administration
import Encoding
import EventLoop
import Glibc
import HTTP
import JSON
import Postgres
import RESTWire
import Records
import Runtime
import Tenancy
import TestSupport
import Testing
import WireKit

@testable import Sessions

/// Tests how administrators begin, sign in and end, in a deployment of their own.
@Suite struct ConsoleSessionTests {
  init() { LoopThread.start() }

  private static let password = "correct horse battery"

  /// Returns the code of the error that a function throws; empty if it throws none.
  @EventLoop private static func refusal(
    _ body: @EventLoop () async throws -> Void
  ) async -> String {
    do {
      try await body()
      return ""
    } catch {
      return (error as? Failure)?.type.code ?? "\(error)"
    }
  }

  /// An administrator who has used a link.
  @EventLoop private struct Person {
    let world: TestService
    let id: String
    let email: String
    let session: ConsoleSession
    let recoveryCodes: [String]
    var context: RequestContext { world.anyContext }
  }

  @EventLoop private static func create(
    _ body: String, in world: TestService
  ) async throws -> String {
    let reply = await world.ask(
      request(.post, "/v1/administrators", body), byOperator: true)
    guard reply.status == 201 else { throw Unexpected(reply: reply, wanted: "an administrator") }
    return try reply.string("id")
  }

  @EventLoop private static func request(
    _ method: HTTP.Method, _ path: String, _ body: String? = nil
  ) -> TestRequest {
    var question = TestRequest(method, path)
    if let body { question.send(body, as: method == .patch ? .mergePatch : .json) }
    return question
  }

  @EventLoop private static func link(of id: String, in world: TestService) async throws -> String {
    let reply = await world.ask(
      request(.post, "/v1/administrators/\(id)/link"), byOperator: true)
    let link = try reply.string("link")
    #expect(link.hasPrefix("https://id.example/console/-/start#ds_admin_"))
    return String(link.split(separator: "#")[1])
  }

  /// Returns the present code of an authenticator app that has just been set up.
  private static func code(_ enrollment: SecondFactors.Enrollment) throws -> String {
    let secret = try #require([UInt8](base32: enrollment.secret))
    return TimeBasedCode.code(of: secret, at: TimeBasedCode.step(at: time(nil)))
  }

  @EventLoop private static func person(
    _ role: String = "owner", in world: TestService
  ) async throws -> Person {
    let email = "\(UserID())@example.com"
    let id = try await create(#"{"email":"\#(email)","role":"\#(role)"}"#, in: world)
    let token = try await link(of: id, in: world)
    let opened = try await AdministratorLinks.open(token, world.anyContext)
    #expect(opened.email == email)
    let (session, codes) = try await AdministratorLinks.use(
      token, password: password, code: code(opened.enrollment), world.anyContext)
    return Person(world: world, id: id, email: email, session: session, recoveryCodes: codes)
  }

  @Test @EventLoop func `a link works once, and sets password and authenticator`() async throws {
    let world = try await TestService()
    let email = "grace@example.com"
    let id = try await Self.create(#"{"email":"\#(email)","role":"owner"}"#, in: world)
    let token = try await Self.link(of: id, in: world)
    let opened = try await AdministratorLinks.open(token, world.anyContext)
    #expect(
      await Self.refusal {
        _ = try await AdministratorLinks.use(
          token, password: Self.password, code: "000000", world.anyContext)
      } == Failure.invalidCode.type.code)
    #expect(
      await Self.refusal {
        _ = try await AdministratorLinks.use(
          token, password: "short", code: "000000", world.anyContext)
      } == Failure.invalid.type.code)
    let (session, codes) = try await AdministratorLinks.use(
      token, password: Self.password, code: Self.code(opened.enrollment), world.anyContext)
    #expect(codes.count == 10 && session.email == email && session.isRecent)
    #expect(session.administrator.right == .deployment)
    #expect(
      await Self.refusal {
        _ = try await AdministratorLinks.open(token, world.anyContext)
      } == Failure.linkExpired.type.code)
    #expect(
      await Self.refusal {
        _ = try await AdministratorLinks.use(
          token, password: Self.password, code: Self.code(opened.enrollment), world.anyContext)
      } == Failure.linkExpired.type.code)
    let found = try await ConsoleSessions.find(session.cookie, world.anyContext)
    #expect(found?.administrator.id.text == id)
  }

  @Test @EventLoop func `a late link, and one that a newer one replaces, are refused`() async throws
  {
    let world = try await TestService()
    let id = try await Self.create(
      #"{"email":"grace@example.com","role":"viewer"}"#, in: world)
    let first = try await Self.link(of: id, in: world)
    let second = try await Self.link(of: id, in: world)
    #expect(
      await Self.refusal {
        _ = try await AdministratorLinks.open(first, world.anyContext)
      } == Failure.linkExpired.type.code)
    try await world.script(
      "update administrators set link_expires_at = now() where user_id = '\(id)'")
    #expect(
      await Self.refusal {
        _ = try await AdministratorLinks.open(second, world.anyContext)
      } == Failure.linkExpired.type.code)
  }

  @Test @EventLoop func `guessed links are limited, and so are the codes of one`() async throws {
    let world = try await TestService()
    let id = try await Self.create(
      #"{"email":"grace@example.com","role":"viewer"}"#, in: world)
    let token = try await Self.link(of: id, in: world)
    let opened = try await AdministratorLinks.open(token, world.anyContext)
    var codes = 0
    while codes < 20 {
      do throws(Failure) {
        _ = try await AdministratorLinks.use(
          token, password: Self.password, code: "000000", world.anyContext)
      } catch .invalidCode {
        codes += 1
      } catch {
        #expect(error.is(.linkExpired), "\(error.report)")
        break
      }
    }
    #expect(codes == 10)
    #expect(
      await Self.refusal {
        _ = try await AdministratorLinks.use(
          token, password: Self.password, code: Self.code(opened.enrollment), world.anyContext)
      } == Failure.linkExpired.type.code)
    var guesses = 0
    while guesses < 200 {
      do throws(Failure) {
        _ = try await AdministratorLinks.open("ds_admin_guess", world.anyContext)
      } catch .linkExpired {
        guesses += 1
      } catch {
        #expect(error.is(.tooManyAttempts), "\(error.report)")
        break
      }
    }
    #expect((50...110).contains(guesses), "\(guesses)")
  }

  @Test @EventLoop func `a sign-in needs password and code`() async throws {
    let world = try await TestService()
    let grace = try await Self.person(in: world)
    #expect(
      await Self.refusal {
        _ = try await ConsoleSessions.signIn(
          Credentials(email: grace.email, password: "another horse battery"), grace.context)
      } == Failure.wrongCredentials.type.code)
    let credentials = Credentials(email: grace.email, password: Self.password)
    let flow = try await ConsoleSessions.signIn(credentials, grace.context)
    #expect(
      await Self.refusal {
        _ = try await ConsoleSessions.complete(flow, by: "000000", grace.context)
      } == Failure.invalidCode.type.code)
    let session = try await ConsoleSessions.complete(
      flow, by: grace.recoveryCodes[0], grace.context)
    #expect(session.administrator.role == .owner && session.cookie.hasPrefix("ds_console_"))
    try await ConsoleSessions.end(session, grace.context)
    #expect(try await ConsoleSessions.find(session.cookie, grace.context) == nil)
  }

  @Test @EventLoop func `a disabled administrator's next request fails`() async throws {
    let world = try await TestService()
    let grace = try await Self.person(in: world)
    let ada = try await Self.person(in: world)
    let path = "/v1/administrators/\(ada.id)"
    let disabled = await world.ask(
      Self.request(.patch, path, #"{"disabled":true}"#), by: grace.session.administrator)
    #expect(disabled.status == 200 && disabled.json["disabled"] == true, "\(disabled)")
    #expect(try await ConsoleSessions.find(ada.session.cookie, ada.context) == nil)
    #expect(
      await Self.refusal {
        _ = try await ConsoleSessions.signIn(
          Credentials(email: ada.email, password: Self.password), ada.context)
      } == Failure.wrongCredentials.type.code)
    let link = await world.ask(Self.request(.post, "\(path)/link"), byOperator: true)
    #expect(link.status == 404)
    let enabled = await world.ask(
      Self.request(.patch, path, #"{"disabled":false}"#), byOperator: true)
    #expect(enabled.status == 200)
    // The session has ended, and does not come back.
    #expect(try await ConsoleSessions.find(ada.session.cookie, ada.context) == nil)
    // A row that another host has just changed counts too, without the end of the session.
    try await world.script(
      #"update administrators set attributes = '{"disabled": true}' where user_id = '\#(grace.id)'"#
    )
    #expect(try await ConsoleSessions.find(grace.session.cookie, grace.context) == nil)
  }

  @Test @EventLoop func `a session ends an hour after its last request`() async throws {
    let world = try await TestService()
    let grace = try await Self.person(in: world)
    func left() async throws -> Int {
      try await world.number(
        "select extract(epoch from expires_at - now())::bigint from sessions "
          + "where session_id = '\(grace.session.session)'")
    }
    #expect(try await (3_590...3_600).contains(left()))
    try await world.script("update sessions set expires_at = now() + interval '10 minutes'")
    #expect(try await ConsoleSessions.find(grace.session.cookie, grace.context) != nil)
    #expect(try await (3_590...3_600).contains(left()))
    try await world.script(
      "update sessions set created_at = now() - interval '11 hours 40 minutes', "
        + "expires_at = now() + interval '10 minutes'")
    #expect(try await ConsoleSessions.find(grace.session.cookie, grace.context) != nil)
    #expect(try await (1_190...1_200).contains(left()))
    try await world.script("update sessions set created_at = now() - interval '13 hours'")
    #expect(try await ConsoleSessions.find(grace.session.cookie, grace.context) == nil)
  }

  @Test @EventLoop func `a step-up needs password and code, and replaces the session`() async throws
  {
    let world = try await TestService()
    let grace = try await Self.person(in: world)
    try await world.script(
      "update sessions set authenticated_at = now() - interval '11 minutes'")
    let old = try #require(
      try await ConsoleSessions.find(grace.session.cookie, grace.context))
    #expect(!old.isRecent)
    #expect(
      await Self.refusal {
        _ = try await ConsoleSessions.stepUp(
          old, password: Self.password, code: "000000", grace.context)
      } == Failure.invalidCode.type.code)
    let kept = try await ConsoleSessions.find(old.cookie, grace.context)
    #expect(kept?.isRecent == false)
    let new = try await ConsoleSessions.stepUp(
      old, password: Self.password, code: grace.recoveryCodes[1], grace.context)
    #expect(new.isRecent && new.cookie != old.cookie)
    #expect(try await ConsoleSessions.find(old.cookie, grace.context) == nil)
  }

  @Test @EventLoop func `networks narrow where an administrator may be`() async throws {
    let world = try await TestService()
    let grace = try await Self.person(in: world)
    let narrowed = await world.ask(
      Self.request(
        .patch, "/v1/administrators/\(grace.id)", #"{"networks":["198.51.100.0/24"]}"#),
      byOperator: true)
    #expect(narrowed.status == 200)
    #expect(
      await Self.refusal {
        _ = try await ConsoleSessions.find(grace.session.cookie, grace.context)
      } == Failure.networkRefused.type.code)
  }

  @Test @EventLoop func `a new link ends the sessions, and replaces all credentials`() async throws
  {
    let world = try await TestService()
    let grace = try await Self.person(in: world)
    let token = try await Self.link(of: grace.id, in: world)
    #expect(try await ConsoleSessions.find(grace.session.cookie, grace.context) == nil)
    let opened = try await AdministratorLinks.open(token, world.anyContext)
    _ = try await AdministratorLinks.use(
      token, password: "another horse battery", code: Self.code(opened.enrollment),
      world.anyContext)
    #expect(
      await Self.refusal {
        _ = try await ConsoleSessions.signIn(
          Credentials(email: grace.email, password: Self.password), grace.context)
      } == Failure.wrongCredentials.type.code)
    let credentials = Credentials(email: grace.email, password: "another horse battery")
    let flow = try await ConsoleSessions.signIn(credentials, grace.context)
    #expect(
      await Self.refusal {
        _ = try await ConsoleSessions.complete(flow, by: grace.recoveryCodes[2], grace.context)
      } == Failure.invalidCode.type.code)
    let factors = try await world.number(
      "select count(*) from second_factors where user_id = '\(grace.id)'")
    #expect(factors == 1)
  }

  @Test @EventLoop func `one owner of all apps stays`() async throws {
    let world = try await TestService()
    let grace = try await Self.person(in: world)
    let limited = #"{"email":"app@example.com","role":"owner","app_ids":["\#(AppID())"]}"#
    _ = try await Self.create(limited, in: world)
    let path = "/v1/administrators/\(grace.id)"
    for body in [#"{"disabled":true}"#, #"{"role":"admin"}"#, #"{"app_ids":["\#(AppID())"]}"#] {
      let reply = await world.ask(Self.request(.patch, path, body), byOperator: true)
      #expect(reply.status == 409 && reply.code == "last_owner", "\(body): \(reply)")
    }
    let deleted = await world.ask(Self.request(.delete, path), byOperator: true)
    #expect(deleted.code == "last_owner", "\(deleted)")
    let ada = try await Self.person(in: world)
    let own = await world.ask(
      Self.request(.patch, path, #"{"role":"viewer"}"#), by: grace.session.administrator)
    #expect(own.status == 403 && own.code == "own_role", "\(own)")
    // Both disable each other at once.
    async let first = world.ask(
      Self.request(.patch, path, #"{"disabled":true}"#), by: ada.session.administrator)
    async let second = world.ask(
      Self.request(.delete, "/v1/administrators/\(ada.id)"), by: grace.session.administrator)
    let both = [await first.status, await second.status].sorted()
    #expect(both.last == 409 && [200, 204].contains(both[0]), "\(both)")
  }

  @Test @EventLoop func `no request selects the app of administrators`() async throws {
    let world = try await TestService()
    let grace = try await Self.person(in: world)
    var login = Self.request(
      .post, "/v1/login/password", #"{"email":"\#(grace.email)","password":"\#(Self.password)"}"#)
    login.fields[.app] = "operators"
    let reply = await world.ask(login)
    #expect(reply.status == 404 && reply.code == "app_not_found", "\(reply)")
    for (method, path) in [
      (HTTP.Method.get, "/v1/users"), (.get, "/v1/users/\(grace.id)"),
      (.delete, "/v1/users/\(grace.id)/second-factors"), (.get, "/v1/keys"),
    ] {
      var question = Self.request(method, path)
      question.fields[.app] = "operators"
      for administrator in [nil, grace.session.administrator] {
        let reply = await world.ask(
          question, byOperator: administrator == nil, by: administrator)
        #expect(reply.code == "app_not_found", "\(path): \(reply)")
      }
    }
    let listed = await world.ask(Self.request(.get, "/v1/apps"), byOperator: true)
    #expect(!listed.text.contains("operators"))
    for body in [
      #"{"settings":{"sign_up":"immediate"}}"#, #"{"settings":{"mfa":null}}"#,
      #"{"hosts":["admin.example"]}"#,
    ] {
      let reply = await world.ask(
        Self.request(.patch, "/v1/apps/operators", body), byOperator: true)
      #expect(reply.status == 422 && reply.text.contains("\"fixed\""), "\(body): \(reply)")
    }
    let kept = await world.ask(
      Self.request(.patch, "/v1/apps/operators", #"{"settings":{"password_min_length":12}}"#),
      byOperator: true)
    #expect(kept.status == 200, "\(kept)")
    for body in [
      #"{"app":"operators","name":"x","kind":"machine","scopes":["read:users"]}"#
    ] {
      let reply = await world.ask(Self.request(.post, "/v1/clients", body), byOperator: true)
      #expect(reply.code == "app_not_found", "\(reply)")
    }
  }

  /// A user of another app with the address and the password of an administrator gets nothing.
  @Test @EventLoop func `a user of another app with the same address gains nothing`() async throws {
    let world = try await TestService()
    let grace = try await Self.person(in: world)
    let cast = try await world.cast()
    let user = try await cast.member(grace.email)
    #expect(user.id != grace.id)
    #expect(
      await Self.refusal {
        _ = try await ConsoleSessions.signIn(
          Credentials(email: cast.user.email, password: Scenario.password), world.anyContext)
      } == Failure.wrongCredentials.type.code)
    #expect(try await ConsoleSessions.find(user.refresh, world.anyContext) == nil)
    let again = await world.ask(
      Self.request(
        .post, "/v1/administrators", #"{"email":"\#(grace.email.uppercased())","role":"owner"}"#),
      byOperator: true)
    #expect(again.status == 409 && again.code == "administrator_exists", "\(again)")
  }
}
