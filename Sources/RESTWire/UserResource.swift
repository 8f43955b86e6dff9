import Accounts
import Administration
import Declarations
import Delivery
import Documents
import Encoding
import EventLoop
import HTTP
import JSON
import Representations
import Runtime
import Sessions
package import Transfer
import WireKit

/// `/v1/users`, for API clients.
@EventLoop enum UserResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get,
      "/v1/users",
      access: .client(scope: Scopes.readUsers),
      takes: .query(.filter, .userSort, .total, .limit, .userCursor),
      gives: [.ok(.list(of: .profile, atMost: PageLimit.most), fields: [.totalCount])],
      refuses: [.invalidFilter, .notIndexed, .searchTooSlow],
      summary: "List the users, or those that match a filter, the newest first",
      list
    ),
    Operation(
      .post,
      "/v1/users",
      access: .client(scope: Scopes.createUsers),
      takes: .body(.json(limit: 1_048_576).holdingDocuments, .newUser),
      versions: .tagged,
      gives: [
        .created(.profile.shown(as: Example.charlesProfile), "The profile.", fields: [.location])
      ],
      refuses: [.userExists, .identityTaken, .documentTooLarge],
      summary: "Create a user, with any data that an import can set, and send no email",
      create
    ),
    Operation(
      .get, "/v1/users/export", access: .client(scope: Scopes.readUsers),
      takes: .query(.filter, .userSort, .userCursor),
      gives: [
        Answer(
          status: .ok, says: "A file with at most \(mostInFile) users.", shape: nil, types: [.csv],
          fields: [.link])
      ],
      refuses: [.invalidFilter, .notIndexed, .searchTooSlow, .tooManyRequests],
      summary: "Export the users that match a filter as CSV, with the last sign-in", export
    ).needing(.admin, stepUp: true),
    Operation(
      .get, "/v1/users/{user}", access: .client(scope: Scopes.readUsers), versions: .read,
      gives: [.ok(.profile)], summary: "Read a user's profile", ProfileResource.read
    ),
    Operation(
      .patch,
      "/v1/users/{user}",
      access: .client(scope: Scopes.updateUsers),
      takes: .body(.mergePatch(limit: 1_048_576).holdingDocuments, .userPatch),
      versions: .write,
      gives: [.ok(.profile.shown(as: Example.blockedProfile))],
      refuses: [.emailTaken, .noEmail, .schemaMismatch, .documentTooLarge],
      summary: "Change a user's profile, address, block and documents, all or nothing",
      patch
    ).needing(.support),
    Operation(
      .delete, "/v1/users/{user}", access: .client(scope: Scopes.deleteUsers), versions: .write,
      gives: [.noContent], summary: "Delete a user and all its data"
    ) { (call) async throws(Failure) in
      try await Users.delete(call.captured("user"), if: call.condition, call.context)
      return Response(.noContent)
    }.needing(stepUp: true),
    Operation(
      .get, "/v1/users/{user}/logins", access: .client(scope: Scopes.readUsers),
      gives: [.ok(.logins)], summary: "Read how often a user has signed in, and when last"
    ) { (call) async throws(Failure) in
      let user = try await UserRecords.read(
        of: call.captured("user"), withDocuments: false, call.context
      )
      let body: JSON = [
        "last_login_at": JSON(user.lastLogin),
        "login_count": .number(JSONNumber(user.loginCount)),
      ]
      return Response(.ok, json: body.serialized())
    },
    Operation(
      .get, "/v1/users/{user}/audit", access: .client(scope: Scopes.readUserLogs),
      takes: .query(.limit, .cursor), gives: [.ok(.events)],
      summary: "List a user's audit events, the newest first"
    ) { (call) async throws(Failure) in
      let query = try ListQuery(call.request.query)
      let page = try await Audit.page(
        of: call.captured("user"), before: query.cursor(), count: query.limit, call.context
      )
      return query.response(page, call, \.json)
    }.viewing(.history),
  ]

  /// Help for users who cannot sign in.
  nonisolated static let support: [Operation] = [
    Operation(
      .put,
      "/v1/users/{user}/password",
      access: .client(scope: Scopes.updateUsers),
      takes: .body(
        .json(limit: 4_096),
        Fields("PasswordOfUser", "A password to set.", .text("password", .newPassword))
      ),
      gives: [.noContent],
      summary: "Set a user's password, and end all its sessions and API keys; an email reports it"
    ) { (call, password) async throws(Failure) in
      try await UserAdministration.setPassword(password, of: call.captured("user"), call.context)
      return Response(.noContent)
    }.needing(stepUp: true),
    Operation(
      .post, "/v1/users/{user}/password/reset-request", access: .client(scope: Scopes.updateUsers),
      gives: [.accepted(nil, "The email is queued.")], refuses: [.mailNotConfigured],
      summary: "Email a user a token that resets the password, even shortly after another email"
    ) { (call) async throws(Failure) in
      try await UserAdministration.mailReset(to: call.captured("user"), call.context)
      return Response(.accepted)
    }.needing(.support),
    Operation(
      .post, "/v1/users/{user}/email/verify", access: .client(scope: Scopes.updateUsers),
      gives: [.ok(.profile)],
      summary: "Mark a user's address as verified; the next reset by email revokes all else"
    ) { (call) async throws(Failure) in
      let user: UserID = try call.captured("user")
      try await UserAdministration.verifyEmail(of: user, call.context)
      return Response(.ok, try await Profiles.read(of: user, call.context))
    }.needing(.support),
    Operation(
      .post, "/v1/users/{user}/email/verify/request",
      access: .client(scope: Scopes.updateUsers), gives: [.accepted(nil, "The email is queued.")],
      refuses: [.mailNotConfigured, .loginMethodDisabled, .emailAlreadyVerified],
      summary: "Email a user a token that verifies the address, even shortly after another email"
    ) { (call) async throws(Failure) in
      try await UserAdministration.mailVerification(to: call.captured("user"), call.context)
      return Response(.accepted)
    }.needing(.support),
  ]

  /// Returns a page of users.
  ///
  /// The query has `filter`, `sort`, `total`, the `cursor` of a `Link`, and `limit`.
  private static func list(_ call: Call) async throws(Failure) -> Response {
    var query = try ListQuery(call.request.query, known: ["filter", "sort", "total"])
    let filter = try query["filter"].map(Filter.init)
    let isFirst = query["cursor"] == nil
    let sort = try query.sort(usual: UserSort.newest)
    let total: TotalKind? = try query.choice("total")
    let page = try await UserSearch.page(
      of: filter, by: sort, after: query.cursor(if: sort.isOrder(of:)), count: query.limit,
      call.context
    )
    if let filter, isFirst { try await Audit.recordSearch(by: filter.members, call.context) }
    var response = query.response(page, call, \.profile.json)
    if total != nil {
      let total = try await UserSearch.total(of: filter, call.context)
      response.add(.totalCount, "\(total.count)\(total.mark)")
    }
    return response
  }

  /// The most users in a file, whose `Link` leads to the next ones.
  private nonisolated static let mostInFile = 50_000

  private static func export(_ call: Call) async throws(Failure) -> Response {
    var query = try ListQuery(call.request.query, known: ["filter", "sort"])
    let filter = try query["filter"].map(Filter.init)
    let sort = try query.sort(usual: UserSort.newest)
    var cursor = try query.cursor(if: sort.isOrder(of:))
    try await Jobs.countExport(call.context)
    var (file, count) = (CSVFile(ListedUser.columns), 0)
    repeat {
      let page = try await UserSearch.page(
        of: filter, by: sort, after: cursor, count: PageLimit.most, call.context)
      for user in page.items { file.append(user.cells) }
      (count, cursor) = (count + page.items.count, page.next)
    } while cursor != nil && count < mostInFile
    try await Audit.recordExport(ofUsers: count, by: filter?.members ?? [], call.context)
    var response = Response(.ok)
    response.body = file.bytes
    response.add(.contentType, MediaType.csv.rawValue)
    response.add(.contentDisposition, "attachment; filename=\"users.csv\"")
    response.add(.cacheControl, literal: "no-store")
    if let cursor { response.add(.link, query.link(to: "\(cursor)", call)) }
    return response
  }

  private static func create(_ call: Call) async throws(Failure) -> Response {
    let new = try await NewUser(call.json, call.context)
    let made = try await new.create(call.context)
    var response = Response(.created, made)
    response.add(.location, "/v1/users/\(made.id)")
    return response
  }

  private static func patch(_ call: Call) async throws(Failure) -> Response {
    let user: UserID = try call.captured("user")
    try requireRight(toChange: call.json, call)
    try await UserAdministration.revise(
      user, revision(of: call.json), if: call.condition, call.context
    )
    return Response(.ok, try await Profiles.read(of: user, call.context))
  }

  /// Checks that an administrator may change the members of a patch.
  ///
  /// Support may block a user, and mark the address as verified. A new address gets the links to new passwords, so it needs a step-up.
  private static func requireRight(toChange patch: JSON, _ call: Call) throws(Failure) {
    let names = patch.object.map { $0.map { String($0.key) } } ?? []
    if names.contains(where: { !["blocked", "email_verified"].contains($0) }) {
      try call.context.require(.admin)
    }
    if names.contains("email") { try call.requireRecent() }
  }

  private static func revision(of patch: JSON) throws(Failure) -> UserRevision {
    guard let members = patch.object else {
      throw .invalid([FieldError("", "type", "The patch must be an object.")])
    }
    var revision = UserRevision()
    revision.mergesDocuments = true
    var reader = MemberReader()
    for (name, value) in members {
      switch name {
      case "blocked": revision.isBlocked = reader.flag(name, value)
      case "email_verified": revision.isEmailVerified = reader.flag(name, value)
      case "email": revision.email = reader.string(name, value).map { ($0, false) }
      case "metadata", "app_metadata":
        guard let kind = DocumentKind(rawValue: name) else { continue }
        if let object = reader.object(name, value) {
          revision.documents.append((kind, object))
        }
      default:
        revision.profile[name] = value
        if let fault = Profiles.fault(name, value) { reader.refuse(fault) }
      }
    }
    if revision.email != nil {
      revision.email?.isVerified = revision.isEmailVerified ?? false
      revision.isEmailVerified = nil
    }
    try reader.check()
    return revision
  }
}

extension UserTotal {
  /// The parameter of the header field, an item of RFC 9651.
  fileprivate var mark: String {
    switch precision {
    case .exact: ""
    case .minimum: ";at-least"
    case .estimate: ";estimate"
    }
  }
}

/// The numbers of users that a list can report.
private enum TotalKind: String, CaseIterable { case estimate }

extension QueryParameter {
  fileprivate static let userSort = QueryParameter(
    name: "sort",
    says: "the order; - means descending. An order by email or name has only users with one",
    shape: .choice(UserSort.allCases.map(\.rawValue)).named("UserSort", "An order of users.")
  )
  fileprivate static let total = QueryParameter(
    name: "total",
    says: "estimate adds Total-Count: the exact number up to 10,000 users, or else an estimate "
      + "marked ;estimate, or with a filter a minimum marked ;at-least",
    shape: .choice(TotalKind.allCases.map(\.rawValue)).named("Total", "A number of users.")
  )
  fileprivate static let userCursor = QueryParameter(
    name: cursor.name, says: cursor.says, shape: .text.like(.string(Example.userCursor)),
    component: "user_cursor"
  )
}

extension Shape {
  fileprivate static let logins = Shape.object([
    "last_login_at": .time(Example.played).orNull, "login_count": .count.like(12),
  ]).named("Logins", "How often a user has signed in, and when last.")
}

// JSON with paths of this API.

extension DeviceUser {
  var json: JSON {
    [
      "user_id": .string(user.text), "activated_at": .string(activatedAt.text),
      "state": .string(state.name), "anonymous": .bool(isAnonymous), "name": JSON(name),
      "nickname": JSON(nickname), "picture": JSON(picture.map(PicturePaths.path)),
      "email": JSON(email),
    ]
  }
}

extension DeviceUser.State {
  fileprivate var name: String {
    switch self {
    case .active: "active"
    case .inactive: "inactive"
    case .loggedOut: "logged_out"
    }
  }
}

extension Export {
  /// Returns the whole export as one JSON object.
  package var text: [UInt8] { text(picturePath: PicturePaths.path) }
}
