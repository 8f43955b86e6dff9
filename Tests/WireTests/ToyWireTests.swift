import Localization
import Declarations
import Runtime
import EventLoop
import HTTP
import JSON
import Encoding
import RESTWire
import TestSupport
import Testing
import WireKit

/// Tests that the service serves a wire from its declarations, next to others.
@Suite(.fewAtOnce) struct ToyWireTests {
  init() { LoopThread.start() }

  @EventLoop private func ask(
    _ method: HTTP.Method, _ path: String, _ cast: Fixtures,
    _ change: (inout TestRequest) -> Void = { _ in }
  ) async throws -> TestResponse {
    var question = TestRequest(method, path)
    change(&question)
    let wires: [any Wire] = [RESTWire(), ToyWire()]
    return await cast.world.ask(question, of: cast.world.service(of: wires))
  }

  @Test @EventLoop func `the app is found in the path, and a form is read`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let reply = try await ask(.post, "/toy/\(cast.app)/echo", cast) {
      $0.send("b=1&a=x+%C3%A9", as: .form)
    }
    #expect(reply.status == 200 && reply.text == "\(cast.app) x é", "\(reply)")
    for body in ["a=1&a=2", "a=%ff", "a=%"] {
      let refused = try await ask(.post, "/toy/\(cast.app)/echo", cast) {
        $0.send(body, as: .form)
      }
      #expect(refused.text == "toy: bad_form (\(cast.app))", "\(body): \(refused)")
    }
    let other = try await ask(.post, "/toy/nowhere/echo", cast) { $0.send("a=1", as: .form) }
    #expect(other.text == "toy: no (no app)", "\(other)")
  }

  @Test @EventLoop func `a form with files is read within its bounds`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    func send(_ parts: [String], type: String) async throws -> TestResponse {
      let lines = parts.map { "--x\r\nContent-Disposition: form-data; \($0)\r\n" }
      return try await ask(.post, "/toy/\(cast.app)/echo", cast) {
        $0.body = Array("\r\n\(lines.joined())--x--\r\n".utf8)
        $0.fields[.contentType] = type
      }
    }
    let type = "multipart/form-data; boundary=x"
    let file = "name=\"a\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n1234"
    #expect(try await send([file], type: type).text == "4 bytes")
    #expect(try await send([file, "name=b\r\n\r\n"], type: type).text == "4 bytes")
    for (parts, type) in [
      ([file, "name=b\r\n\r\n", "name=c\r\n\r\n"], type),
      (["name=a\r\n\r\n1", "name=a\r\n\r\n2"], type), (["name=a"], type),
      (["filename=a\r\n\r\n"], type), ([file], "multipart/form-data"),
      ([file], "multipart/form-data; boundary=y"),
    ] {
      let reply = try await send(parts, type: type)
      #expect(reply.text == "toy: bad_form (\(cast.app))", "\(parts): \(reply)")
    }
    let long = try await send(["name=a\r\n\r\n123456789"], type: type)
    #expect(long.text == "toy: too_large (\(cast.app))", "\(long)")
  }

  @Test @EventLoop func `a body may be missing, or lack its type`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let path = "/toy/\(cast.app)/lenient"
    #expect(try await ask(.post, path, cast).text == "nothing")
    #expect(try await ask(.post, path, cast) { $0.body = Array("[1]".utf8) }.text == "[1]")
    let other = try await ask(.post, path, cast) { $0.send("[1]", as: .form) }
    #expect(other.text == "toy: bad_type (\(cast.app))", "\(other)")
  }

  @Test @EventLoop func `each of several kinds of callers is identified by its credentials`()
    async throws
  {
    let cast = try await TestService.shared.value.get().cast()
    let path = "/toy/\(cast.app)/me"
    for (token, answer) in [
      (cast.user.access, "user \(cast.user.id)"), (cast.program.secret, "program"),
      ("ticket-\(cast.user.access)", "user \(cast.user.id)"),
      ("credentials-\(cast.program.secret)", "program"),
    ] {
      #expect(try await ask(.get, path, cast) { $0.authorize(token) }.text == answer)
    }
    let foreigners = try await cast.world.foreigners()
    for token in [
      nil, "x", "ticket-8", "ticket-lost", foreigners.user.access, foreigners.program.secret,
      "ticket-\(foreigners.user.access)", "credentials-\(foreigners.program.secret)",
      "credentials-8",
    ] {
      let reply = try await ask(.get, path, cast) {
        $0.fields[.authorization] = token.map { "Bearer \($0)" }
      }
      #expect(reply.status == 401 && reply.text.hasPrefix("toy: who_are_you"), "\(reply)")
    }
  }

  @Test @EventLoop func `recent authentication is required with each kind of token`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let path = "/toy/\(cast.app)/change"
    func change() async throws -> TestResponse {
      try await ask(.post, path, cast) { $0.authorize("ticket-\(cast.user.access)") }
    }
    #expect(try await change().text == "done")
    var aged = TestRequest(.post, path)
    let access = Access.user(scope: Scopes.updateIdentities)
    try await UnauthorizedCaller.withoutAFreshProof.disguise(&aged, at: access, cast)
    let reply = try await change()
    #expect(reply.text == "toy: who_are_you_now (\(cast.app))", "\(reply)")
  }

  @Test @EventLoop func `a session has the wire's style, and a field identifies its device`()
    async throws
  {
    let cast = try await TestService.shared.value.get().cast()
    let opened = try await ask(.post, "/toy/\(cast.app)/token", cast) {
      $0.send("client_id=shop", as: .form)
    }
    let form = try #require(FormValues(Substring(opened.text)))
    let (token, device) = (form["access_token"] ?? "", form["device"] ?? "")
    let path = "/toy/\(cast.app)/me"
    let me = try await ask(.get, path, cast) { $0.authorize("ticket-\(token)") }
    #expect(me.text.hasPrefix("user ") && !me.text.hasSuffix(cast.user.id), "\(me)")
    for (field, answer) in [(FieldName.toyDevice, "known"), (.device, "toy: who_are_you")] {
      let reply = try await ask(.get, "/toy/\(cast.app)/device", cast) { $0.fields[field] = device }
      #expect(reply.text.hasPrefix(answer), "\(field.text): \(reply)")
    }
  }

  @Test @EventLoop func `two wires may have routes below one path, each with its own errors`()
    async throws
  {
    let cast = try await TestService.shared.value.get().cast()
    let path = "/v1/apps/\(cast.app)/toy"
    #expect(try await ask(.get, path, cast) { $0.authorize(cast.user.access) }.text == cast.app)
    #expect(try await ask(.get, path, cast).text == "toy: who_are_you (\(cast.app))")
    let other = try await ask(.get, "/v1/apps/\(cast.app)", cast)
    #expect(other.code == "client_unknown", "\(other)")
  }

  @Test @EventLoop func `the token alone may select the app`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let reply = try await ask(.get, "/toy/whose", cast) { $0.authorize(cast.user.access) }
    #expect(reply.text == cast.app, "\(reply)")
    #expect(try await ask(.get, "/toy/whose", cast).text == "toy: who_are_you (no app)")
  }

  @Test @EventLoop func `each route has its form of errors, and each path those of its wire`()
    async throws
  {
    let cast = try await TestService.shared.value.get().cast()
    let led = try await ask(.get, "/toy/\(cast.app)/authorize", cast)
    #expect(led.status == 303)
    #expect(led[.location] == "https://app.example/?error=who_are_you")
    let nowhere = try await ask(.get, "/toy/\(cast.app)/x", cast)
    #expect(nowhere.status == 404 && nowhere.text == "toy: nowhere (no app)", "\(nowhere)")
    let method = try await ask(.delete, "/toy/\(cast.app)/me", cast)
    #expect(method.text == "toy: other_methods (no app)", "\(method)")
    for path in ["/toys/x", "/v1/x", "/"] {
      #expect(try await ask(.get, path, cast).code == "route_not_found")
    }
  }

  @Test @EventLoop func `CORS responses list the fields of the wire`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    for (method, path) in [(HTTP.Method.get, "me"), (.get, "x"), (.put, "me"), (.options, "me")] {
      let reply = try await ask(method, "/toy/\(cast.app)/\(path)", cast) {
        $0.fields[.origin] = "https://app.example"
      }
      #expect(reply[.accessAllowOrigin] == "https://app.example", "\(method) \(reply)")
      #expect(reply[.accessExposeHeaders] == "Toy-Field")
      if method == .options { #expect(reply[.accessAllowHeaders] == "Toy-Field") }
    }
  }

  @Test func `the nginx files contain its fields and errors`() {
    let parameters = WebServer.parameters(of: [RESTWire(), ToyWire()])
    #expect(parameters.contains("\nfastcgi_param HTTP_TOY_FIELD $http_toy_field if_not_empty;\n"))
    let pages = WebServer.errorPages(
      of: [RESTWire(), ToyWire()], in: Languages.shipped.catalogs[0])
    #expect(pages.contains("location ^~ /-/body_too_large/toy {"))
    #expect(pages.contains("return 413 'toy: body_too_large';"))
  }
}
