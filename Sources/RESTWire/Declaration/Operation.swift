import Dossier
import HTTP
import JSON
import Wiring

/// A route of this API, with what its reference says of it.
struct Operation: Sendable {
  let route: Route
  /// What the body must be; of a merge patch, what the patch must be.
  let takes: Shape?
  let query: [QueryParameter]
  let versions: Versions
  let gives: [Answer]
  /// Beside those that follow from access, body, path and versions.
  let refuses: [ProblemType]

  init(
    _ method: Method,
    _ pattern: String,
    access: Access,
    body: BodyRule = .none,
    takes: Shape? = nil,
    query: [QueryParameter] = [],
    versions: Versions = .none,
    gives: [Answer],
    refuses: [ProblemType] = [],
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

/// What preconditions a route looks at.
enum Versions: Sendable {
  case none
  /// None, but its answer has an `ETag`.
  case tagged
  /// `If-None-Match` answers 304, `If-Match` 412.
  case read
  /// `If-Match`, and `If-None-Match: *`, answer 412.
  case write
  /// As `write`, but with 409 and the stored value.
  case conflict

  fileprivate var areConditionsOfWrites: Bool { self == .write || self == .conflict }
}

/// One way in which a route answers when nothing is wrong.
struct Answer: Sendable {
  let status: Status
  /// What the status does not.
  let says: String
  let shape: Shape?
  /// Of bodies that are not JSON.
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
    says: "where the page goes on, as the Link of the page before has it",
    shape: .id(Example.event)
  )
  static let versionCursor = QueryParameter(
    name: "cursor",
    says: cursor.says,
    shape: .integer.like(7)
  )
  static let next = QueryParameter(
    name: "next",
    says: "who becomes active on the device: most_recent, the user who signed in last, or none",
    shape: .choice(["most_recent", "none"])
      .named("NextActive", "The next active user when a user leaves a device.")
  )
  static let limit = QueryParameter(
    name: "limit",
    says: "how many a page has at most",
    shape: .integer(1...Users.pageSize)
  )
  static let filter = QueryParameter(
    name: "filter",
    says: "which users, such as metadata.theme = \"dark\" and created_at > 2026-01-01",
    shape: .text.like("email = \"ada@example.com\"")
  )
  static let audience = QueryParameter(
    name: "for",
    says: "users leaves out what only programs and operators call",
    shape: .only("users")
  )
  static let versions = QueryParameter(
    name: "versions",
    says: "whether each property comes with its version",
    shape: .flag
  )
  static let keep = QueryParameter(
    name: "keep",
    says: "what a property with another version does: new writes all the same, old leaves it",
    shape: .choice(["new", "old"]).named("Keep", "Whose value stays.")
  )
}

/// A part of the reference: operations that are read together.
struct Chapter: Sendable {
  let title: String
  let says: String
  /// Commands for a shell that has `B`, the address of the server, and those of the chapters before.
  var example: String?
  /// The same for programs and the operator, with `KEY`.
  var exampleOfPrograms: String?
  let operations: [Operation]

  /// What an app calls for its users.
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
  /// The parts with what an app calls for its users.
  static let chaptersOfUsers = chapters.map(\.ofUsers).filter { !$0.operations.isEmpty }
}
