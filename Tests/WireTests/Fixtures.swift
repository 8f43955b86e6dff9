import Declarations
import EventLoop
import FoundationEssentials
import HTTP
import JSON
import RESTWire
import WireKit

/// The fixtures of one test: an app with a user, another user of the device, a stranger and clients.
@EventLoop final class Fixtures {
  let world: TestService
  let app: String
  let operatorKey: String
  private(set) var user = Person()
  private(set) var neighbour = Person()
  /// A user of the app without relation to the others.
  private(set) var stranger = Person()
  /// An API client of the app with all scopes.
  private(set) var program = (id: "", secret: "")
  private let address: String

  struct Person {
    var id = ""
    var device = ""
    var secret = ""
    var access = ""
    var refresh = ""
    var email = ""
  }

  init(_ world: TestService, number: Int, operatorKey: String) async throws {
    self.world = world
    self.operatorKey = operatorKey
    app = "app-\(number)"
    address = "192.0.\(number / 250).\(number % 250)"
    _ = try await expect(201, asOperator(.post, "/v1/apps", #"{"name":"\#(app)"}"#))
    let scopes = Self.scopes.map { "\"\($0)\"" }.joined(separator: ",")
    let made = try await makeClient(
      #"{"name":"all","app":"\#(app)","kind":"machine","scopes":[\#(scopes)]}"#
    )
    program = made
    try await set(#"{"allowed_origins":["https://app.example"],"document_versions_kept":5}"#)
    user = try await person()
    neighbour = try await person(on: user.secret)
    // Each login replaces the device secret; the previous one stays valid for a short time.
    user.secret = neighbour.secret
    stranger = try await person()
  }

  deinit {
    EventLoop.task { [world, app] in await world.remove(app) }
  }

  static let scopes = [
    "read:users", "update:users", "delete:users", "create:users", "read:users_app_metadata",
    "update:users_app_metadata", "read:logs_users", "read:events", "read:revocations",
  ]

  // MARK: Requests

  /// Returns a request to the app of the cast, with an optional JSON body.
  func question(_ method: HTTP.Method, _ path: String, _ body: String? = nil) -> TestRequest {
    var question = TestRequest(method, path)
    question.address = address
    question.fields[.app] = app
    if let body { question.send(body) }
    return question
  }

  func asOperator(_ method: HTTP.Method, _ path: String, _ body: String? = nil) -> TestRequest {
    var question = TestRequest(method, path)
    question.fields[.app] = path.hasPrefix("/v1/apps") ? nil : app
    question.authorize(operatorKey)
    if let body { question.send(body) }
    return question
  }

  func asUser(_ method: HTTP.Method, _ path: String, _ body: String? = nil) -> TestRequest {
    var question = question(method, path, body)
    question.authorize(user.access)
    return question
  }

  func asProgram(_ method: HTTP.Method, _ path: String, _ body: String? = nil) -> TestRequest {
    var question = question(method, path, body)
    question.authorize(program.secret)
    return question
  }

  func ask(_ question: TestRequest) async -> TestResponse { await world.ask(question) }

  /// Sends a request, and throws unless the status is the expected one.
  @discardableResult
  func expect(_ status: Int, _ question: TestRequest) async throws -> TestResponse {
    let reply = await ask(question)
    guard reply.status == status else {
      throw Unexpected(
        reply: reply, wanted: "\(status) of \(question.method.rawValue) \(question.path)"
      )
    }
    return reply
  }

  // MARK: Fixtures

  /// Creates an anonymous user, and signs it in.
  func person(on device: String? = nil) async throws -> Person {
    var question = question(.post, "/v1/login/anonymous", "{}")
    question.fields[.device] = device
    return try Self.person(await expect(200, question))
  }

  /// Creates a user with an address and the password of the scenarios.
  func member(_ email: String) async throws -> Person {
    let body = #"{"email":"\#(email)","password":"\#(Scenario.password)"}"#
    var person = try Self.person(await expect(201, question(.post, "/v1/register", body)))
    person.email = email
    return person
  }

  private static func person(_ reply: TestResponse) throws -> Person {
    Person(
      id: try reply.string("user_id"), device: try reply.string("device_id"),
      secret: reply.json["device_secret"]?.string ?? "", access: try reply.string("access_token"),
      refresh: try reply.string("refresh_token")
    )
  }

  /// Changes settings of the app.
  func set(_ settings: String) async throws {
    try await expect(200, patch("/v1/apps/\(app)", #"{"settings":\#(settings)}"#))
  }

  /// Returns a merge patch by the operator.
  func patch(_ path: String, _ body: String) -> TestRequest {
    var question = asOperator(.patch, path, body)
    question.fields[.contentType] = MediaType.mergePatch.rawValue
    return question
  }

  /// Creates an API of the app with the scope `read:orders`.
  func makeAPI() async throws -> String {
    let body =
      #"{"app":"\#(app)","identifier":"https://api","name":"a","scopes":{"read:orders":""}}"#
    return try await expect(201, asOperator(.post, "/v1/resource-servers", body)).string("id")
  }

  func makeClient(_ body: String) async throws -> (id: String, secret: String) {
    let reply = try await expect(201, asOperator(.post, "/v1/clients", body))
    return (try reply.string("id"), try reply.string("secret"))
  }

  /// Returns a token of the user's session without scopes.
  func poorToken() async throws -> String {
    try await world.narrow(user.id)
    let body = #"{"refresh_token":"\#(user.refresh)"}"#
    return try await expect(200, question(.post, "/v1/token/refresh", body)).string("access_token")
  }

  /// Makes a member the user of the scenario.
  func become(_ person: Person) { user = person }

  /// Links an address to the user, which continues in the session of the link.
  func link(_ email: String) async throws {
    let body = #"{"provider":"password","email":"\#(email)","password":"\#(Scenario.password)"}"#
    let reply = try await expect(200, asUser(.post, "/v1/me/identities", body))
    user.access = try reply.string("access_token")
    user.refresh = try reply.string("refresh_token")
    user.email = email
  }

  /// Requests a new address for a member with a verified one.
  ///
  /// Returns the flow and the mailed code.
  func newAddress(_ email: String) async throws -> [String: String] {
    become(try await member("from-\(email)"))
    let token = try await mailed("ds_verify", to: user.email)
    try await expect(204, asUser(.post, "/v1/email/verify", #"{"token":"\#(token)"}"#))
    let asked = try await expect(202, asUser(.post, "/v1/me/email", #"{"email":"\#(email)"}"#))
    return ["flow": try asked.string("flow"), "mailed": try await mailedCode(to: "To: \(email)")]
  }

  /// Returns the newest code that was mailed to an address.
  func mailedCode(to address: String) async throws -> String {
    try await waitedFor(address) { text in
      text.firstMatch(of: /\d{4} \d{4}/).map { String($0.output) }
    }
  }

  /// Waits for a mailed token, and returns the newest one of its kind.
  func mailed(_ kind: String, to address: String) async throws -> String {
    try await waitedFor(address) { text in
      text.firstRange(of: "\(kind)_").map { start in
        String(
          text[start.lowerBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" }
        )
      }
    }
  }

  private func waitedFor(_ address: String, _ find: (String) -> String?) async throws -> String {
    // Mail is sent after the response. The time limit only prevents a hang.
    let deadline = EventLoop.now() + 600_000_000_000
    while EventLoop.now() < deadline {
      if let found = try mails(to: address).compactMap(find).first { return found }
      await EventLoop.sleep(for: .milliseconds(5))
    }
    throw NoMail(address: address)
  }

  /// Returns the mails to an address, the newest first.
  private func mails(to address: String) throws -> [String] {
    try world.readMails().reversed().filter { $0.contains(address) }
  }

  struct NoMail: Error { let address: String }
}
