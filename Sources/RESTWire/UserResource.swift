import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/users`, for programs.
@EventLoop enum UserResource {
  nonisolated static let routes: [Route] = [
    Route(
      .get,
      "/v1/users",
      access: .client(scope: Scopes.readUsers),
      summary: "List users, or those that a filter fits, the oldest first",
      list
    ),
    Route(
      .get,
      "/v1/users/{user}",
      access: .client(scope: Scopes.readUsers),
      summary: "Read a user's profile",
      ProfileResource.read
    ),
    Route(
      .patch,
      "/v1/users/{user}",
      access: .client(scope: Scopes.updateUsers),
      body: .mergePatch(limit: 16_384),
      summary: "Change a user's profile, or block or unblock it",
      patch
    ),
    Route(
      .delete,
      "/v1/users/{user}",
      access: .client(scope: Scopes.deleteUsers),
      summary: "Delete a user and all its data"
    ) { (call) async throws(Failure) in
      try await Users.delete(
        call.captured("user"),
        of: call.context.app.id,
        if: call.condition,
        by: call.administrator
      )
      return Response(.noContent)
    },
    Route(
      .get,
      "/v1/users/{user}/audit",
      access: .client(scope: Scopes.readUserLogs),
      summary: "Read what was done to a user, the newest first"
    ) { (call) async throws(Failure) in
      let user: UserID = try call.captured("user")
      let page = try await Audit.page(
        of: user,
        in: call.context.app.id,
        before: call.cursor(),
        for: call.administrator
      )
      var response = Response(.ok, json: page.items)
      if let next = page.next {
        response.add(.link, "</v1/users/\(user)/audit?cursor=\(next)>; rel=\"next\"")
      }
      return response
    },
  ]

  /// Query: `filter`, `cursor` as a `Link` has it, `limit` from 1 to 100.
  private static func list(_ call: Call) async throws(Failure) -> Response {
    let query = try ListQuery(call.request.query, known: ["filter"])
    let app = try call.context.app.id
    let page: Page<UserID>
    if let filter = query["filter"] {
      page = try await Users.search(
        filter,
        of: app,
        after: query.cursor(),
        count: query.limit,
        readsAppMetadata: call.mayUse(Scopes.readAppMetadata),
        for: call.administrator
      )
    } else {
      page = try await Users.page(
        of: app,
        after: query.cursor(),
        count: query.limit,
        for: call.administrator
      )
    }
    var response = Response(.ok, json: page.items)
    if let next = page.next { response.add(.link, query.link("/v1/users", next: next)) }
    return response
  }

  private static func patch(_ call: Call) async throws(Failure) -> Response {
    guard call.json["blocked"] != nil else { return try await ProfileResource.patch(call) }
    var members = try Members(call.json, known: ["blocked"])
    let isBlocked = members.flag("blocked")
    try members.check()
    let profile = try await Users.setBlocked(
      isBlocked,
      call.captured("user"),
      of: call.context.app.id,
      if: call.condition,
      by: call.administrator
    )
    return Response(.ok, json: profile.body, tag: EntityTag(profile.version))
  }
}
