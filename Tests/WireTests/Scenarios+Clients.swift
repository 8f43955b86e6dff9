import EventLoop
import HTTP
import Runtime

extension Scenario {
  /// The scenarios of clients and of the APIs that their tokens are for.
  static let clients = [
    Scenario("GET /v1/clients", 200),
    Scenario(
      "POST /v1/clients", 201, #"{"name":"x","app":"$app","kind":"web","scopes":["read:users"]}"#
    ),
    Scenario("GET /v1/clients/{client}", 200, program),
    Scenario("PATCH /v1/clients/{client}", 200, #"{"disabled":true}"#, as: .mergePatch, program),
    Scenario("DELETE /v1/clients/{client}", 204, program),
    Scenario("POST /v1/clients/{client}/secret", 200, program),
    Scenario("GET /v1/clients/{client}/grants", 200, program),
    Scenario(
      "PUT /v1/clients/{client}/grants/{resource_server}", 201, #"{"scopes":["read:orders"]}"#, api
    ),
    Scenario("DELETE /v1/clients/{client}/grants/{resource_server}", 204) {
      let ids = try await api($0)
      let path = "/v1/clients/\($0.program.id)/grants/\(ids["resource_server"] ?? "")"
      try await $0.expect(201, $0.asOperator(.put, path, #"{"scopes":["read:orders"]}"#))
      return ids
    },
    Scenario("GET /v1/resource-servers", 200),
    Scenario(
      "POST /v1/resource-servers", 201,
      #"{"app":"$app","identifier":"https://more.example","name":"More"}"#
    ),
    Scenario("GET /v1/resource-servers/{resource_server}", 200, api),
    Scenario(
      "PATCH /v1/resource-servers/{resource_server}", 200,
      #"{"scopes":{"read:orders":null,"write:orders":"Change your orders"}}"#, as: .mergePatch, api
    ),
    Scenario("DELETE /v1/resource-servers/{resource_server}", 204, api),
    Scenario("GET /v1/roles", 200),
    Scenario("POST /v1/roles", 201, #"{"name":"Author"}"#),
    Scenario("GET /v1/roles/{role}", 200, role),
    Scenario("PATCH /v1/roles/{role}", 200, #"{"name":"Chief"}"#, as: .mergePatch, role),
    Scenario("DELETE /v1/roles/{role}", 204, role),
    Scenario("GET /v1/roles/{role}/permissions", 200, role),
    Scenario(
      "PUT /v1/roles/{role}/permissions/{resource_server}", 204, #"{"scopes":["read:orders"]}"#,
      role
    ),
    Scenario("GET /v1/roles/{role}/users", 200, role),
  ]

  static let administrators = [
    Scenario("GET /v1/administrators", 200),
    Scenario("POST /v1/administrators", 201, #"{"email":"$new","role":"support"}"#) { _ in
      ["new": "\(UserID())@example.com"]
    },
    Scenario("GET /v1/administrators/{administrator}", 200, administrator),
    Scenario(
      "PATCH /v1/administrators/{administrator}", 200, #"{"role":"admin"}"#, as: .mergePatch,
      administrator),
    Scenario("DELETE /v1/administrators/{administrator}", 204, administrator),
    Scenario("POST /v1/administrators/{administrator}/link", 200, administrator),
  ]

  private static let administrator: Preparation = { cast in
    let body = #"{"email":"\#(UserID())@example.com","role":"viewer"}"#
    let made = try await cast.expect(201, cast.asOperator(.post, "/v1/administrators", body))
    return ["administrator": try made.string("id")]
  }

  /// The scenarios of the roles and permissions of users.
  static let rolesOfUsers = [
    Scenario("GET /v1/users/{user}/roles", 200),
    Scenario("PUT /v1/users/{user}/roles/{role}", 204, role),
    Scenario("DELETE /v1/users/{user}/roles/{role}", 204) {
      let ids = try await role($0)
      let path = "/v1/users/\($0.user.id)/roles/\(ids["role"] ?? "")"
      try await $0.expect(204, $0.asOperator(.put, path))
      return ids
    },
    Scenario("GET /v1/users/{user}/permissions", 200),
    Scenario("GET /v1/users/{user}/consents", 200),
    Scenario("DELETE /v1/users/{user}/consents/{client}", 204) { cast in
      try await cast.world.allow(cast.program.id, by: cast.user.id)
      return ["client": cast.program.id]
    },
    Scenario(
      "PUT /v1/users/{user}/permissions/{resource_server}", 204, #"{"scopes":["read:orders"]}"#, api
    ),
  ]

  @EventLoop private static func program(_ cast: Fixtures) async throws -> [String: String] {
    ["client": cast.program.id]
  }

  @EventLoop private static func role(_ cast: Fixtures) async throws -> [String: String] {
    var ids = try await api(cast)
    let made = try await cast.expect(
      201, cast.asOperator(.post, "/v1/roles", #"{"name":"Editor"}"#)
    )
    ids["role"] = try made.string("id")
    return ids
  }

  @EventLoop private static func api(_ cast: Fixtures) async throws -> [String: String] {
    ["client": cast.program.id, "resource_server": try await cast.makeAPI()]
  }
}
