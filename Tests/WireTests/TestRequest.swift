import EventLoop
import HTTP
import JSON
import Runtime
import WireKit

/// The clock for access tokens.
enum TokenClock {
  /// The seconds by which the clock is ahead for the current request.
  @TaskLocal static var ahead = 0
}

/// A request before it is sent.
struct TestRequest {
  var method: HTTP.Method
  var path: String
  var address = "192.0.2.1"
  var fields: [FieldName: String] = [:]
  var body: [UInt8] = []
  /// Whether the body is shorter than its stated length.
  var isTruncated = false
  /// Whether the client has disconnected.
  var isGone: @EventLoop () -> Bool = { false }
  /// Whether the request arrives after access tokens of today have expired.
  var isLate = false

  init(_ method: HTTP.Method, _ path: String) {
    self.method = method
    self.path = path
  }

  mutating func send(_ body: String, as type: MediaType = .json) {
    self.body = Array(body.utf8)
    fields[.contentType] = type.rawValue
  }

  mutating func authorize(_ token: String) { fields[.authorization] = "Bearer \(token)" }
}

/// A response and its route.
struct TestResponse: CustomStringConvertible {
  let response: Response
  /// The route, or nil if none matched.
  let route: Route?
  /// The error for the operator's log.
  let error: String?
  /// Whether the service read the body.
  let wasRead: Bool
  var status: Int { response.status.code }
  var json: JSON { (try? JSON.parse(response.body)) ?? .null }
  /// The code of a problem.
  var code: String { json["code"]?.string ?? "" }
  var text: String { String(decoding: response.body, as: UTF8.self) }
  var description: String { "\(status) \(text.prefix(300)) \(error ?? "")" }

  subscript(_ name: FieldName) -> String? { response[name] }

  /// Returns a required string of the response.
  func string(_ key: String) throws -> String {
    guard let text = json[key]?.string else { throw Unexpected(reply: self, wanted: key) }
    return text
  }
}

struct Unexpected: Error {
  let reply: TestResponse
  let wanted: String
}

/// A body that has already arrived.
@EventLoop final class Memory: BodySource {
  private let question: TestRequest
  private(set) var wasRead = false

  init(_ question: TestRequest) { self.question = question }

  var isGone: Bool { question.isGone() }

  func body(limit: Int) async throws(Failure) -> [UInt8] {
    wasRead = true
    guard question.body.count <= limit else { throw .bodyTooLarge(above: limit) }
    guard !question.isTruncated else { throw .bodyTruncated }
    return question.body
  }
}
