import Documents
package import HTTP
import JSON
package import Runtime
import Sessions
import Tenancy
package import WireKit

/// A route of this API, with its description in the reference.
package struct Operation: Sendable {
  package private(set) var route: Route
  package let takes: Input<>
  package let versions: Versions
  package let gives: [Answer]
  /// The problems that do not follow from access, body, path and versions.
  package let refuses: [ErrorType]

  package init(
    _ method: Method, _ pattern: String, access: Access, takes input: Input<> = .none,
    versions: Versions = .none, gives: [Answer], refuses: [Failure] = [], summary: String,
    _ handler: @escaping Route.Handler
  ) {
    route = Route(
      method, pattern, access: access, body: input.rule,
      isVersioned: versions.areConditionsOfWrites,
      issuesSecrets: gives.contains { $0.shape?.givesSecrets == true }, summary: summary, handler
    )
    takes = input
    self.versions = versions
    self.gives = gives
    self.refuses = refuses.map(\.type)
  }

  /// Returns the same operation with what an administrator needs, as `Route.needing` does.
  package func needing(
    _ right: AdministratorRight? = nil, stepUp: Bool = false
  ) -> Operation {
    var operation = self
    operation.route = route.needing(right, stepUp: stepUp)
    return operation
  }

  /// Returns the same operation, which reads a part of a user's data, as `Route.viewing` does.
  package func viewing(_ part: ViewedPart) -> Operation {
    var operation = self
    operation.route = route.viewing(part)
    return operation
  }
}

/// The preconditions that a route evaluates.
package enum Versions: Sendable {
  case none
  /// None, although the response has an `ETag`.
  case tagged
  /// `If-None-Match` answers 304, `If-Match` 412.
  case read
  /// `If-Match`, and `If-None-Match: *`, answer 412.
  case write
  /// As `write`, but with 409 and the stored value.
  case conflict

  fileprivate var areConditionsOfWrites: Bool { self == .write || self == .conflict }
}

/// A successful response of a route.
package struct Answer: Sendable {
  package let status: Status
  /// The description.
  package let says: String
  package let shape: Shape?
  /// The media types of the body.
  package let types: [MediaType]
  package let fields: [FieldName]

  package init(
    status: Status, says: String, shape: Shape?, types: [MediaType] = [.json],
    fields: [FieldName] = []
  ) {
    (self.status, self.says, self.shape) = (status, says, shape)
    (self.types, self.fields) = (types, fields)
  }

  package static func ok(
    _ shape: Shape, _ says: String = "", fields: [FieldName] = []
  ) -> Answer {
    Answer(status: .ok, says: says, shape: shape, fields: fields)
  }

  package static func created(_ shape: Shape?, _ says: String, fields: [FieldName] = []) -> Answer {
    Answer(status: .created, says: says, shape: shape, fields: fields)
  }

  package static func accepted(_ shape: Shape?, _ says: String) -> Answer {
    Answer(status: .accepted, says: says, shape: shape)
  }

  package static let noContent = Answer(status: .noContent, says: "", shape: nil)
}

/// A parameter of the query.
package struct QueryParameter: Sendable {
  package let name: String
  package let says: String
  package let shape: Shape
  /// Its name among those of all operations.
  package let component: String

  /// - Parameters:
  ///   - name: the name in the query.
  ///   - says: what it means.
  ///   - shape: its values.
  ///   - component: its name among those of all operations; nil for `name`.
  package init(name: String, says: String, shape: Shape, component: String? = nil) {
    (self.name, self.says, self.shape) = (name, says, shape)
    self.component = component ?? name
  }

  package static let cursor = QueryParameter(
    name: "cursor", says: "the position of the page, taken from the Link of the previous page",
    shape: .id(Example.event)
  )
  package static let versionCursor = QueryParameter(
    name: "cursor", says: cursor.says, shape: .integer.like(7), component: "version_cursor"
  )
  package static let next = QueryParameter(
    name: "next",
    says: "the user who becomes active on the device: none, or most_recent, the signed-in user who "
      + "signed in, or was switched to, last",
    shape: .choice(["most_recent", "none"])
      .named("NextActive", "The next active user when a user leaves a device.")
  )
  package static let limit = QueryParameter(
    name: "limit", says: "the maximum number of entries in the page",
    shape: .integer(1...PageLimit.most)
  )
  package static let app = QueryParameter(name: "app", says: "only of this app", shape: .slug)
  package static let force = QueryParameter(
    name: "force", says: "true does it also if users depend on what it removes",
    shape: .choice(["true"]))
  package static let filter = QueryParameter(
    name: "filter",
    says: "the users to return, such as metadata.theme = \"dark\" and created_at > 2026-01-01",
    shape: .text.like("email = \"ada@example.org\"")
  )
  package static let audience = QueryParameter(
    name: "for", says: "users omits the routes for API clients and operators",
    shape: .only("users"),
    component: "reference_for"
  )
  package static let versions = QueryParameter(
    name: "versions", says: "whether to return each property with its version", shape: .flag
  )
  package static let keep = QueryParameter(
    name: "keep",
    says: "the value to keep after a conflict: new overwrites the stored one, old keeps it",
    shape: .choice(["new", "old"]).named("Keep", "The value to keep after a conflict.")
  )
}

/// A group of operations in the reference.
package struct Chapter: Sendable {
  package let title: String
  package let says: String
  /// Shell commands before the examples of the routes.
  ///
  /// They use the variables that the start of the reference sets.
  package let example: String?
  /// Shell commands for API clients and the operator.
  package let exampleOfPrograms: String?
  package let operations: [Operation]

  package init(
    title: String, says: String, example: String? = nil, exampleOfPrograms: String? = nil,
    operations: [Operation]
  ) {
    (self.title, self.says) = (title, says)
    (self.example, self.exampleOfPrograms) = (example, exampleOfPrograms)
    self.operations = operations
  }

  /// The chapter without the operations for API clients and operators.
  package var ofUsers: Chapter {
    Chapter(
      title: title,
      says: says,
      example: example,
      exampleOfPrograms: nil,
      operations: operations.filter { operation in
        switch operation.route.access {
        case .open, .user, .device: operation.route.pattern.hasPrefix("/v1")
        default: false
        }
      }
    )
  }
}

extension FieldName {
  /// The secret of the device, or `cookie` to store the secret in a cookie.
  package static let device = FieldName("Dossier-Device")
  /// A wish of the client, such as both sides of a conflict.
  package static let prefer = FieldName("Prefer")
}

extension Operation {
  /// All kinds of problems that the route can return.
  package var problems: [ErrorType] {
    var all = Set(ErrorType.everywhere + route.access.problems + route.body.problems + refuses)
    if takes.shape != nil || !takes.query.isEmpty { all.insert(Failure.invalid.type) }
    if !parameters.isEmpty { all.formUnion(ErrorType.path) }
    if route.method == .post { all.formUnion(ErrorType.post) }
    switch versions {
    case .none, .tagged: break
    case .read: all.insert(Failure.notFound.type)
    case .write: all.formUnion(ErrorType.types(.notFound, .invalid))
    case .conflict: all.insert(Failure.versionConflict.type)
    }
    return ErrorType.sorted(all)
  }

  /// The problems that do not follow from access, path and body.
  package var ownProblems: [ErrorType] {
    let given = Set(
      ErrorType.everywhere + route.access.impliedProblems
        + (parameters.isEmpty ? [] : ErrorType.path)
        + (route.method == .post ? ErrorType.post : [])
        + (route.body == .none ? [] : ErrorType.body)
        + (readsJSON ? ErrorType.json + ErrorType.types(.invalid) : [])
    )
    return problems.filter { !given.contains($0) }
  }

  private var readsJSON: Bool { route.body.mediaTypes.contains { $0.rawValue.hasSuffix("json") } }

  /// Whether the resource always exists, and version 0 counts as absent.
  package var countsAsUnwritten: Bool { route.pattern.hasSuffix("metadata") }

  /// Whether the route writes one document, whose conflicts have both sides if the client prefers that.
  package var tellsConflicts: Bool {
    if route.pattern == "/v1/users/{user}/documents" { return true }
    return versions == .write && route.method != .delete
      && (countsAsUnwritten || route.pattern.hasSuffix("/custom-data")
        || route.pattern.hasSuffix("/custom-data/update"))
  }

  /// Whether a rate limit applies to the route.
  package var isGuarded: Bool { refuses.contains(Failure.tooManyAttempts.type) }

  /// The names of the path parameters, in order.
  package var parameters: [String] {
    route.pattern.split(separator: "/").filter { $0.hasPrefix("{") }.map {
      String($0.dropFirst().dropLast())
    }
  }

  /// The id in OpenAPI, of which generated clients make the names of functions.
  package var id: String { OperationID.of(self) }
}

extension ErrorType {
  /// The problems of every route: refusals by nginx, an unknown app, and failures of the server.
  package static let everywhere = types(
    .requestMalformed, .conditionMalformed, .preconditionFailed, .unknownApp, .bodyTooLarge,
    .uriTooLong, .tooManyRequests, .headerTooLarge, .internalError, .overloaded,
    .databaseUnavailable, .serverUnavailable
  )

  /// The problems of every route that reads JSON.
  package static let json: [ErrorType] = JSONError.Reason.allCases.map(\.type)
  package static let body = types(.mediaType, .bodyTruncated)
  /// The problems of every POST.
  ///
  /// Some occur only if the route stores responses, some only otherwise.
  package static let post = types(
    .idempotencyKeyMalformed, .idempotencyKeyUnsupported, .idempotencyKeyReused,
    .idempotencyKeyInUse, .idempotencyResponseLost
  )
  /// The problems of every route with path parameters.
  package static let path = types(.pathMalformed, .notFound)

  /// Returns the types of failures, in their order.
  package static func types(_ failures: Failure...) -> [ErrorType] { failures.map(\.type) }

  /// Returns types by status and code.
  package static func sorted(_ types: Set<ErrorType>) -> [ErrorType] {
    types.sorted { ($0.status.code, $0.code) < ($1.status.code, $1.code) }
  }

  /// Whether the reference lists the problem once for all routes.
  package var isCommon: Bool {
    (Self.everywhere + Self.json + Self.body + Self.post + Self.types(.pathMalformed))
      .contains(self)
  }
}

extension Access {
  package static let userProblems = ErrorType.types(
    .tokenMissing, .tokenInvalid, .tokenExpired, .sessionEnded, .insufficientScope
  )
  private static let bearerProblems = ErrorType.types(
    .tokenMissing, .tokenInvalid, .tokenExpired, .insufficientScope
  )
  package static let clientProblems = ErrorType.types(.unknownClient, .insufficientScope)
  package static let deviceProblems = ErrorType.types(.deviceUnknown, .originForbidden)

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
    case .user(_, .fresh): Self.userProblems + ErrorType.types(.reauthenticationRequired)
    case .user, .device, .client, .operator: impliedProblems
    case .loopback: ErrorType.types(.internalOnly)
    case .bearer(_, .fresh): Self.bearerProblems + ErrorType.types(.reauthenticationRequired)
    case .bearer: Self.bearerProblems
    case .anyOf(let all): all.flatMap(\.problems)
    }
  }
}

extension BodyRule {
  fileprivate var problems: [ErrorType] {
    formats.flatMap { format in
      switch format {
      case .json, .mergePatch: ErrorType.body + ErrorType.json
      case .jsonPatch: ErrorType.body + ErrorType.json + ErrorType.types(.patchMalformed)
      case .form, .multipart, .bytes: ErrorType.body
      }
    }
  }
}
