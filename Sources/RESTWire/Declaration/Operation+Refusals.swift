import HTTP
import Wiring

extension Operation {
  /// Every kind of problem that the route can answer.
  var problems: [ProblemType] {
    var all = Set(ProblemType.everywhere + route.access.problems + route.body.problems + refuses)
    if takes != nil || !query.isEmpty { all.insert(.invalid) }
    if !parameters.isEmpty { all.formUnion(ProblemType.path) }
    if route.method == .post { all.formUnion(ProblemType.post) }
    switch versions {
    case .none, .tagged: break
    case .read: all.insert(.notFound)
    case .write: all.formUnion([.notFound, .invalid])
    case .conflict: all.insert(.propertyMoved)
    }
    return ProblemType.allCases.filter(all.contains)
  }

  /// Those that do not follow from its access, its path and the kind of its body.
  var ownProblems: [ProblemType] {
    let given = Set(
      ProblemType.everywhere + route.access.impliedProblems
        + (parameters.isEmpty ? [] : ProblemType.path)
        + (route.method == .post ? ProblemType.post : [])
        + (route.body == .none ? [] : ProblemType.body)
        + (readsJSON ? ProblemType.json + [.invalid] : [])
    )
    return problems.filter { !given.contains($0) }
  }

  private var readsJSON: Bool { route.body.mediaTypes.contains { $0.rawValue.hasSuffix("json") } }

  /// Whether what it writes is there from the start, in a version 0 that counts as none.
  var countsAsUnwritten: Bool { route.pattern.hasSuffix("metadata") }

  /// Whether a guard counts what the route does.
  var isGuarded: Bool { refuses.contains(.tooManyAttempts) }

  /// The names that the path captures, in order.
  var parameters: [String] {
    route.pattern.split(separator: "/").filter { $0.hasPrefix("{") }.map {
      String($0.dropFirst().dropLast())
    }
  }

  /// What generated clients call it: the method and the words of the path.
  var id: String {
    let words = route.pattern.split(separator: "/").flatMap {
      $0.split { "{}-.".contains($0) }
    }
    return route.method.rawValue.lowercased()
      + words.filter { $0 != "v1" }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}

extension ProblemType {
  /// What any route may answer: what nginx refuses, a name that is no app's, and our own troubles.
  static let everywhere: [ProblemType] = [
    .requestMalformed, .conditionMalformed, .versionMoved, .appNotFound, .bodyTooLarge, .uriTooLong,
    .tooManyRequests,
    .headerTooLarge, .internalError, .overloaded, .databaseUnavailable, .serverUnavailable,
  ]

  /// Of any route that reads JSON.
  static let json: [ProblemType] = [
    .jsonEmpty, .jsonSyntax, .jsonTrailing, .jsonUTF8, .jsonSurrogate, .jsonNul,
    .jsonDuplicateKey, .jsonDepth, .jsonNumber,
  ]
  static let body: [ProblemType] = [.mediaType, .bodyTruncated]
  /// Of any POST; which of them depends on whether its answers are kept.
  static let post: [ProblemType] = [
    .idempotencyKeyMalformed, .idempotencyKeyUnsupported, .idempotencyKeyReused,
    .idempotencyKeyBusy,
  ]
  /// Of any route whose path names something.
  static let path: [ProblemType] = [.pathMalformed, .notFound]

  /// Whether people need not be told of it at each route.
  var isCommon: Bool {
    (Self.everywhere + Self.json + Self.body + Self.post + [.pathMalformed]).contains(self)
  }
}

extension Access {
  static let userProblems: [ProblemType] = [
    .tokenMissing, .tokenInvalid, .tokenExpired, .sessionEnded, .insufficientScope,
  ]
  static let clientProblems: [ProblemType] = [.clientUnknown, .insufficientScope]
  static let deviceProblems: [ProblemType] = [.deviceUnknown, .originForbidden]

  /// What follows from how the caller shows who it is.
  fileprivate var impliedProblems: [ProblemType] {
    switch self {
    case .user: Self.userProblems
    case .device: Self.deviceProblems
    case .client, .operator: Self.clientProblems
    case .open, .loopback, .bearer: []
    case .anyOf(let all): all.flatMap(\.impliedProblems)
    }
  }

  fileprivate var problems: [ProblemType] {
    switch self {
    case .open: Self.deviceProblems
    case .user(_, .fresh): Self.userProblems + [.reauthenticationRequired]
    case .user, .device, .client, .operator: impliedProblems
    case .loopback: [.notLoopback]
    case .bearer(_, .fresh):
      [.tokenMissing, .tokenInvalid, .tokenExpired, .insufficientScope, .reauthenticationRequired]
    case .bearer: [.tokenMissing, .tokenInvalid, .tokenExpired, .insufficientScope]
    case .anyOf(let all): all.flatMap(\.problems)
    }
  }
}

extension BodyRule {
  fileprivate var problems: [ProblemType] {
    formats.flatMap { format in
      switch format {
      case .json, .mergePatch: ProblemType.body + ProblemType.json
      case .jsonPatch: ProblemType.body + ProblemType.json + [.patchMalformed]
      case .form, .multipart, .bytes: ProblemType.body
      }
    }
  }
}
