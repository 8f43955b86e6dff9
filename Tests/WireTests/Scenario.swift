import Declarations
import EventLoop
import FoundationEssentials
import HTTP
import RESTWire
import Testing
import WireKit

/// One successful request of a route.
///
/// Every route must have one.
struct Scenario: Sendable, CustomTestStringConvertible {
  /// The name of the route in logs: `PUT /v1/me/properties/{key}`.
  let route: String
  let status: Int
  private let body: [UInt8]?
  private let type: MediaType
  private let prepare: Preparation

  /// Creates the resources of the request.
  ///
  /// Returns the values of `{name}` in the path and `$name` in the body.
  typealias Preparation = @EventLoop @Sendable (Fixtures) async throws -> [String: String]

  var testDescription: String { route }

  init(
    _ route: String, _ status: Int, _ body: String? = nil, as type: MediaType = .json,
    _ prepare: @escaping Preparation = { _ in [:] }
  ) {
    self.init(route, status, bytes: body.map { Array($0.utf8) }, as: type, prepare)
  }

  init(
    _ route: String, _ status: Int, bytes: [UInt8]?, as type: MediaType,
    _ prepare: @escaping Preparation = { _ in [:] }
  ) {
    self.route = route
    self.status = status
    body = bytes
    self.type = type
    self.prepare = prepare
  }

  /// Creates the resources, and returns the request without credentials.
  @EventLoop func question(_ cast: Fixtures) async throws -> TestRequest {
    let made = try await prepare(cast)
    let names = [
      "user": cast.user.id, "neighbour": cast.neighbour.id, "refresh": cast.user.refresh,
      "app": cast.app, "device": cast.user.device, "key": "volume", "kind": "metadata",
      "version": "1",
      "code": "not_found", "chapter": "users", "file": "reference-0.css",
    ].merging(made) { $1 }
    let words = route.split(separator: " ")
    var path = String(words[1])
    for (name, value) in names { path = path.replacing("{\(name)}", with: value) }
    var question = cast.question(HTTP.Method(rawValue: String(words[0])), path)
    if let body {
      var text = body
      if type != .png {
        var string = String(decoding: body, as: UTF8.self)
        for (name, value) in names { string = string.replacing("$\(name)", with: value) }
        text = Array(string.utf8)
      }
      question.body = text
      question.fields[.contentType] = type.rawValue
    }
    if path.hasPrefix("/v1/apps") { question.fields[.app] = nil }
    return question
  }
}

extension TestRequest {
  /// Adds the credentials that the route requires.
  @EventLoop mutating func enter(_ access: Access, as cast: Fixtures) {
    switch access {
    case .open: break
    case .user: authorize(cast.user.access)
    case .device: fields[.device] = cast.user.secret
    case .client: authorize(cast.program.secret)
    case .operator: authorize(cast.operatorKey)
    case .loopback: address = "127.0.0.1"
    case .anyOf(let all): if let first = all.first { enter(first, as: cast) }
    // No route of these wires accepts another kind of token.
    case .bearer: break
    }
  }
}
