import Runtime
import Tenancy
import EventLoop
import HTTP
import Encoding

extension Service {
  /// Answers a POST with an idempotency key.
  ///
  /// A repeated request is not executed again.
  /// - Source: draft-ietf-httpapi-idempotency-key-header-07.
  func once(_ call: Call, _ route: Route) async throws(Failure) -> Response {
    guard route.keepsAnswers, let request = call.signature else {
      throw .idempotencyKeyUnsupported
    }
    guard let text = call.request.field(.idempotencyKey).flatMap(Self.key) else {
      throw .idempotencyKeyMalformed
    }
    let key: IdempotencyRecords.Key
    if let user = call.context.principal.user {
      try await call.context.requireSession(of: user)
      key = IdempotencyRecords.Key(text, of: user, in: call.context.app.id)
    } else if let client = call.client {
      key = IdempotencyRecords.Key(text, of: client, in: call.app?.id)
    } else if call.localCaller != nil {
      throw .idempotencyKeyUnsupported
    } else {
      throw .internalError(reason: "\(route.name) has neither a user nor a client")
    }
    switch try await IdempotencyRecords.begin(key, for: request, call.context) {
    case .answered(let bytes):
      guard var response = Response(kept: bytes) else { throw .idempotencyResponseLost }
      response.add(.idempotentReplayed, literal: "true")
      // The first request has already tested the preconditions.
      call.conditionIsTaken = true
      return response
    case .otherRequest: throw .idempotencyKeyReused
    case .underWay: throw .idempotencyKeyInUse
    case .lost: throw .idempotencyResponseLost
    case .full: throw .tooManyRequests(retryAfter: .seconds(3_600))
    case .first: break
    }
    do throws(Failure) {
      let response = try await route.handler(call)
      if response.isKept {
        await IdempotencyRecords.keep(response.kept, for: key, call.context)
      } else {
        // Some wires return their errors as responses.
        await IdempotencyRecords.forget(key, call.context)
      }
      return response
    } catch {
      if !error.leavesChangeUnknown { await IdempotencyRecords.forget(key, call.context) }
      throw error
    }
  }

  /// Returns the key: 1 to 255 printable ASCII characters.
  ///
  /// The draft requires quotes; most clients send the key without them. Both forms are accepted.
  private static func key(_ field: String) -> String? {
    var text = Substring(field)
    if text.utf8.count > 1, text.hasPrefix("\""), text.hasSuffix("\"") {
      text = text.dropFirst().dropLast()
    }
    guard (1...255).contains(text.utf8.count),
      text.utf8.allSatisfy({ $0.isVisible && $0 != UInt8(ascii: "\"") })
    else { return nil }
    return String(text)
  }
}

extension Route {
  /// Whether the route supports idempotency keys.
  ///
  /// Unsupported if the caller is not authenticated, since a stored response belongs to one caller.
  /// Also unsupported if the response contains tokens of a new session. Otherwise the owner of the
  /// old access token would get them too.
  package var keepsAnswers: Bool { method == .post && access.isOfOneCaller && !issuesSecrets }
}

extension Access {
  fileprivate var isOfOneCaller: Bool {
    switch self {
    case .user(_, .session), .user(_, .fresh), .client, .operator: true
    case .user(_, .body), .open, .device, .loopback, .bearer: false
    case .anyOf(let all): all.allSatisfy(\.isOfOneCaller)
    }
  }
}

extension Call {
  /// The bytes that identify the request; nil for a body whose bytes were not kept.
  fileprivate var signature: [UInt8]? {
    let bytes: [UInt8]
    switch body {
    case .none: bytes = []
    case .json(_, let read), .mergePatch(_, let read): bytes = read
    case .bytes(let read): bytes = read
    case .jsonPatch, .form, .multipart: return nil
    }
    let fields = [FieldName.contentType, .ifMatch, .ifNoneMatch].map { request.field($0) ?? "" }
    let head = [String(request.path), String(request.query)] + fields
    return head.flatMap { Array("\($0.utf8.count):\($0)".utf8) } + bytes
  }
}
