import HTTP
import Wiring

extension Operation {
  /// Every kind of problem that the route can answer.
  var problems: [ProblemType] {
    var all = Set(ProblemType.everywhere + route.access.problems + route.body.problems + refuses)
    if takes != nil || !query.isEmpty { all.insert(.invalid) }
    if !parameters.isEmpty { all.formUnion([.pathMalformed, .notFound]) }
    // Preconditions are tested on all routes.
    all.insert(.versionMoved)
    switch versions {
    case .none, .tagged: break
    case .read: all.formUnion([.versionMoved, .notFound])
    case .write: all.formUnion([.versionMoved, .notFound, .invalid])
    case .conflict: all.insert(.propertyMoved)
    }
    return ProblemType.allCases.filter(all.contains)
  }

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
  fileprivate static let everywhere: [ProblemType] = [
    .requestMalformed, .conditionMalformed, .appNotFound, .bodyTooLarge, .uriTooLong,
    .tooManyRequests,
    .headerTooLarge, .internalError, .overloaded, .databaseUnavailable, .serverUnavailable,
  ]

  /// Of any route that reads JSON.
  fileprivate static let json: [ProblemType] = [
    .jsonEmpty, .jsonSyntax, .jsonTrailing, .jsonUTF8, .jsonSurrogate, .jsonNul,
    .jsonDuplicateKey, .jsonDepth, .jsonNumber,
  ]
  fileprivate static let body: [ProblemType] = [.mediaType, .bodyTruncated]

  /// Whether people need not be told of it at each route.
  var isCommon: Bool { (Self.everywhere + Self.json + Self.body + [.pathMalformed]).contains(self) }
}

extension Access {
  fileprivate var problems: [ProblemType] {
    switch self {
    case .open: [.deviceUnknown, .originForbidden]
    case .user(_, let proof):
      [.tokenMissing, .tokenInvalid, .tokenExpired, .sessionEnded, .insufficientScope]
        + (proof == .fresh ? [.reauthenticationRequired] : [])
    case .device: [.deviceUnknown, .originForbidden]
    case .client, .operator: [.clientUnknown, .insufficientScope]
    case .loopback: [.notLoopback]
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
