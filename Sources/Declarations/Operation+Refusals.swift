import Documents
import Sessions
import Tenancy
package import Runtime
import HTTP
import JSON
package import WireKit

extension Operation {
  /// All kinds of problems that the route can return.
  package var problems: [ErrorType] {
    var all = Set(ErrorType.everywhere + route.access.problems + route.body.problems + refuses)
    if takes.shape != nil || !takes.query.isEmpty { all.insert(.invalid) }
    if !parameters.isEmpty { all.formUnion(ErrorType.path) }
    if route.method == .post { all.formUnion(ErrorType.post) }
    switch versions {
    case .none, .tagged: break
    case .read: all.insert(.notFound)
    case .write: all.formUnion([.notFound, .invalid])
    case .conflict: all.insert(.versionConflict)
    }
    return ErrorType.all.filter(all.contains)
  }

  /// The problems that do not follow from access, path and body.
  package var ownProblems: [ErrorType] {
    let given = Set(
      ErrorType.everywhere + route.access.impliedProblems
        + (parameters.isEmpty ? [] : ErrorType.path)
        + (route.method == .post ? ErrorType.post : [])
        + (route.body == .none ? [] : ErrorType.body)
        + (readsJSON ? ErrorType.json + [.invalid] : [])
    )
    return problems.filter { !given.contains($0) }
  }

  private var readsJSON: Bool { route.body.mediaTypes.contains { $0.rawValue.hasSuffix("json") } }

  /// Whether the resource always exists, and version 0 counts as absent.
  package var countsAsUnwritten: Bool { route.pattern.hasSuffix("metadata") }

  /// Whether a rate limit applies to the route.
  package var isGuarded: Bool { refuses.contains(.tooManyAttempts) }

  /// The names of the path parameters, in order.
  package var parameters: [String] {
    route.pattern.split(separator: "/").filter { $0.hasPrefix("{") }.map {
      String($0.dropFirst().dropLast())
    }
  }

  /// The name in generated clients: the method and the words of the path.
  package var id: String {
    let words = route.pattern.split(separator: "/").flatMap {
      $0.split { "{}-.".contains($0) }
    }
    return route.method.rawValue.lowercased()
      + words.filter { $0 != "v1" }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}

extension ErrorType {
  /// The problems of every route: refusals by nginx, an unknown app, and failures of the server.
  package static let everywhere: [ErrorType] = [
    .requestMalformed, .conditionMalformed, .preconditionFailed, .unknownApp, .bodyTooLarge,
    .uriTooLong,
    .tooManyRequests,
    .headerTooLarge, .internalError, .overloaded, .databaseUnavailable, .serverUnavailable,
  ]

  /// The problems of every route that reads JSON.
  package static let json: [ErrorType] = JSONError.Reason.allCases.map(\.type)
  package static let body: [ErrorType] = [.mediaType, .bodyTruncated]
  /// The problems of every POST.
  ///
  /// Some occur only if the route stores responses, some only otherwise.
  package static let post: [ErrorType] = [
    .idempotencyKeyMalformed, .idempotencyKeyUnsupported, .idempotencyKeyReused,
    .idempotencyKeyInUse, .idempotencyResponseLost,
  ]
  /// The problems of every route with path parameters.
  package static let path: [ErrorType] = [.pathMalformed, .notFound]

  /// Whether the reference lists the problem once for all routes.
  package var isCommon: Bool {
    (Self.everywhere + Self.json + Self.body + Self.post + [.pathMalformed]).contains(self)
  }
}

extension Access {
  package static let userProblems: [ErrorType] = [
    .tokenMissing, .tokenInvalid, .tokenExpired, .sessionEnded, .insufficientScope,
  ]
  package static let clientProblems: [ErrorType] = [.unknownClient, .insufficientScope]
  package static let deviceProblems: [ErrorType] = [.deviceUnknown, .originForbidden]

  /// The problems that follow from the credentials alone.
  fileprivate var impliedProblems: [ErrorType] {
    switch self {
    case .user: Self.userProblems
    case .device: Self.deviceProblems
    case .client, .operator: Self.clientProblems
    case .open, .loopback, .bearer: []
    case .anyOf(let all): all.flatMap(\.impliedProblems)
    }
  }

  fileprivate var problems: [ErrorType] {
    switch self {
    case .open: Self.deviceProblems
    case .user(_, .fresh): Self.userProblems + [.reauthenticationRequired]
    case .user, .device, .client, .operator: impliedProblems
    case .loopback: [.internalOnly]
    case .bearer(_, .fresh):
      [.tokenMissing, .tokenInvalid, .tokenExpired, .insufficientScope, .reauthenticationRequired]
    case .bearer: [.tokenMissing, .tokenInvalid, .tokenExpired, .insufficientScope]
    case .anyOf(let all): all.flatMap(\.problems)
    }
  }
}

extension BodyRule {
  fileprivate var problems: [ErrorType] {
    formats.flatMap { format in
      switch format {
      case .json, .mergePatch: ErrorType.body + ErrorType.json
      case .jsonPatch: ErrorType.body + ErrorType.json + [.patchMalformed]
      case .form, .multipart, .bytes: ErrorType.body
      }
    }
  }
}
