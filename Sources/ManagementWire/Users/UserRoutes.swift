import Accounts
import Administration
import Delivery
import Documents
import Encoding
import EventLoop
import HTTP
import IdentitySubjects
import JSON
import Runtime
import Transfer
import WireKit

/// `/api/v2/users/{user}`: one user.
@EventLoop enum UserRoutes {
  nonisolated static let path = "/api/v2/users"
  /// The scopes to write the first metadata of the user, and to remove members of it.
  private nonisolated static let updateAccess = Access.management(
    Scopes.updateUsers, Scopes.updateAppMetadata, Scopes.updateMetadata,
    Scopes.createMetadata, Scopes.deleteMetadata
  )
  /// A user's token changes only this field.
  private nonisolated static let ownField = "user_metadata"

  nonisolated static let routes = [
    Route(
      .post, path, access: .management(Scopes.createUsers),
      body: .json(limit: 1_048_576).holdingDocuments, summary: "Create a user"
    ) { call async throws(Failure) in
      let (user, ignored) = try await create(call)
      return try await response(.created, user, ignored, call)
    },
    Route(
      .get, "\(path)/{user}", access: .management(Scopes.readUsers, Scopes.readUser),
      summary: "Read a user"
    ) { call async throws(Failure) in
      let selection = try FieldSelection(call.query)
      let record = try await UserRecords.read(of: call.managedUser(), call.context)
      let json = UserObject(record, call).selected(by: selection)
      return Response(.ok, json: json.serialized())
    },
    Route(
      .patch, "\(path)/{user}", access: updateAccess,
      body: .json(limit: 1_048_576).holdingDocuments, summary: "Change a user, in one transaction"
    ) { call async throws(Failure) in
      let user = try call.managedUser()
      let ignored = try await change(user, call)
      return try await response(.ok, user, ignored, call)
    },
    Route(
      .delete, "\(path)/{user}", access: .management(Scopes.deleteUsers),
      summary: "Delete a user, if it exists"
    ) { call async throws(Failure) in
      do throws(Failure) {
        try await Users.delete(call.managedUser(), call.context)
      } catch .notFound {}
      return Response(.noContent)
    },
  ]

  private static func response(
    _ status: Status, _ user: UserID, _ ignored: [String], _ call: Call
  ) async throws(Failure) -> Response {
    let record = try await UserRecords.read(of: user, call.context)
    let json = JSON.object(UserObject(record, call).json).reporting(ignored)
    return Response(status, json: json.serialized())
  }

  /// Changes a user, and returns the members that this server lacks.
  private static func change(_ user: UserID, _ call: Call) async throws(Failure) -> [String] {
    let body = try call.json.objectOfBody
    let context = call.context
    if context.principal.user != nil {
      let others = body.map(\.key).filter { !$0.hasSameBytes(as: ownField) }
      guard others.isEmpty else {
        throw .fieldsNotYours(
          "You cannot update the following fields: \(others.joined(separator: ", "))".excerpt(400)
        )
      }
      guard try await mayWrite(body[ownField], of: user, context) else {
        throw .insufficientScope(scope: Scopes.updateMetadata)
      }
    } else if !context.principal.scopes.contains(Scopes.updateUsers) {
      let others = body.map(\.key).filter { $0 != "app_metadata" }
      guard others.isEmpty else { throw .insufficientScope(scope: Scopes.updateUsers) }
    }
    let change = try UserChange(body)
    if change.asksToVerify { try context.mailer.requireConfigured() }
    do throws(Failure) {
      try await Failure.placing(UserMember.renamed) { () async throws(Failure) in
        try await UserAdministration.revise(user, change.revision, context)
      }
    } catch .emailTaken {
      throw .newEmailTaken
    }
    if change.asksToVerify {
      try await mailVerification(to: Profiles.read(of: user, context).email, context)
    }
    return change.ignored
  }

  /// Returns whether the token of a user may make a change of its metadata.
  private static func mayWrite(
    _ change: JSON?, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    let scopes = context.principal.scopes
    if scopes.contains(Scopes.updateMetadata) { return true }
    if scopes.contains(Scopes.deleteMetadata),
      change?.object?.allSatisfy({ $0.value == .null }) == true
    {
      return true
    }
    guard scopes.contains(Scopes.createMetadata) else { return false }
    return try await Documents.load(.metadata, of: user, context) == nil
  }

  /// Creates a user from a description, by the rules of an import.
  ///
  /// A link that verifies the address is mailed unless the body refuses it.
  private static func create(_ call: Call) async throws(Failure) -> (UserID, ignored: [String]) {
    let body = try call.json.objectOfBody
    let context = call.context
    let description = try UserDescription(body)
    if description.asksToVerify == true { try context.mailer.requireConfigured() }
    let made = try await Failure.placing(UserMember.renamed) { () async throws(Failure) in
      try await NewUser(description.json, context).create(context)
    }
    let verifies = description.asksToVerify ?? context.mailer.isConfigured
    if verifies, !made.isEmailVerified { try await mailVerification(to: made.email, context) }
    return (made.id, description.ignored)
  }

  /// Mails a link to an address, if its limits allow: the user is changed already.
  private static func mailVerification(
    to email: String?, _ context: RequestContext
  ) async throws(Failure) {
    guard let email else { return }
    do throws(Failure) {
      try await Emails.requestVerification(of: email, context)
    } catch .tooManyAttempts {
      // A stranger may have asked for mails to the address.
    } catch .loginMethodDisabled {}
  }
}

/// `/api/v2/users` and `/api/v2/users-by-email`: lists of users.
@EventLoop enum UserListRoutes {
  private nonisolated static let most = PageParameters.records
  /// The users that are read together, with their documents.
  private nonisolated static let batch = 25

  nonisolated static var routes: [Route] {
    let access = Access.management(Scopes.readUsers)
    return [
      Route(.get, UserRoutes.path, access: access, summary: "List or search the users") {
        call async throws(Failure) in try await list(call)
      },
      Route(.get, "/api/v2/users-by-email", access: access, summary: "Find the user of an address")
      { call async throws(Failure) in
        let query = try call.query
        let selection = try FieldSelection(query)
        guard let email = query["email"], !email.isEmpty else {
          throw .queryMalformed("Missing required property: email.")
        }
        let found = try await UserAdministration.holder(of: email, call.context)
        let users = try await shown(found.map { [$0] } ?? [], selection, call)
        return Response(.ok, json: JSON.array(users).serialized())
      },
    ]
  }

  private static func list(_ call: Call) async throws(Failure) -> Response {
    let query = try ListParameters(call.query)
    let (profiles, isComplete) = try await profiles(by: query, call.context)
    let sorted = try await query.sorted(profiles, isComplete: isComplete, call.context)
    let page = sorted.dropFirst(query.page.start).prefix(query.page.size)
    let users = try await shown(page.map(\.id), query.selection, call)
    let body = query.page.list(users, named: "users", total: profiles.count)
    return Response(.ok, json: body.serialized())
  }

  /// Returns the profiles of the users that a query finds, at most `most`, and whether these are all.
  private static func profiles(
    by query: ListParameters, _ context: RequestContext
  ) async throws(Failure) -> (items: [Profile], isComplete: Bool) {
    var filter: Filter?
    switch query.search {
    case .user(let id):
      guard let user = try await ForeignIDs.user(of: id, context) else { return ([], true) }
      do throws(Failure) {
        return ([try await Profiles.read(of: user, context)], true)
      } catch .notFound {
        return ([], true)
      }
    case .filter(let found): filter = try await found.resolved(context)
    case nil: break
    }
    let needed = query.readsAll ? most : query.page.start + query.page.size
    let found = try await Page<ListedUser>.items(atLeast: needed) {
      [filter] position async throws(Failure) in
      try await UserSearch.page(of: filter, after: position, count: PageLimit.most, context)
    }
    return (found.items.map(\.profile), found.isComplete)
  }

  /// Returns users as the API shows them, without those that were deleted meanwhile.
  static func shown(
    _ users: [UserID], _ selection: FieldSelection, _ call: Call
  ) async throws(Failure) -> [JSON] {
    var shown: [JSON] = []
    for start in stride(from: 0, to: users.count, by: batch) {
      let some = users[start..<min(start + batch, users.count)]
      for record in try await UserRecords.read(of: some, call.context) {
        shown.append(UserObject(record, call).selected(by: selection))
      }
    }
    return shown
  }
}

/// The query of a list of users.
struct ListParameters {
  let page: PageParameters
  let selection: FieldSelection
  /// Nil for all users.
  let search: LuceneQuery?
  private let order: UserOrder?

  /// Whether the response needs all users, for their number or their order.
  var readsAll: Bool { page.hasTotals || order != nil }

  /// - Throws: `.queryMalformed`, `.pageTooFar`.
  init(_ query: FormValues) throws(Failure) {
    selection = try FieldSelection(query)
    page = try PageParameters(query)
    if let engine = query["search_engine"], !engine.isEmpty, engine != "v3" {
      throw .queryMalformed("The search engine \(engine.excerpt(20)) is not supported. Use v3.")
    }
    if let text = query["q"], !text.isEmpty {
      search = try LuceneQuery(text)
    } else {
      search = nil
    }
    order = try query["sort"].flatMap { (text) throws(Failure) in
      text.isEmpty ? nil : try UserOrder(text)
    }
  }

  /// Returns users in the wanted order.
  ///
  /// - Throws: `.queryMalformed` if there are more than the profiles, whose order would be wrong;
  ///   `.databaseUnavailable`.
  @EventLoop func sorted(
    _ profiles: [Profile], isComplete: Bool, _ context: RequestContext
  ) async throws(Failure) -> [Profile] {
    guard let order else { return profiles }
    guard isComplete else {
      throw .queryMalformed("Dossier sorts at most 1000 users. Search for fewer with q.")
    }
    return try await order.sorted(profiles, context)
  }
}
