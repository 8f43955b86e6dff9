import EventLoop
import FoundationEssentials
import HTTP
import JSON

extension Scenario {
  /// The scenarios, one for each route.
  ///
  /// A test reports missing ones.
  static let all =
    entrance + devices + own + access + factors + passkeys + sides("/v1/me")
    + sides("/v1/users/{user}")
    + programs + operation + clients + connections + webhooks + logStreams + jobs + server

  /// The scenarios of users and their devices.
  static let ofUsers = entrance + devices + own + access + factors + passkeys + sides("/v1/me")

  static let password = "lantern gravel 41 orchid"

  private static let entrance = [
    Scenario("POST /v1/login/anonymous", 200, "{}"),
    Scenario("POST /v1/register", 201, #"{"email":"new@example.com","password":"\#(password)"}"#),
    Scenario(
      "POST /v1/login/password", 200, #"{"email":"ada@example.com","password":"\#(password)"}"#
    ) {
      _ = try await $0.member("ada@example.com")
      return [:]
    },
    Scenario("POST /v1/login/jwt", 200, #"{"token":"$token"}"#) {
      try await $0.expect(201, $0.asOperator(.post, "/v1/issuers", issuer))
      return ["token": token()]
    },
    Scenario("POST /v1/login/code/request", 202, #"{"email":"ada@example.com"}"#, withCodes),
    Scenario("POST /v1/login/code", 200, #"{"flow":"$flow","code":"$mailed"}"#) {
      _ = try await withCodes($0)
      let email = "code-\($0.app)@example.com"
      let body = #"{"email":"\#(email)"}"#
      let asked = try await $0.expect(202, $0.question(.post, "/v1/login/code/request", body))
      return ["flow": try asked.string("flow"), "mailed": try await $0.mailedCode(to: email)]
    },
    Scenario("POST /v1/login/api-key", 200, #"{"key":"$secret"}"#, apiKey),
    Scenario("POST /v1/reauthenticate", 200, #"{"provider":"api-key","key":"$secret"}"#, apiKey),
    Scenario("POST /v1/token/refresh", 200, #"{"refresh_token":"$refresh"}"#),
    Scenario("POST /v1/logout", 204),
    Scenario("POST /v1/email/verify", 200, #"{"token":"$token","password":"\#(password)"}"#) {
      let member = try await $0.member("verify-\($0.app)@example.com")
      return ["token": try await $0.mailed("ds_verify", to: member.email)]
    },
    Scenario("POST /v1/email/verify/request", 202, #"{"email":"ada@example.com"}"#),
    Scenario("POST /v1/password/reset-request", 202, #"{"email":"ada@example.com"}"#),
    Scenario("POST /v1/password/reset", 200, #"{"token":"$token","password":"\#(password) 2"}"#) {
      let email = try await $0.member("reset-\($0.app)@example.com").email
      let body = #"{"email":"\#(email)"}"#
      try await $0.expect(202, $0.question(.post, "/v1/password/reset-request", body))
      return ["token": try await $0.mailed("ds_reset", to: email)]
    },
    Scenario(
      "POST /v1/password/change", 200,
      #"{"current_password":"\#(password)","new_password":"\#(password) 2"}"#
    ) {
      $0.become(try await $0.member("change@example.com"))
      return [:]
    },
  ]

  private static let devices = [
    Scenario("GET /v1/device", 200),
    Scenario("POST /v1/device/logout", 200),
    Scenario("PUT /v1/device/active", 200, #"{"user_id":"$user"}"#),
    Scenario("POST /v1/device/users/{user}/logout", 200),
    Scenario("DELETE /v1/device/users/{user}", 200),
  ]

  private static let own = [
    Scenario("GET /v1/me", 200),
    Scenario("PATCH /v1/me", 200, #"{"name":"Ada"}"#, as: .mergePatch),
    Scenario("DELETE /v1/me", 204),
    Scenario("GET /v1/me/app-metadata", 200),
    Scenario("GET /v1/me/app-metadata/versions", 200),
    Scenario("GET /v1/me/app-metadata/versions/{version}", 200) {
      try await $0.expect(
        200, $0.asProgram(.put, "/v1/users/\($0.user.id)/app-metadata", #"{"a":1}"#)
      )
      return [:]
    },
    Scenario("GET /v1/me/changes", 200), Scenario("GET /v1/me/events", 200),
    Scenario("GET /v1/me/audit", 200),
    Scenario("GET /v1/apps/{app}/jwks.json", 200),
    Scenario("GET /v1/pictures/{picture}", 200, pictured),
  ]

  private static let access = [
    Scenario(
      "POST /v1/me/identities", 200,
      #"{"provider":"password","email":"link@example.com","password":"\#(password)"}"#
    ),
    Scenario("POST /v1/me/email", 202, #"{"email":"other@example.com"}"#) {
      $0.become(try await $0.member("mover@example.com"))
      return [:]
    },
    Scenario("POST /v1/me/email/verify", 204, #"{"flow":"$flow","code":"$mailed"}"#) {
      try await $0.newAddress("to-\($0.app)@example.com")
    },
    Scenario("POST /v1/email/restore", 200, #"{"token":"$token","password":"\#(password) 2"}"#) {
      let asked = try await $0.newAddress("away-\($0.app)@example.com")
      let body = #"{"flow":"\#(asked["flow"] ?? "")","code":"\#(asked["mailed"] ?? "")"}"#
      try await $0.expect(204, $0.asUser(.post, "/v1/me/email/verify", body))
      return ["token": try await $0.mailed("ds_restore", to: $0.user.email)]
    },
    Scenario("POST /v1/me/support-codes", 201), Scenario("DELETE /v1/me/support-sessions", 204),
    Scenario("GET /v1/me/api-keys", 200),
    Scenario("POST /v1/me/api-keys", 201, #"{"name":"laptop"}"#),
    Scenario("PATCH /v1/me/api-keys/{identity}", 204, #"{"disabled":true}"#, apiKey),
    Scenario("DELETE /v1/me/api-keys/{identity}", 204, apiKeys),
  ]

  /// The scenarios of routes for both the user and API clients.
  private static func sides(_ prefix: String) -> [Scenario] {
    let documents = ["metadata", "custom-data"].flatMap { document("\(prefix)/\($0)") }
    return documents + [
      Scenario("DELETE \(prefix)/custom-data", 204, stored("custom-data")),
      Scenario(
        "POST \(prefix)/custom-data/update", 200, #"{"update":{"$set":{"b":1}}}"#,
        stored("custom-data")
      ),
      Scenario("GET \(prefix)/export", 200),
      Scenario("PUT \(prefix)/picture", 200, bytes: pixel, as: .png),
      Scenario("DELETE \(prefix)/picture", 204, pictured),
      Scenario("GET \(prefix)/properties", 200),
      Scenario("PUT \(prefix)/properties", 200, #"{"volume":1}"#),
      Scenario("PATCH \(prefix)/properties", 200, #"{"volume":1}"#),
      Scenario("DELETE \(prefix)/properties", 200),
      Scenario("GET \(prefix)/properties/{key}", 200, property),
      Scenario("PUT \(prefix)/properties/{key}", 200, #"{"value":1}"#),
      Scenario("DELETE \(prefix)/properties/{key}", 200, property),
      Scenario("GET \(prefix)/identities", 200),
      Scenario("DELETE \(prefix)/identities/{identity}", 204, apiKeys),
      Scenario("GET \(prefix)/sessions", 200),
      Scenario("DELETE \(prefix)/sessions", 204),
      Scenario("DELETE \(prefix)/sessions/{session}", 204) {
        let sessions = try await $0.expect(200, $0.asUser(.get, "/v1/me/sessions"))
        return ["session": sessions.json.array?.first?["id"]?.string ?? ""]
      },
      Scenario("GET \(prefix)/sessions/{session}/changes", 200, written),
      Scenario(
        "POST \(prefix)/sessions/{session}/undo", 200, #"{"metadata":{"version":1}}"#, written),
    ]
  }

  private static func document(_ path: String) -> [Scenario] {
    let name = String(path.split(separator: "/").last ?? "")
    return [
      Scenario("GET \(path)", 200, stored(name)),
      Scenario("GET \(path)/versions", 200, stored(name)),
      Scenario("GET \(path)/versions/{version}", 200, stored(name)),
      Scenario("PUT \(path)", 200, #"{"a":1}"#),
      Scenario("PATCH \(path)", 200, #"{"a":1}"#, as: .mergePatch),
    ]
  }

  private static let programs =
    document("/v1/users/{user}/app-metadata") + [
      Scenario("GET /v1/users", 200),
      Scenario("POST /v1/users", 201, #"{"email":"made@example.com"}"#),
      Scenario("GET /v1/users/{user}", 200),
      Scenario("PATCH /v1/users/{user}", 200, #"{"blocked":true}"#, as: .mergePatch),
      Scenario("DELETE /v1/users/{user}", 204),
      Scenario("DELETE /v1/users/{user}/second-factors", 204, factor),
      Scenario("GET /v1/users/{user}/audit", 200),
      Scenario("GET /v1/users/{user}/logins", 200),
      Scenario("GET /v1/users/{user}/mails", 200),
      Scenario("PUT /v1/users/{user}/password", 204, #"{"password":"\#(password) 2"}"#, member),
      Scenario("POST /v1/users/{user}/password/reset-request", 202, member),
      Scenario("POST /v1/users/{user}/email/verify", 200, member),
      Scenario("POST /v1/users/{user}/email/verify/request", 202, member),
      Scenario("GET /v1/users/export", 200),
      Scenario("POST /v1/sign-in-checks", 200, #"{"user_id":"$user"}"#),
      Scenario("GET /v1/search", 200),
      Scenario("POST /v1/users/{user}/merge", 200, #"{"from":"$neighbour"}"#, member),
      Scenario("POST /v1/merges/{merge}/undo", 200, merged),
      Scenario(
        "PUT /v1/users/{user}/documents", 200,
        #"{"metadata":{"document":{"a":1},"version":0},"app_metadata":{"document":{},"version":0}}"#
      ),
      Scenario("GET /v1/users/{user}/devices", 200),
      Scenario("DELETE /v1/users/{user}/devices", 204),
      Scenario("GET /v1/users/{user}/devices/{device}", 200),
      Scenario("DELETE /v1/users/{user}/devices/{device}", 204),
      Scenario("GET /v1/devices/{device}", 200),
      Scenario("GET /v1/events", 200, feeds), Scenario("GET /v1/events/stream", 200, feeds),
      Scenario("GET /v1/revocations", 200, feeds),
    ] + administrators + rolesOfUsers

  private static let operation = [
    Scenario("GET /v1/apps", 200),
    Scenario("POST /v1/apps", 201, #"{"name":"$app-more"}"#),
    Scenario("GET /v1/apps/{app}", 200),
    Scenario("PATCH /v1/apps/{app}", 200, #"{"settings":{"session_days":30}}"#, as: .mergePatch),
    Scenario("GET /v1/keys", 200),
    Scenario("POST /v1/keys/rotate", 200),
    Scenario("DELETE /v1/keys/{key}", 204) {
      let keys = try await $0.expect(200, $0.asOperator(.post, "/v1/keys/rotate"))
      return ["key": keys.json.array?.first?["id"]?.string ?? ""]
    },
    Scenario("GET /v1/issuers", 200),
    Scenario("POST /v1/issuers", 201, issuer),
    Scenario("GET /v1/issuers/{issuer}", 200, partner),
    Scenario(
      "PATCH /v1/issuers/{issuer}", 200, #"{"claims":{"nickname":"handle"}}"#, as: .mergePatch,
      partner),
    Scenario("DELETE /v1/issuers/{issuer}", 204, partner),
    Scenario("GET /v1/indexes", 200),
    Scenario("POST /v1/indexes", 202, index),
    Scenario("DELETE /v1/indexes/{index}", 204) {
      let made = try await $0.expect(202, $0.asOperator(.post, "/v1/indexes", index))
      return ["index": try made.string("id")]
    },
    Scenario("GET /v1/schemas", 200),
    Scenario("GET /v1/schemas/{kind}", 200, schema),
    Scenario("PUT /v1/schemas/{kind}", 201, #"{"required":["a"]}"#),
    Scenario("DELETE /v1/schemas/{kind}", 204, schema),
    Scenario("GET /v1/audit", 200),
    Scenario("GET /v1/audit/export", 200),
    Scenario("GET /v1/statistics", 200),
    Scenario("GET /v1/doctor", 200),
    Scenario("GET /v1/mails", 200),
    Scenario("POST /v1/mails/retry", 200),
    Scenario("POST /v1/mails/{mail}/retry", 200, queuedMail),
    Scenario("POST /v1/mails/test", 204, #"{"kind":"code","email":"ada@example.com"}"#),
    Scenario("GET /v1/rate-limits", 200),
    Scenario("DELETE /v1/mails/{mail}", 204, queuedMail),
    Scenario("POST /v1/rate-limits/reset", 200, #"{"all":true}"#),
    Scenario("POST /v1/support-sessions", 201, #"{"code":"$spoken","reason":"help"}"#) {
      ["spoken": try await $0.expect(201, $0.asUser(.post, "/v1/me/support-codes")).string("code")]
    },
    Scenario("GET /v1/support-sessions/{session}", 200, supported),
    Scenario("DELETE /v1/support-sessions/{session}", 204, supported),
  ]

  private static let supported: Preparation = { cast in
    let made = try await cast.expect(201, cast.asUser(.post, "/v1/me/support-codes"))
    let body = #"{"code":"\#(try made.string("code"))","reason":"help"}"#
    let opened = try await cast.expect(201, cast.asOperator(.post, "/v1/support-sessions", body))
    return ["session": try opened.string("id")]
  }

  private static let server = [
    Scenario("GET /openapi.json", 200), Scenario("GET /reference", 200),
    Scenario("GET /reference/{chapter}", 200), Scenario("GET /reference/assets/{file}", 200),
    Scenario("GET /problems/{code}", 200), Scenario("GET /healthz", 200),
    Scenario("GET /readyz", 200), Scenario("GET /metrics", 200),
  ]
}
