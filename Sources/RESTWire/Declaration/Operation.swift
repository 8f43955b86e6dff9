import Accounts
import Runtime
import Sessions
import HTTP
import JSON
import WireKit

/// A route of this API, with its description in the reference.
struct Operation: Sendable {
  let route: Route
  /// The shape of the request body.
  ///
  /// For a merge patch, this is the shape of the patch.
  let takes: Shape?
  let query: [QueryParameter]
  let versions: Versions
  let gives: [Answer]
  /// The problems that do not follow from access, body, path and versions.
  let refuses: [ErrorType]

  init(
    _ method: Method,
    _ pattern: String,
    access: Access,
    body: BodyRule = .none,
    takes: Shape? = nil,
    query: [QueryParameter] = [],
    versions: Versions = .none,
    gives: [Answer],
    refuses: [ErrorType] = [],
    summary: String,
    _ handler: @escaping Route.Handler
  ) {
    route = Route(
      method,
      pattern,
      access: access,
      body: body,
      isVersioned: versions.areConditionsOfWrites,
      issuesSecrets: gives.contains { $0.shape?.givesSecrets == true },
      summary: summary,
      handler
    )
    self.takes = takes
    self.query = query
    self.versions = versions
    self.gives = gives
    self.refuses = refuses
  }
}

/// The preconditions that a route evaluates.
enum Versions: Sendable {
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
struct Answer: Sendable {
  let status: Status
  /// The description.
  let says: String
  let shape: Shape?
  /// The media types of the body.
  var types: [MediaType] = [.json]
  var fields: [FieldName] = []

  static func ok(_ shape: Shape, _ says: String = "") -> Answer {
    Answer(status: .ok, says: says, shape: shape)
  }

  static func created(_ shape: Shape?, _ says: String, fields: [FieldName] = []) -> Answer {
    Answer(status: .created, says: says, shape: shape, fields: fields)
  }

  static func accepted(_ shape: Shape?, _ says: String) -> Answer {
    Answer(status: .accepted, says: says, shape: shape)
  }

  static let noContent = Answer(status: .noContent, says: "", shape: nil)
}

/// A parameter of the query.
struct QueryParameter: Sendable {
  let name: String
  let says: String
  let shape: Shape

  static let cursor = QueryParameter(
    name: "cursor",
    says: "the position of the page, taken from the Link of the previous page",
    shape: .id(Example.event)
  )
  static let versionCursor = QueryParameter(
    name: "cursor",
    says: cursor.says,
    shape: .integer.like(7)
  )
  static let next = QueryParameter(
    name: "next",
    says: "the user who becomes active on the device: most_recent (who signed in last) or none",
    shape: .choice(["most_recent", "none"])
      .named("NextActive", "The next active user when a user leaves a device.")
  )
  static let limit = QueryParameter(
    name: "limit",
    says: "the maximum number of entries in the page",
    shape: .integer(1...Users.pageSize)
  )
  static let app = QueryParameter(name: "app", says: "only of this app", shape: .slug)
  static let filter = QueryParameter(
    name: "filter",
    says: "the users to return, such as metadata.theme = \"dark\" and created_at > 2026-01-01",
    shape: .text.like("email = \"ada@example.com\"")
  )
  static let audience = QueryParameter(
    name: "for",
    says: "users omits the routes for API clients and operators",
    shape: .only("users")
  )
  static let search = QueryParameter(
    name: "q",
    says: "the words to search for",
    shape: .text(0...ReferenceResource.queryLimit).like("forgot password")
  )
  static let versions = QueryParameter(
    name: "versions",
    says: "whether to return each property with its version",
    shape: .flag
  )
  static let keep = QueryParameter(
    name: "keep",
    says: "the value to keep after a conflict: new overwrites the stored one, old keeps it",
    shape: .choice(["new", "old"]).named("Keep", "The value to keep after a conflict.")
  )
}

/// A group of operations in the reference.
struct Chapter: Sendable {
  let title: String
  let says: String
  /// Shell commands.
  ///
  /// They use `B`, the URL of the server, and variables of earlier chapters.
  var example: String?
  /// Shell commands for API clients and the operator.
  ///
  /// They also use `SECRET`, a client secret.
  var exampleOfPrograms: String?
  let operations: [Operation]

  /// The chapter without the operations for API clients and operators.
  fileprivate var ofUsers: Chapter {
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

extension RESTWire {
  /// The chapters without the operations for API clients and operators.
  static let chaptersOfUsers = chapters.map(\.ofUsers).filter { !$0.operations.isEmpty }
}
