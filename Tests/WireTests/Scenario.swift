import EventLoop
import FoundationEssentials
import HTTP
import RESTWire
import Testing
import Wiring

/// One use of a route that is granted: what every route must have.
struct Scenario: Sendable, CustomTestStringConvertible {
  /// As the route is called in logs: `PUT /v1/me/properties/{key}`.
  let route: String
  let status: Int
  private let body: [UInt8]?
  private let type: MediaType
  private let prepare: Preparation

  /// Makes what the request is about, and tells what stands for `{name}` in the path and `$name` in
  /// the body.
  typealias Preparation = @EventLoop @Sendable (Cast) async throws -> [String: String]

  var testDescription: String { route }

  init(
    _ route: String,
    _ status: Int,
    _ body: String? = nil,
    as type: MediaType = .json,
    _ prepare: @escaping Preparation = { _ in [:] }
  ) {
    self.init(route, status, bytes: body.map { Array($0.utf8) }, as: type, prepare)
  }

  init(
    _ route: String,
    _ status: Int,
    bytes: [UInt8]?,
    as type: MediaType,
    _ prepare: @escaping Preparation = { _ in [:] }
  ) {
    self.route = route
    self.status = status
    body = bytes
    self.type = type
    self.prepare = prepare
  }

  /// The request, without credentials, after what it needs has been made.
  @EventLoop func question(_ cast: Cast) async throws -> Question {
    let made = try await prepare(cast)
    let names = [
      "user": cast.user.id, "neighbour": cast.neighbour.id, "refresh": cast.user.refresh,
      "app": cast.app, "key": "volume", "class": "metadata", "version": "1",
      "code": "not_found",
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

extension Question {
  /// Adds the credentials that the route asks for.
  @EventLoop mutating func enter(_ access: Access, as cast: Cast) {
    switch access {
    case .open: break
    case .user: authorize(cast.user.access)
    case .device: fields[.device] = cast.user.secret
    case .client: authorize(cast.program.key)
    case .operator: authorize(cast.operatorKey)
    case .loopback: address = "127.0.0.1"
    case .anyOf(let all): if let first = all.first { enter(first, as: cast) }
    // No route of these wires asks for another kind of token.
    case .bearer: break
    }
  }
}
