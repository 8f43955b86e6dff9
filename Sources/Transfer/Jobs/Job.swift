package import JSON
package import Postgres
package import Runtime

/// Work on many users, which an administrator starts and a worker does beside requests.
package struct Job: Listed {
  package let id: JobID
  let app: AppID
  /// Nil for the operator.
  let administrator: UserID?
  package let kind: Kind
  package let state: State
  let parameters: JobParameters
  let progress: JobProgress
  let inputParts: Int
  let inputBytes: Int
  /// The number of the claim, which each write of the progress compares.
  let claim: Int
  /// The claims since the job got on.
  let tries: Int
  private let error: String?
  private let createdAt: Timestamp
  private let startedAt: Timestamp?
  private let endedAt: Timestamp?

  package enum Kind: String, CaseIterable, Sendable {
    case bulk
    case `import`
    case export
  }

  package enum State: String, CaseIterable, Sendable {
    /// An import that takes input.
    case open
    /// An import after its dry run.
    case checked
    case running
    case done
    case stopped
    case failed
  }

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    app = try row.id(1)
    administrator = row.id(ifAny: 2)
    kind = Kind(rawValue: try row.text(3)) ?? .bulk
    state = State(rawValue: try row.text(4)) ?? .failed
    parameters = JobParameters(try row.json(5).object ?? JSONObject())
    progress = JobProgress(try row.json(6))
    inputParts = try row.int(7)
    inputBytes = try row.int(8)
    claim = try row.int(9)
    tries = try row.int(10)
    error = row.text(ifAny: 11)
    createdAt = try row.time(12)
    startedAt = try row.time(ifAny: 13)
    endedAt = try row.time(ifAny: 14)
  }

  package var cursor: JobID { id }

  /// The job as responses show it.
  package var json: JSON {
    var members = JSONObject([
      ("id", .string(id.text)), ("kind", .string(kind.rawValue)),
      ("state", .string(state.rawValue)),
    ])
    for (name, value) in parameters.members { members[String(name)] = value }
    members["administrator"] = administrator.json
    if kind == .import {
      members["dry_run"] = .bool(progress.isDry)
      members["input_parts"] = .number(JSONNumber(inputParts))
      members["input_bytes"] = .number(JSONNumber(inputBytes))
    }
    members["total"] = progress.total.map { .number(JSONNumber($0)) } ?? .null
    members["done"] = .number(JSONNumber(progress.done))
    members["counts"] = .object(progress.counts)
    members["errors"] = .array(JSONArray(progress.errors))
    members["result_bytes"] = .number(JSONNumber(progress.resultBytes))
    members["error"] = error.map(JSON.string) ?? .null
    members["created_at"] = .string(createdAt.text)
    members["started_at"] = startedAt.map { .string($0.text) } ?? .null
    members["ended_at"] = endedAt.map { .string($0.text) } ?? .null
    return .object(members)
  }
}

extension Optional<UserID> {
  fileprivate var json: JSON { map { .string($0.text) } ?? .null }
}

/// The members of a job that its creation sets, by the names that the API has.
package struct JobParameters: Sendable {
  fileprivate(set) var members: JSONObject

  init(_ members: JSONObject) { self.members = members }

  private subscript<Value: RawRepresentable<String>>(_ name: String, _: Value.Type) -> Value? {
    members[name]?.string.flatMap(Value.init)
  }

  var action: BulkAction? { self["action", BulkAction.self] }
  var role: RoleID? { members["role"]?.string.flatMap { RoleID($0) } }
  var filter: String? { members["filter"]?.string }
  /// The number of users that the administrator named by their ids; nil without such a list.
  var count: Int? { members["users"]?.number?.int }
  var format: ImportFormat? { self["format", ImportFormat.self] }
  var existing: ExistingUser { ExistingUser(members["existing"]?.string) }
  var issuer: String? { members["issuer"]?.string }
  var areEmailsVerified: Bool { members["verified_emails"]?.bool ?? false }
}

extension ExistingUser {
  /// The names in the API.
  package static let names = ["fail", "skip", "update"]

  fileprivate init(_ name: String?) {
    self = name == "update" ? .update : name == "skip" ? .skip : .fail
  }
}

/// A change of one user.
package enum BulkAction: String, CaseIterable, Sendable {
  case block
  case unblock
  case endSessions = "end_sessions"
  case addRole = "add_role"
  case removeRole = "remove_role"
  case delete

  package var needsRole: Bool { self == .addRole || self == .removeRole }
}

/// Where a job is.
struct JobProgress: Sendable {
  /// Whether an import only examines its lines.
  var isDry = false
  /// Whether the users of the filter are in the input.
  var isCollected = false
  /// How many users, or bytes of the input, are done.
  var done = 0
  /// The whole; nil if it is not known.
  var total: Int?
  /// The last user of an export.
  var last: UserID?
  var counts = JSONObject()
  /// The first errors.
  private(set) var errors: [JSON] = []
  /// The results that are stored in parts.
  var resultBytes = 0
  var resultParts = 0
  /// The person who has started it on the command line; nil for an administrator of the console.
  var person: CommandLinePerson?
  /// The results that are in no part yet.
  var tail = ""

  /// How many errors a job shows.
  private static let most = 100

  init() {}

  init(_ json: JSON) {
    func number(_ name: String) -> Int { json[name]?.number?.int ?? 0 }
    isDry = json["dry_run"]?.bool ?? false
    isCollected = json["collected"]?.bool ?? false
    done = number("done")
    total = json["total"]?.number?.int
    last = json["last"]?.string.flatMap { UserID($0) }
    counts = json["counts"]?.object ?? JSONObject()
    errors = json["errors"]?.array.map(Array.init) ?? []
    resultBytes = number("result_bytes")
    resultParts = number("result_parts")
    tail = json["tail"]?.string ?? ""
    person = json["person"]?.string.flatMap(CommandLinePerson.init(storedActor:))
  }

  var json: JSON {
    [
      "dry_run": .bool(isDry), "collected": .bool(isCollected),
      "done": .number(JSONNumber(done)), "total": total.map { .number(JSONNumber($0)) } ?? .null,
      "last": last.json, "counts": .object(counts), "errors": .array(JSONArray(errors)),
      "result_bytes": .number(JSONNumber(resultBytes)),
      "result_parts": .number(JSONNumber(resultParts)), "tail": .string(tail),
      "person": person.map { .string($0.actor) } ?? .null,
    ]
  }

  mutating func count(_ outcome: String) {
    let before = counts[outcome]?.number?.int ?? 0
    counts[outcome] = .number(JSONNumber(before + 1))
  }

  mutating func note(_ error: JSON) {
    if errors.count < Self.most { errors.append(error) }
  }
}
