import Accounts
import Documents
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON
import WireKit

/// Changes and deletes a user, and its avatar.
@EventLoop enum UserRoutes {
  nonisolated static let routes = [
    Route(
      .put, ParraWire.userPrefix, access: .parra(scope: Scopes.updateMetadata),
      body: .json(limit: 1_048_576), summary: "Change the names and properties of the user"
    ) { (call) async throws(Failure) in
      Response(.ok, json: try await change(call).serialized())
    },
    Route(
      .get, "\(ParraWire.userPrefix)/entitlements", access: .parra(scope: Scopes.readUser),
      summary: "List the entitlements: users have none"
    ) { (call) async throws(Failure) in
      // The SDK reads them at each start.
      try await call.context.requireSession(of: call.ownUser)
      return Response(.ok, json: Array("[]".utf8))
    },
    Route(
      .delete, ParraWire.userPrefix, access: .parra(scope: Scopes.updateMetadata),
      summary: "Delete the user"
    ) { (call) async throws(Failure) in
      let user = try call.ownUser
      // The SDK cannot authenticate the user again.
      try await Sessions.requireFreshProof(of: user, orSessionOf: .parra, call.context)
      try await Users.delete(user, call.context)
      return Response(.noContent)
    },
    Route(
      .post,
      "\(ParraWire.tenantPrefix)/users/avatar",
      access: .parra(scope: Scopes.updateMetadata),
      body: .of(
        .multipart(Multipart.Limits(parts: 4, content: Pictures.limit)),
        limit: Pictures.limit + 16_384
      ),
      summary: "Upload the avatar"
    ) { (call) async throws(Failure) in
      guard case .multipart(let form) = call.body, let image = form["image"] else {
        throw .invalid([FieldError("/image", "required", "The body must have a part image.")])
      }
      let profile = try await Pictures.set(Array(image.content), of: call.user, call.context)
      return Response(.ok, json: UserView.avatar(of: profile, call).serialized())
    },
    Route(
      .delete, "\(ParraWire.userPrefix)/avatar", access: .parra(scope: Scopes.updateMetadata),
      summary: "Remove the avatar"
    ) { (call) async throws(Failure) in
      try await Pictures.remove(of: call.ownUser, call.context)
      return Response(.noContent)
    },
  ]

  /// The members of the body with those of the profile.
  private nonisolated static let names = [
    ("name", "name"), ("first_name", "given_name"), ("last_name", "family_name"),
  ]

  /// Changes the names, where null and an empty text remove one, and merges the properties.
  ///
  /// - Returns: the user, which is read in the same transaction.
  private static func change(_ call: Call) async throws(Failure) -> JSON {
    let (user, context) = (try call.ownUser, call.context)
    let body = try call.json.objectOfBody
    var members = JSONObject()
    for (name, member) in names {
      guard let value = body[name] else { continue }
      members[member] = value.string == "" ? .null : value
      if let fault = Profiles.fault(member, members[member] ?? .null) {
        throw .invalid([fault]).renaming(member, to: name)
      }
    }
    let properties = body["properties"] ?? .null
    guard properties == .null || properties.object != nil else {
      throw .invalid([.wrongType("/properties", "an object or null")])
    }
    try properties.object?.checkProperties(at: "/properties", context)
    let (profile, stored, reads, results) = try await context.transaction {
      [members] transaction async throws(Failure) in
      var merged: [Property]?
      if let map = properties.object {
        merged = try await Properties.apply(
          .merge(map), of: user, equating: .canonical, in: transaction
        )
      }
      var batch = ReadBatch()
      let readProperties =
        merged == nil ? Properties.addRead(of: user, to: &batch, context) : nil
      let reads = try UserView.Reads(of: user, in: &batch, context)
      let changed = try await Profiles.sendChange(members, of: user, in: transaction)
      let read = transaction.send(batch)
      // The properties have locked the user of a live session, so the change cannot miss.
      if merged != nil { transaction.sendCommit() }
      let (profile, results) = (try await changed(), try await read())
      let stored = if let merged { merged } else { try readProperties?(results) ?? [] }
      return (profile, stored, reads, results)
    }
    return try await UserView.user(profile, stored, reads, results, call)
  }
}
