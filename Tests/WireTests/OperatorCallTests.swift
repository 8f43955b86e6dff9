import EventLoop
import FoundationEssentials
import HTTP
import JSON
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

  /// A call of the operator can do everything, so a second place that makes one needs a reason.
  @Test func `only the command line makes calls of the operator`() throws {
    let found = try SourceFiles.all().filter { $0.text.contains("operatorCall") }.map(\.path)
    #expect(
      Set(found) == ["WireKit/Call.swift", "WireKit/Service.swift", "dossier/ManagementAPI.swift"]
    )
  }
}
