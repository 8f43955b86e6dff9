import Configuration
import Encoding
import EventLoop
import FoundationEssentials
import HTTP
import JSON
import Postgres
import RESTWire
import Runtime
import Tenancy
import TestSupport
import Testing
import WireKit

/// Tests that the command line can use the routes of operators and API clients, and that no request
/// can make its caller the operator.
@Suite(.fewAtOnce) struct OperatorCallTests {
  init() { LoopThread.start() }

  private static let management = Scenario.all.filter { scenario in
    [
      " /v1/users", " /v1/apps", " /v1/clients", " /v1/resource-servers", " /v1/roles",
      " /v1/keys", " /v1/issuers", " /v1/indexes",
    ].contains { scenario.route.contains($0) } && !scenario.route.hasSuffix("jwks.json")
  }

  @Test(arguments: management)
  @EventLoop func `a call of the operator needs no key`(_ scenario: Scenario) async throws {
    let cast = try await TestService.shared.value.get().cast()
    let question = try await scenario.question(cast)
    let reply = await cast.world.ask(question, byOperator: true)
    #expect(reply.status == scenario.status, "\(reply)")
  }

  @Test(arguments: management)
  @EventLoop func `nothing in a request makes it a call of the operator`(
    _ scenario: Scenario
  ) async throws {
    let cast = try await TestService.shared.value.get().cast()
    var question = try await scenario.question(cast)
    for address in ["unix:", "127.0.0.1", "::1", ""] {
      for word in [nil, "operator", "Bearer operator", "Bearer ", "Basic b3BlcmF0b3I6"] {
        question.address = address
        question.fields[.authorization] = word
        question.fields[.userAgent] = "dossier (root)"
        let reply = await cast.ask(question)
        #expect(reply.status == 401, "\(address) \(word ?? ""): \(reply)")
      }
    }
  }

  @Test @EventLoop func `routes of users and devices refuse the operator`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    for path in ["/v1/me", "/v1/device", "/healthz", "/openapi.json"] {
      let reply = await cast.world.ask(cast.question(.get, path), byOperator: true)
      #expect(reply.status == 401 && reply.code == "token_missing", "\(path): \(reply)")
    }
  }

  @Test @EventLoop func `its events name the operator`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let path = "/v1/users/\(cast.user.id)"
    var block = cast.question(.patch, path, #"{"blocked":true}"#)
    block.fields[.contentType] = MediaType.mergePatch.rawValue
    block.fields[.userAgent] = "dossier (ada)"
    #expect(await cast.world.ask(block, byOperator: true).status == 200)
    let events = await cast.world.ask(cast.question(.get, "\(path)/audit"), byOperator: true).json
    let event = events.array?.first { $0["action"] == "user_block" }
    #expect(event?["actor"] == "operator")
    #expect(event?["agent"] == "dossier (ada)")
  }

  @Test @EventLoop func `an outage is not an app that does not exist`() async throws {
    let world = try await TestService()
    let cast = try await world.cast()
    let connection = try await Connection.open(.patient(world.conninfo, applicationName: "outage"))
    defer { connection.close() }
    _ = try await connection.script("alter view app_records rename to away")
    // Another host may just have created the app.
    var byOperator = cast.question(.get, "/v1/issuers")
    byOperator.fields[.app] = "nowhere"
    var bySecret = cast.asOperator(.get, "/v1/issuers")
    bySecret.fields[.app] = "nowhere"
    for reply in [await world.ask(byOperator, byOperator: true), await world.ask(bySecret)] {
      #expect(reply.status == 503 && reply[.retryAfter] != nil, "\(reply)")
    }
    _ = try await connection.script("alter view away rename to app_records")
    for reply in [await world.ask(byOperator, byOperator: true), await world.ask(bySecret)] {
      #expect(reply.code == "app_not_found", "\(reply)")
    }
  }

  /// Otherwise, a preflight request would get the answer that no page may call any app.
  @Test @EventLoop func `apps that cannot be read are not no apps`() async throws {
    let world = try await TestService()
    let apps = Apps(database: world.administration, .all, fallback: "default", age: .zero)
    let connection = try await Connection.open(.patient(world.conninfo, applicationName: "outage"))
    defer { connection.close() }
    _ = try await connection.script("alter view app_records rename to away")
    await #expect(throws: Failure.self) { try await apps.all() }
    _ = try await connection.script("alter view away rename to app_records")
    #expect(try await apps.all().count == 1)
  }

  /// Otherwise, the code would sign in another user than the guest, whose data would be lost.
  @Test @EventLoop func `an outage is not a request without a user`() async throws {
    let world = try await TestService()
    let cast = try await world.cast()
    let connection = try await Connection.open(.patient(world.conninfo, applicationName: "outage"))
    defer { connection.close() }
    // No worker knows the key of this token, so the keys are read again.
    let parts = cast.user.access.split(separator: ".")
    var head = try #require(try JSON.parse([UInt8](base64URL: parts[0]) ?? []).object)
    head["kid"] = "000000000000000000000000"
    let token = "\(Array(JSON.object(head).text.utf8).base64URL).\(parts[1]).\(parts[2])"
    for path in ["/v1/email/verify/request", "/v1/password/reset-request"] {
      var question = cast.question(.post, path, #"{"email":"outage@example.com"}"#)
      question.authorize(token)
      _ = try await connection.script("alter table signing_keys rename to away")
      let reply = await world.ask(question)
      _ = try await connection.script("alter table away rename to signing_keys")
      #expect(reply.status == 503, "\(path): \(reply)")
      #expect(await world.ask(question).status == 202)
    }
  }

  /// Such a call needs no credential, so a further place that makes one needs a reason.
  @Test(arguments: [
    ("operatorCall", ["WireKit/Service.swift", "CommandKit/ManagementAPI.swift"]),
    ("administratorCall", ["WireKit/Service.swift", "ConsoleKit/ConsoleAPI.swift"]),
  ])
  func `only these files make calls without a credential`(
    _ function: String, _ places: [String]
  ) throws {
    let found = try SourceFiles.all().filter { $0.text.contains(function) }.map(\.path)
    #expect(Set(found) == Set(places))
  }
}
