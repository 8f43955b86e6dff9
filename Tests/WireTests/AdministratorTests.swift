import Administration
import EventLoop
import HTTP
import JSON
import RESTWire
import Runtime
import TestSupport
import Testing
import WireKit

/// Tests what administrators may do, by role and by app.
@Suite(.fewAtOnce) struct AdministratorTests {
  init() { LoopThread.start() }

  /// The routes by the right that they need; those with a star also need a recent authentication.
  private static let rights: [(right: AdministratorRight, routes: String)] = [
    (
      .viewer,
      """
      GET /v1/users
      GET /v1/users/{user}
      GET /v1/users/{user}/logins
      GET /v1/users/{user}/audit
      GET /v1/users/{user}/roles
      GET /v1/users/{user}/permissions
      GET /v1/users/{user}/consents
      GET /v1/users/{user}/identities
      GET /v1/users/{user}/passkeys
      GET /v1/users/{user}/sessions
      GET /v1/users/{user}/devices
      GET /v1/users/{user}/devices/{device}
      GET /v1/devices/{device}
      GET /v1/search
      GET /v1/apps
      GET /v1/apps/{app}
      GET /v1/clients
      GET /v1/clients/{client}
      GET /v1/clients/{client}/grants
      GET /v1/resource-servers
      GET /v1/resource-servers/{resource_server}
      GET /v1/roles
      GET /v1/roles/{role}
      GET /v1/roles/{role}/permissions
      GET /v1/roles/{role}/users
      GET /v1/issuers
      GET /v1/issuers/{issuer}
      GET /v1/connections
      GET /v1/connections/{connection}
      GET /v1/indexes
      GET /v1/schemas
      GET /v1/schemas/{kind}
      GET /v1/audit
      GET /v1/events
      GET /v1/events/stream
      GET /v1/revocations
      GET /v1/statistics
      GET /v1/rate-limits
      """
    ),
    (
      .support,
      """
      POST /v1/sign-in-checks
      GET /v1/users/{user}/mails
      DELETE /v1/users/{user}/consents/{client}
      DELETE /v1/users/{user}/devices
      DELETE /v1/users/{user}/devices/{device}
      GET /v1/users/{user}/metadata
      GET /v1/users/{user}/metadata/versions
      GET /v1/users/{user}/metadata/versions/{version}
      GET /v1/users/{user}/app-metadata
      GET /v1/users/{user}/app-metadata/versions
      GET /v1/users/{user}/app-metadata/versions/{version}
      GET /v1/users/{user}/custom-data
      GET /v1/users/{user}/custom-data/versions
      GET /v1/users/{user}/custom-data/versions/{version}
      GET /v1/users/{user}/sessions/{session}/changes
      GET /v1/users/{user}/properties
      GET /v1/users/{user}/properties/{key}
      PATCH /v1/users/{user}
      DELETE /v1/users/{user}/sessions
      DELETE /v1/users/{user}/sessions/{session}
      POST /v1/users/{user}/password/reset-request
      POST /v1/users/{user}/email/verify
      POST /v1/users/{user}/email/verify/request
      POST /v1/rate-limits/reset
      POST /v1/support-sessions *
      GET /v1/support-sessions/{session}
      DELETE /v1/support-sessions/{session}
      """
    ),
    (
      .admin,
      """
      GET /v1/audit/export *
      GET /v1/users/export *
      PUT /v1/users/{user}/documents
      GET /v1/users/{user}/export *
      PUT /v1/users/{user}/picture
      DELETE /v1/users/{user}/picture
      POST /v1/users
      DELETE /v1/users/{user} *
      POST /v1/users/{user}/merge *
      POST /v1/merges/{merge}/undo *
      PUT /v1/users/{user}/password *
      PUT /v1/users/{user}/roles/{role}
      DELETE /v1/users/{user}/roles/{role}
      PUT /v1/users/{user}/permissions/{resource_server}
      PUT /v1/users/{user}/metadata
      PATCH /v1/users/{user}/metadata
      PUT /v1/users/{user}/app-metadata
      PATCH /v1/users/{user}/app-metadata
      PUT /v1/users/{user}/custom-data
      PATCH /v1/users/{user}/custom-data
      DELETE /v1/users/{user}/custom-data
      POST /v1/users/{user}/sessions/{session}/undo
      POST /v1/users/{user}/custom-data/update
      PUT /v1/users/{user}/properties
      PATCH /v1/users/{user}/properties
      DELETE /v1/users/{user}/properties
      PUT /v1/users/{user}/properties/{key}
      DELETE /v1/users/{user}/properties/{key}
      DELETE /v1/users/{user}/identities/{identity} *
      DELETE /v1/users/{user}/passkeys/{identity} *
      DELETE /v1/users/{user}/second-factors *
      PATCH /v1/apps/{app}
      POST /v1/clients
      PATCH /v1/clients/{client}
      DELETE /v1/clients/{client} *
      PUT /v1/clients/{client}/grants/{resource_server} *
      DELETE /v1/clients/{client}/grants/{resource_server}
      POST /v1/resource-servers
      PATCH /v1/resource-servers/{resource_server}
      DELETE /v1/resource-servers/{resource_server} *
      POST /v1/roles
      PATCH /v1/roles/{role}
      DELETE /v1/roles/{role} *
      PUT /v1/roles/{role}/permissions/{resource_server}
      POST /v1/issuers
      PATCH /v1/issuers/{issuer}
      DELETE /v1/issuers/{issuer} *
      POST /v1/connections
      PATCH /v1/connections/{connection}
      DELETE /v1/connections/{connection} *
      POST /v1/connections/{connection}/check
      GET /v1/log-streams
      POST /v1/log-streams *
      GET /v1/log-streams/{log_stream}
      PATCH /v1/log-streams/{log_stream} *
      DELETE /v1/log-streams/{log_stream} *
      GET /v1/log-streams/{log_stream}/status
      POST /v1/log-streams/{log_stream}/test
      GET /v1/webhooks
      POST /v1/webhooks *
      GET /v1/webhooks/{webhook}
      PATCH /v1/webhooks/{webhook} *
      DELETE /v1/webhooks/{webhook} *
      GET /v1/webhooks/{webhook}/status
      POST /v1/webhooks/{webhook}/secret *
      POST /v1/webhooks/{webhook}/test
      GET /v1/webhooks/{webhook}/deliveries
      POST /v1/webhooks/{webhook}/deliveries/{delivery}/retry
      POST /v1/webhooks/{webhook}/replay *
      GET /v1/jobs
      POST /v1/jobs *
      GET /v1/jobs/{job}
      PUT /v1/jobs/{job}/input/{part} *
      POST /v1/jobs/{job}/start *
      DELETE /v1/jobs/{job} *
      GET /v1/jobs/{job}/results *
      POST /v1/mails/test
      POST /v1/indexes
      DELETE /v1/indexes/{index}
      PUT /v1/schemas/{kind}
      DELETE /v1/schemas/{kind}
      """
    ),
    (
      .owner,
      """
      POST /v1/clients/{client}/secret *
      GET /v1/keys
      POST /v1/keys/rotate *
      DELETE /v1/keys/{key} *
      """
    ),
    (
      .deployment,
      """
      POST /v1/apps
      GET /v1/administrators
      POST /v1/administrators *
      GET /v1/administrators/{administrator}
      PATCH /v1/administrators/{administrator} *
      DELETE /v1/administrators/{administrator} *
      POST /v1/administrators/{administrator}/link *
      GET /v1/doctor
      GET /v1/mails
      POST /v1/mails/retry
      POST /v1/mails/{mail}/retry
      DELETE /v1/mails/{mail}
      """
    ),
  ]

  @Test @EventLoop func `each route needs the right of the table`() {
    var found: [String: AdministratorRight] = [:]
    for route in TestService.routes {
      guard let right = route.right else { continue }
      found[route.name + (route.needsStepUp ? " *" : "")] = right
    }
    for (right, routes) in Self.rights {
      for line in routes.split(separator: "\n").map(String.init) {
        #expect(found.removeValue(forKey: line) == right, "\(line)")
      }
    }
    #expect(found.isEmpty, "\(found.keys.sorted())")
  }

  @Test @EventLoop func `routes of users and devices have no right`() {
    for route in TestService.routes where route.right != nil {
      switch route.access {
      case .client, .operator: break
      default: Issue.record("\(route.name)")
      }
    }
  }

  /// Blocking needs less than other changes of a user, for which there is a test of its own.
  private static let programs = Scenario.all.filter { scenario in
    [
      " /v1/users", " /v1/apps", " /v1/clients", " /v1/resource-servers", " /v1/roles",
      " /v1/keys", " /v1/issuers", " /v1/indexes", " /v1/administrators", " /v1/audit",
      " /v1/rate-limits", " /v1/statistics", " /v1/doctor", " /v1/support-sessions", " /v1/jobs",
      " /v1/merges",
    ].contains { scenario.route.contains($0) } && !scenario.route.hasSuffix("jwks.json")
      && scenario.route != "PATCH /v1/users/{user}"
      // A session of support is of the administrator who has opened it.
      && !scenario.route.contains("/v1/support-sessions/")
  }

  @Test(arguments: programs)
  @EventLoop func `a role may use the routes of its right, and no others`(
    _ scenario: Scenario
  ) async throws {
    let cast = try await TestService.shared.value.get().cast()
    let right = try #require(TestService.routes.first { $0.name == scenario.route }?.right)
    let question = try await scenario.question(cast)
    for role in AdministratorRole.allCases {
      let administrator = Self.administrator(role)
      let reply = await cast.world.ask(question, by: administrator)
      if administrator.right >= right {
        #expect(reply.status == scenario.status, "\(role): \(reply)")
        // Each scenario can be played once. The roles are in order.
        return
      } else {
        #expect(reply.status == 403 && reply.code == "role_insufficient", "\(role): \(reply)")
        #expect(reply.json["role"]?.string == role.rawValue && reply.json["right"] != nil)
      }
    }
  }

  @Test(arguments: programs)
  @EventLoop func `an administrator of other apps finds nothing`(
    _ scenario: Scenario
  ) async throws {
    let cast = try await TestService.shared.value.get().cast()
    let other = try await cast.world.cast()
    let question = try await scenario.question(cast)
    let foreign = Self.administrator(.owner, in: [try await other.appID()])
    let reply = await cast.world.ask(question, by: foreign)
    let expected = ["app_not_found", "role_insufficient"]
    #expect(expected.contains(reply.code), "\(reply)")
    // Naming the own app does not open the way to ids of the other.
    var moved = question
    moved.fields[.app] = other.app
    let right = try #require(TestService.routes.first { $0.name == scenario.route }?.right)
    let names = ["{user}", "{client}", "{role}", "{resource_server}", "{issuer}", "{connection}"]
    guard right < .deployment, names.contains(where: { scenario.route.contains($0) }) else {
      return
    }
    let answer = await cast.world.ask(moved, by: foreign)
    #expect(answer.status >= 400 || answer.text == "[]" || answer.status == 204, "\(answer)")
    #expect(!answer.text.contains(cast.user.id), "\(answer)")
  }

  @Test @EventLoop func `lists have the own app only`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let other = try await cast.world.cast()
    let limited = Self.administrator(.owner, in: [try await cast.appID()])
    for path in ["/v1/apps", "/v1/clients", "/v1/resource-servers", "/v1/audit"] {
      var question = cast.question(.get, path)
      question.fields[.app] = cast.app
      let reply = await cast.world.ask(question, by: limited)
      #expect(reply.status == 200 && reply.text.contains("\"\(cast.app)\""), "\(reply)")
      #expect(!reply.text.contains("\"\(other.app)\""), "\(path)")
      question.path += "?app=\(other.app)"
      guard path != "/v1/apps" else { continue }
      #expect(await cast.world.ask(question, by: limited).code == "app_not_found")
    }
    // An administrator of all apps who is no owner sees the app that the request names.
    var audit = cast.question(.get, "/v1/audit")
    audit.fields[.app] = cast.app
    let seen = await cast.world.ask(audit, by: Self.administrator(.admin))
    #expect(seen.status == 200 && !seen.text.contains("\"\(other.app)\""))
  }

  @Test @EventLoop func `support blocks users, and changes nothing else of them`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let support = Self.administrator(.support)
    func patch(_ body: String) async -> TestResponse {
      var question = cast.question(.patch, "/v1/users/\(cast.user.id)", body)
      question.fields[.contentType] = MediaType.mergePatch.rawValue
      return await cast.world.ask(question, by: support)
    }
    #expect(await patch(#"{"blocked":true}"#).status == 200)
    #expect(await patch(#"{"blocked":false}"#).status == 200)
    for body in [
      #"{"name":"Eve"}"#, #"{"blocked":true,"metadata":{}}"#, #"{"email":"eve@example.com"}"#,
    ] {
      let reply = await patch(body)
      #expect(reply.status == 403 && reply.json["right"] == "admin", "\(body): \(reply)")
    }
  }

  @Test @EventLoop func `events name the administrator`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let admin = Self.administrator(.admin)
    let path = "/v1/users/\(cast.user.id)"
    var block = cast.question(.patch, path, #"{"blocked":true}"#)
    block.fields[.contentType] = MediaType.mergePatch.rawValue
    #expect(await cast.world.ask(block, by: admin).status == 200)
    let events = await cast.world.ask(cast.question(.get, "\(path)/audit"), by: admin).json
    let event = events.array?.first { $0["action"] == "user_block" }
    #expect(event?["actor"]?.string == "administrator:\(admin.id)")
    #expect(event?["address"]?.string == block.address)
  }

  @Test @EventLoop func `an old authentication does not delete users`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    let old = Administrator(UserID(), .owner, apps: nil, networks: [], isRecent: false)
    let delete = cast.question(.delete, "/v1/users/\(cast.user.id)")
    let refused = await cast.world.ask(delete, by: old)
    #expect(refused.code == "reauthentication_required", "\(refused)")
    #expect(refused.json["max_age"]?.number?.int == 600)
    #expect(await cast.world.ask(delete, by: Self.administrator(.owner)).status == 204)
  }

  @Test @EventLoop func `routes of users and devices refuse administrators`() async throws {
    let cast = try await TestService.shared.value.get().cast()
    for path in ["/v1/me", "/v1/device", "/openapi.json"] {
      let reply = await cast.world.ask(cast.question(.get, path), by: Self.administrator(.owner))
      #expect(reply.status == 401 && reply.code == "token_missing", "\(path): \(reply)")
    }
  }

  private static func administrator(
    _ role: AdministratorRole, in apps: [AppID]? = nil
  ) -> Administrator {
    Administrator(UserID(), role, apps: apps, networks: [], isRecent: true)
  }
}

extension Fixtures {
  fileprivate func appID() async throws -> AppID {
    let found = try await expect(200, asOperator(.get, "/v1/apps/\(app)"))
    return AppID(trusted: try found.string("id"))
  }
}
