import Accounts
import Administration
import Delivery
import EventLoop
import HTTP
import IdentitySubjects
import JSON
import Runtime
import WireKit

/// `/api/v2/jobs`: emails that verify addresses.
///
/// A request queues its mail itself, so its job is complete at once. The id of a job is sealed and
/// contains all of it, so that jobs need no table.
@EventLoop enum JobRoutes {
  private nonisolated static let path = "/api/v2/jobs"
  private nonisolated static let access = Access.management(Scopes.updateUsers)
  private nonisolated static let readAccess = Access.management(
    Scopes.readUsers, Scopes.updateUsers, Scopes.createUsers
  )

  nonisolated static let routes = [
    Route(
      .post, "\(path)/verification-email", access: access, body: .json(limit: 16_384),
      summary: "Email a link that verifies the address of a user", verifyEmail
    ),
    refusal("users-imports", .management(Scopes.createUsers), "Import users", "user import"),
    refusal("users-exports", .management(Scopes.readUsers), "Export users", "user export"),
    Route(.get, "\(path)/{job}", access: readAccess, summary: "Read a job") {
      call throws(Failure) in
      let job = try Job(of: call.text("job"), call.context)
      return Response(.ok, json: job.json(status: "completed").serialized())
    },
    Route(.get, "\(path)/{job}/errors", access: readAccess, summary: "Read the errors of a job") {
      call throws(Failure) in
      _ = try Job(of: call.text("job"), call.context)
      return Response(.noContent)
    },
  ]

  /// Returns the route of a job that the command line has in its place.
  private nonisolated static func refusal(
    _ name: String, _ access: Access, _ summary: String, _ command: String
  ) -> Route {
    Route(.post, "\(path)/\(name)", access: access, summary: "\(summary), which is refused") {
      call throws(Failure) in
      throw .inexistentResource("There are no such jobs. Use dossier \(command).")
    }
  }

  private static func verifyEmail(_ call: Call) async throws(Failure) -> Response {
    let context = call.context
    let body = try VerificationRequest(call.json.objectOfBody)
    try context.mailer.requireConfigured()
    guard let user = try await ForeignIDs.user(of: body.user, context) else { throw .notFound }
    guard let email = try await Profiles.read(of: user, context).email else {
      throw .invalid([FieldError("/user_id", "value", "The user has no email address.")])
    }
    try await Emails.requestVerification(of: email, context)
    let job = try Job(new: "verification_email", context)
    return Response(
      .created, json: job.json(status: "pending").reporting(body.ignored).serialized()
    )
  }
}

/// The body of a request for a mail that verifies an address.
struct VerificationRequest {
  private(set) var user = ""
  /// The members that this server lacks.
  private(set) var ignored: [String] = []

  /// - Throws: `.invalid` with every fault.
  init(_ body: JSONObject) throws(Failure) {
    var reader = MemberReader()
    for (name, value) in body where value != .null {
      switch name {
      case "user_id": user = reader.string(name, value) ?? ""
      // It limits who may use the link.
      case "organization_id": reader.refuse(.unknownProperty(name))
      // A user has one address, and the mail names the app.
      case "identity", "client_id": break
      default: ignored.append(name)
      }
    }
    if body["user_id"] ?? .null == .null { reader.refuse(.missingProperty("user_id")) }
    try reader.check()
  }
}

/// A job, which its id contains.
private struct Job {
  private let id: String
  private let type: String
  private let createdAt: String

  private static let prefix = "job_"
  /// A day, as Auth0 keeps jobs.
  private static let lifetime = Duration.seconds(86_400)

  /// - Throws: `.internalError`.
  @EventLoop init(new type: String, _ context: RequestContext) throws(Failure) {
    (self.type, createdAt) = (type, Timestamp.now.milliseconds)
    let sealed = try context.keys.master.sealedText(
      JSONObject([("type", .string(type)), ("created_at", .string(createdAt))]),
      as: Self.name(in: context), for: Self.lifetime
    )
    id = Self.prefix + sealed
  }

  /// - Throws: `.inexistentResource` for an id that is forged, another app's, or a day old.
  @EventLoop init(of id: String, _ context: RequestContext) throws(Failure) {
    guard id.utf8.starts(with: Self.prefix.utf8),
      let job = context.keys.master.openedText(
        String(id.dropFirst(Self.prefix.count)), as: Self.name(in: context)
      ),
      !job.hasExpired, let type = job.json["type"]?.string,
      let createdAt = job.json["created_at"]?.string
    else { throw .inexistentResource("The job does not exist.") }
    (self.id, self.type, self.createdAt) = (id, type, createdAt)
  }

  @EventLoop private static func name(in context: RequestContext) -> String {
    "job \(context.app.id)"
  }

  func json(status: String) -> JSON {
    [
      "type": .string(type), "status": .string(status), "created_at": .string(createdAt),
      "id": .string(id),
    ]
  }
}
