import Sessions
import Crypto
import CryptoExtras
import EventLoop
import FoundationEssentials
import HTTP
import JSON
import Encoding
import RESTWire
import TestSupport
import Testing
import WireKit

@testable import Runtime
@testable import Tenancy

/// Tests tokens for OpenID Connect, which RS256 keys of a separate set sign.
@Suite(.fewAtOnce) struct OpenIDTokenTests {
  init() { LoopThread.start() }

  /// A client that knows only the server's key set.
  @EventLoop private final class Client {
    let cast: Fixtures
    private let service: Service

    init() async throws {
      cast = try await TestService.shared.value.get().cast()
      service = cast.world.service(of: [RESTWire(), ToyWire()])
    }

    func ask(_ question: TestRequest) async -> TestResponse {
      await cast.world.ask(question, of: service)
    }

    func answer(_ form: String) async -> String {
      var question = TestRequest(.post, "/toy/\(cast.app)/token")
      question.send(form, as: .form)
      return await ask(question).text
    }

    func tokens(_ form: String) async throws -> [String: String] {
      let form = try #require(FormValues(Substring(await answer("client_id=shop&\(form)"))))
      var tokens: [String: String] = [:]
      for name in ["access_token", "refresh_token", "id_token"] { tokens[name] = form[name] ?? "" }
      return tokens
    }

    func keySet() async throws -> [JSON] {
      let reply = await ask(TestRequest(.get, "/toy/\(cast.app)/jwks.json"))
      #expect(reply[.cacheControl] == "public, max-age=30", "\(reply)")
      return Array(try #require(reply.json["keys"]?.array))
    }

    /// Verifies the signature and the type of a token, and returns its claims.
    func claims(of token: String?, type: String = "JWT") async throws -> JSON {
      let parts = try #require(token).split(separator: ".")
      let read = try parts.map { part in try #require([UInt8](base64URL: part)) }
      try #require(read.count == 3)
      let head = try JSON.parse(read[0])
      #expect(head["alg"]?.string == "RS256" && head["typ"]?.string == type, "\(head)")
      let key = try #require(try await keySet().first { $0["kid"] == head["kid"] })
      func bytes(_ name: String) throws -> [UInt8] {
        try #require(key[name]?.string.flatMap { [UInt8](base64URL: $0) })
      }
      let rsa = try _RSA.Signing.PublicKey(n: bytes("n"), e: bytes("e"))
      let isGood = rsa.isValidSignature(
        _RSA.Signing.RSASignature(rawRepresentation: read[2]),
        for: SHA256.hash(data: Data("\(parts[0]).\(parts[1])".utf8)),
        padding: .insecurePKCS1v1_5
      )
      #expect(isGood)
      return try JSON.parse(read[1])
    }

    /// Returns the user whom the server identifies by a token.
    func me(_ token: String?) async -> String {
      var question = TestRequest(.get, "/toy/\(cast.app)/me")
      question.authorize("ticket-\(token ?? "")")
      return await ask(question).text
    }
  }

  @Test @EventLoop func `an ID token describes the sign-in, and an access token the permissions`()
    async throws
  {
    let client = try await Client()
    let app = try await client.cast.world.context(of: client.cast.app).app
    let tokens = try await client.tokens("nonce=n-0S6")
    let access = try await client.claims(of: tokens["access_token"], type: "at+jwt")
    #expect(access["aud"] == ["https://toy.example/api"] && access["client_id"]?.string == "shop")
    #expect(access["jti"]?.string?.isEmpty == false)
    #expect(access["scope"]?.string == Scopes.readUser && access["app"]?.string == app.id.text)
    let identity = try await client.claims(of: tokens["id_token"])
    #expect(identity["aud"]?.string == "shop" && identity["nonce"]?.string == "n-0S6")
    #expect(identity["name"]?.string == "Toy" && identity["sid"] == access["sid"])
    for claims in [access, identity] {
      #expect(claims["iss"]?.string == "https://toy.example/")
      #expect(claims["sub"] == access["sub"] && claims["sub"]?.string != "another")
      let times = try ["iat", "exp"].map { name in try #require(claims[name]?.number?.int) }
      #expect(times[1] - times[0] == app.sessionSettings.accessTokenLifetime.components.seconds)
    }
    // A refreshed ID token has no nonce, and keeps the time of authentication: here a year ago.
    try await client.cast.world.age(try #require(access["sub"]?.string))
    let next = try await client.tokens("refresh_token=\(tokens["refresh_token"] ?? "")")
    let refreshed = try await client.claims(of: next["id_token"])
    #expect(refreshed["nonce"] == nil, "\(refreshed)")
    let times = try [identity, refreshed].map { try #require($0["auth_time"]?.number?.int) }
    #expect([365, 366].contains(Double(times[0] - times[1]) / 86_400), "\(times)")
    #expect(refreshed["sub"] == identity["sub"])
  }

  @Test @EventLoop func `an access token is accepted for its audience, and an ID token is not`()
    async throws
  {
    let client = try await Client()
    let tokens = try await client.tokens("nonce=1")
    // The wrong audience is refused before the token is cached, and after that too.
    for _ in 0..<2 {
      var native = client.cast.question(.get, "/v1/me")
      native.authorize(tokens["access_token"] ?? "")
      #expect(await client.ask(native).code == "token_invalid")
      #expect(await client.me(tokens["access_token"]).hasPrefix("user "))
    }
    // It has all claims of an access token, but another type.
    #expect(await client.me(tokens["id_token"]) == "toy: who_are_you (\(client.cast.app))")
  }

  @Test @EventLoop func `a refresh token works only for its client`() async throws {
    let client = try await Client()
    let tokens = try await client.tokens("nonce=1")
    let refresh = "refresh_token=\(tokens["refresh_token"] ?? "")"
    for other in ["client_id=spy&", "client_id=shop%C3%A9&", ""] {
      #expect(await client.answer(other + refresh) == "toy: no (\(client.cast.app))")
    }
    // The refused attempt did not use up the token.
    let next = try await client.tokens(refresh)
    #expect(try await client.claims(of: next["id_token"])["aud"]?.string == "shop")
    // A repeated exchange by another client does not end the session, even after the grace period.
    #expect(await client.answer("client_id=spy&\(refresh)") == "toy: no (\(client.cast.app))")
    #expect(await client.me(next["access_token"]).hasPrefix("user "))
  }

  @Test @EventLoop func `each purpose has a separate key set, and a rotation affects all`()
    async throws
  {
    let client = try await Client()
    let cast = client.cast
    #expect(try await client.keySet().isEmpty)
    // Concurrent requests for the first key of an app create one key.
    let first = EventLoop.task { try? await client.tokens("nonce=1") }
    let second = try await client.tokens("nonce=2")
    let tokens = try #require(await first.value)
    let set = try await client.keySet()
    #expect(set.count == 1 && set[0]["kty"]?.string == "RSA", "\(set)")
    for token in [tokens, second] { _ = try await client.claims(of: token["id_token"]) }
    let native = await client.ask(TestRequest(.get, "/v1/apps/\(cast.app)/jwks.json"))
    let points = try #require(native.json["keys"]?.array)
    #expect(!points.isEmpty && points.allSatisfy { $0["kty"]?.string == "EC" }, "\(native)")
    let rotated = await client.ask(cast.asOperator(.post, "/v1/keys/rotate"))
    let keys = try #require(rotated.json.array, "\(rotated)")
    for purpose in KeyPurpose.allCases {
      let own = keys.filter { $0["purpose"]?.string == purpose.rawValue }
      #expect(own.count == 2 && own.filter { $0["current"] == true }.count == 1, "\(keys)")
    }
    #expect(try await client.keySet().count == 2)
    #expect(await client.me(tokens["access_token"]).hasPrefix("user "))
  }
}
