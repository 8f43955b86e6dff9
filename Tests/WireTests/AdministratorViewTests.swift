import EventLoop
import HTTP
import JSON
import Runtime
import TestSupport
import Testing
import WireKit

/// Tests that the audit log has what administrators read.
@Suite(.fewAtOnce) struct AdministratorViewTests {
  init() { LoopThread.start() }

  private static func administrator(_ role: AdministratorRole) -> Administrator {
    Administrator(UserID(), role, apps: nil, networks: [], isRecent: true)
  }

  /// Returns the details of the events of an action, sorted, since events of one second have any order.
  private static func details(
    of action: String, _ cast: Fixtures, by administrator: Administrator
  ) async throws -> [JSON] {
    let query = "action=\(action)&actor=administrator:\(administrator.id)"
    let events = try await cast.expect(
      200, cast.asOperator(.get, "/v1/audit?app=\(cast.app)&\(query)"))
    return (events.json.array?.compactMap { $0["detail"] } ?? []).sorted { $0.text < $1.text }
  }

  @Test @EventLoop func `each part of a user's data is one event an hour`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let support = Self.administrator(.support)
    let path = "/v1/users/\(cast.user.id)"
    let parts: [(path: String, part: ViewedPart)] = [
      ("metadata", .documents), ("app-metadata", .documents), ("custom-data", .documents),
      ("metadata/versions", .documents), ("properties", .documents), ("identities", .identities),
      ("passkeys", .identities), ("sessions", .sessions), ("devices", .sessions),
      ("audit", .history),
    ]
    for (name, _) in parts + parts {
      let reply = await cast.world.ask(cast.question(.get, "\(path)/\(name)"), by: support)
      #expect(reply.status == 200, "\(name): \(reply)")
    }
    let seen = try await Self.details(of: "user_view", cast, by: support)
    let expected = ["documents", "history", "identities", "sessions"]
    #expect(seen == expected.map { ["part": .string($0)] })
    // Neither the profile of the user nor what a client reads counts.
    let viewer = Self.administrator(.viewer)
    #expect(await cast.world.ask(cast.question(.get, path), by: viewer).status == 200)
    #expect(try await Self.details(of: "user_view", cast, by: viewer).isEmpty)
    // A refused request has read nothing.
    let refused = await cast.world.ask(cast.question(.get, "\(path)/metadata"), by: viewer)
    #expect(refused.status == 403)
    #expect(try await Self.details(of: "user_view", cast, by: viewer).isEmpty)
    let all = "/v1/audit?app=\(cast.app)&user=\(cast.user.id)"
    #expect(await cast.world.ask(cast.question(.get, all), by: viewer).status == 200)
    #expect(
      try await Self.details(of: "user_view", cast, by: viewer) == [["part": "history"]])
  }

  @Test @EventLoop func `a search is an event with the members, without the values`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let support = Self.administrator(.support)
    let filter = "metadata.theme%20=%20%22dark%22%20and%20email%20^=%20%22ad%22"
    let searches = [
      "/v1/users", "/v1/users?filter=\(filter)", "/v1/users?filter=\(filter)",
      "/v1/search?q=ada@example.org", "/v1/search?q=@example.org",
    ]
    for path in searches {
      let reply = await cast.world.ask(cast.question(.get, path), by: support)
      #expect(reply.status == 200, "\(path): \(reply)")
    }
    let seen = try await Self.details(of: "user_search", cast, by: support)
    #expect(
      seen == [
        ["members": ["email", "metadata.theme"]], ["members": ["email"]],
        ["members": ["email_domain"]],
      ])
  }

  @Test(arguments: ["metadata.a", "app_metadata.a", "custom_data.a.b"])
  @EventLoop func `a filter does not tell a viewer of documents`(_ path: String) async throws {
    let cast = try await TestService.shared.value.get().cast()
    let target =
      "/v1/users?filter=created_at%20%3E=%20%221970-01-01%22%20and%20not%20\(path)%20=%201"
    let viewer = Self.administrator(.viewer)
    let refused = await cast.world.ask(cast.question(.get, target), by: viewer)
    #expect(refused.status == 403 && refused.code == "role_insufficient", "\(refused)")
    #expect(refused.json["right"] == "support")
    #expect(try await Self.details(of: "user_search", cast, by: viewer).isEmpty)
    let support = Self.administrator(.support)
    #expect(await cast.world.ask(cast.question(.get, target), by: support).status == 200)
  }
}
