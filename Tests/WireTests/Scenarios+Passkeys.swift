import Encoding
import EventLoop
import FoundationEssentials
import HTTP
import JSON
import TestSupport

extension Scenario {
  /// The scenarios of passkeys.
  static let passkeys = [
    Scenario("POST /v1/login/passkey/options", 200, "{}", withPasskeys),
    Scenario("POST /v1/login/passkey", 200, shown) {
      let device = try await passkey($0).device
      return try await answer($0, "/v1/login/passkey/options") { try device.get($0) }
    },
    Scenario("POST /v1/login/second-factor/passkey/options", 200, #"{"flow":"$flow"}"#) {
      _ = try await withPasskeys($0)
      try await $0.set(#"{"passkey":"required","passkey_rp_id":"example.org"}"#)
      return ["flow": try await flow($0)]
    },
    Scenario("POST /v1/register/passkey/options", 200, #"{"name":"Ada"}"#, withPasskeys),
    Scenario("POST /v1/register/passkey", 201, shown) {
      _ = try await withPasskeys($0)
      return try await answer($0, "/v1/register/passkey/options") { try device().create($0) }
    },
    Scenario("GET /v1/me/passkeys", 200) { ["identity": try await passkey($0).id] },
    Scenario("POST /v1/me/passkeys/options", 200, withPasskeys),
    Scenario("POST /v1/me/passkeys", 200, shown) {
      _ = try await withPasskeys($0)
      return try await answer($0, "/v1/me/passkeys/options") { try device().create($0) }
    },
    Scenario("PATCH /v1/me/passkeys/{identity}", 204, #"{"name":"Phone"}"#) {
      ["identity": try await passkey($0).id]
    },
    Scenario("DELETE /v1/me/passkeys/{identity}", 204) {
      ["identity": try await passkey($0).id]
    },
    Scenario("GET /v1/users/{user}/passkeys", 200) { ["identity": try await passkey($0).id] },
    Scenario("DELETE /v1/users/{user}/passkeys/{identity}", 204) {
      ["identity": try await passkey($0).id]
    },
  ]

  private static let shown = #"{"flow":"$flow","credential":$credential}"#

  private static func device() throws -> TestAuthenticator {
    var device = try TestAuthenticator()
    device.credentialID = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
    return device
  }

  /// A member of an app with passkeys.
  private static let withPasskeys: Preparation = {
    try await $0.set(#"{"passkey":"optional","passkey_rp_id":"example.org"}"#)
    $0.become(try await $0.member("passkey-\($0.app)@example.com"))
    return [:]
  }

  /// Returns the flow of options, and what a device returns for their challenge.
  @EventLoop private static func answer(
    _ cast: Fixtures, _ path: String, _ respond: ([UInt8]) throws -> JSON
  ) async throws -> [String: String] {
    let request =
      path.contains("/me/") ? cast.asUser(.post, path) : cast.question(.post, path, "{}")
    let reply = try await cast.expect(200, request)
    let challenge = reply.json["public_key"]?["challenge"]?.string.flatMap {
      [UInt8](base64URL: $0)
    }
    let credential = try respond(challenge ?? [])
    return [
      "flow": try reply.string("flow"),
      "credential": String(decoding: credential.serialized(), as: UTF8.self),
    ]
  }

  /// Gives the member a passkey.
  @EventLoop private static func passkey(
    _ cast: Fixtures
  ) async throws -> (id: String, device: TestAuthenticator) {
    _ = try await withPasskeys(cast)
    var device = try Self.device()
    let made = try await answer(cast, "/v1/me/passkeys/options") { device.create($0) }
    let body = shown.replacing("$flow", with: made["flow"] ?? "")
      .replacing("$credential", with: made["credential"] ?? "")
    let reply = try await cast.expect(200, cast.asUser(.post, "/v1/me/passkeys", body))
    var user = cast.user
    user.access = try reply.string("access_token")
    user.refresh = try reply.string("refresh_token")
    user.secret = try reply.string("device_secret")
    cast.become(user)
    device.userHandle = Array(user.id.utf8)
    let list = try await cast.expect(200, cast.asUser(.get, "/v1/me/passkeys"))
    return (list.json.array?.first?["id"]?.string ?? "", device)
  }
}
