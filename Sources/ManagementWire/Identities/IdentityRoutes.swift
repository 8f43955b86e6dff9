import Accounts
import Administration
import Documents
import EventLoop
import HTTP
import JSON
import OpenID
import Runtime
import Sessions
import WireKit

/// `/api/v2/users/{user}/identities`: links users, and unlinks identities.
@EventLoop enum IdentityRoutes {
  private nonisolated static let path = "\(UserRoutes.path)/{user}/identities"
  private nonisolated static let access = Access.management(
    Scopes.updateUsers,
    Scopes.updateIdentities,
    // A thief of a token must not add a way to sign in.
    proof: .fresh
  )

  nonisolated static let routes = [
    Route(
      .post, path, access: access, body: .json(limit: 16_384),
      summary: "Link another user to a user"
    ) { call async throws(Failure) in
      let user = try await call.managedUser()
      try await link(try LinkRequest(call.json.objectOfBody), to: user, call)
      return try await list(of: user, .created, call.context)
    },
    Route(
      .delete, "\(path)/{provider}/{identity}", access: access,
      summary: "Unlink an identity, which becomes a user of its own"
    ) { call async throws(Failure) in
      let user = try await call.managedUser()
      let record = try await Users.record(of: user, call.context)
      let (provider, id) = (call.text("provider"), call.text("identity"))
      let named = IdentityObject.all(of: record).first { $0.isNamed(provider, id) }
      guard let identity = named?.identity else {
        throw Failure(.inexistentResource, "The user has no such identity.")
      }
      try await UserLinks.unlink(identity.provider, identity.subject, from: user, call.context)
      return try await list(of: user, .ok, call.context)
    },
  ]

  private static func link(
    _ request: LinkRequest, to user: UserID, _ call: Call
  ) async throws(Failure) {
    let context = call.context
    switch request {
    case .token(let token):
      let shown = try await UserLinks.user(ofIDToken: token, issuer: call.issuer, context)
      try await UserLinks.link(shown.user, shownBy: shown.session, to: user, context)
    case .pair(let provider, let id):
      guard context.principal.user == nil else {
        throw Failure(.fieldsNotYours, "A user's token can link a user only with link_with.")
      }
      guard let secondary = try await UserLinks.user(at: provider, id, context) else {
        throw Failure(.notLinkable, "The secondary user does not exist.")
      }
      try await UserLinks.link(secondary, shownBy: nil, to: user, context)
    }
  }

  private static func list(
    of user: UserID, _ status: Status, _ context: RequestContext
  ) async throws(Failure) -> Response {
    let record = try await Users.record(of: user, context)
    let all = IdentityObject.all(of: record).map(\.json)
    return Response(status, json: JSON.array(all).serialized())
  }
}

/// The body of a link: an ID token, or a provider and an id.
enum LinkRequest {
  case token(String)
  case pair(provider: String, id: String)

  /// - Throws: `.invalid` with every fault.
  init(_ body: JSONObject) throws(Failure) {
    var texts: [String: String] = [:]
    var reader = MemberReader()
    for (name, value) in body where value != .null {
      switch name {
      case "link_with", "provider", "connection_id": texts[name] = reader.string(name, value)
      // Auth0's SDKs also send a number.
      case "user_id":
        texts[name] = value.number?.int.map(String.init) ?? reader.string(name, value)
      default: reader.refuse(.unknownProperty(name))
      }
    }
    try reader.check()
    switch (texts["link_with"], texts["provider"], texts["user_id"]) {
    case (let token?, nil, nil): self = .token(token)
    case (nil, let provider?, let id?): self = .pair(provider: provider, id: id)
    default:
      throw .invalid([
        FieldError("/link_with", "choice", "Send link_with, or provider and user_id.")
      ])
    }
  }
}
