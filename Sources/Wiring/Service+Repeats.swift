import Dossier
import EventLoop
import HTTP

/// What is wrong with an `Idempotency-Key`.
package enum RepeatFault: Sendable {
  case malformed
  /// The route keeps no answers.
  case unsupported
  /// The key came with another request before.
  case otherRequest
  /// The first request with it has not been answered.
  case underWay
}

extension Service {
  /// Answers a POST that may come again: a request that was answered is not carried out once more.
  ///
  /// - Source: draft-ietf-httpapi-idempotency-key-header-07.
  func once(_ call: Call, _ route: Route) async throws(Refusal) -> Response {
    guard route.keepsAnswers, let request = call.signature else { throw .repeated(.unsupported) }
    guard let text = call.request.field(.idempotencyKey).flatMap(Self.key) else {
      throw .repeated(.malformed)
    }
    let beginning: KeptAnswers.Beginning
    let key: KeptAnswers.Key
    do throws(Failure) {
      if let user = call.context.principal.user {
        try await call.context.requireSession(of: user)
        key = KeptAnswers.Key(text, of: user, in: call.context.app.id)
      } else if let client = call.client {
        key = KeptAnswers.Key(text, of: client, in: call.app?.id)
      } else {
        throw .unforeseen("nobody asks \(route.name)")
      }
      beginning = try await KeptAnswers.begin(key, for: request, call.context)
    } catch {
      throw .failure(error)
    }
    switch beginning {
    case .answered(let bytes):
      guard var response = Response(kept: bytes) else { throw .repeated(.underWay) }
      response.add(.idempotentReplayed, literal: "true")
      // They were tested when it was carried out.
      call.conditionIsTaken = true
      return response
    case .otherRequest: throw .repeated(.otherRequest)
    case .underWay: throw .repeated(.underWay)
    case .full: throw .failure(.tooManyAtOnce(retryAfter: .seconds(3_600)))
    case .first: break
    }
    do throws(Failure) {
      let response = try await route.handler(call)
      await KeptAnswers.keep(response.kept, for: key, call.context)
      return response
    } catch {
      await KeptAnswers.forget(key, call.context)
      throw .failure(error)
    }
  }

  /// The key in its quotes, as the draft has it, or bare, as most clients send it: 1 to 255 printable
  /// characters of ASCII.
  private static func key(_ field: String) -> String? {
    var text = Substring(field)
    if text.utf8.count > 1, text.hasPrefix("\""), text.hasSuffix("\"") {
      text = text.dropFirst().dropLast()
    }
    guard (1...255).contains(text.utf8.count),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") })
    else { return nil }
    return String(text)
  }
}

extension Route {
  /// Whether a POST may say that it comes again.
  ///
  /// Not where nobody shows who asks, as an answer is one caller's, nor where the answer has tokens of
  /// a new session: whoever has the old access token would get them by that, too.
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
  /// All of the request that counts; nil for a body whose bytes nobody has kept.
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
