import Accounts
import Administration
import Documents
import EventLoop
import HTTP
import JSON
import Runtime
import Sessions
import WireKit

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
        let found = try await Users.holder(of: email, call.context)
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
    return try await Page<Profile>.items(atLeast: needed) { [filter] cursor async throws(Failure) in
      if let filter {
        try await Users.search(filter, after: cursor, count: PageLimit.most, context)
      } else {
        try await Users.page(after: cursor, context)
      }
    }
  }

  /// Returns users as the API shows them, without those that were deleted meanwhile.
  static func shown(
    _ users: [UserID], _ selection: FieldSelection, _ call: Call
  ) async throws(Failure) -> [JSON] {
    var shown: [JSON] = []
    for start in stride(from: 0, to: users.count, by: batch) {
      let some = users[start..<min(start + batch, users.count)]
      for record in try await Users.records(of: some, call.context) {
        shown.append(UserObject(record, call).selected(by: selection))
      }
    }
    return shown
  }
}
