import OpenIDClient
import Records
import Accounts
import Administration
import Documents
import EventLoop
import Federation
import HTTP
import IdentitySubjects
import JSON
import OpenID
import Runtime
import Tenancy
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
      let user = try call.managedUser()
      try await link(try LinkRequest(call.json.objectOfBody), to: user, call)
      return try await list(of: user, .created, call.context)
    },
    Route(
      .delete, "\(path)/{provider}/{identity}", access: access,
      summary: "Unlink an identity, which becomes a user of its own"
    ) { call async throws(Failure) in
      let user = try call.managedUser()
      let record = try await UserRecords.read(of: user, call.context)
      let (provider, id) = (call.text("provider"), call.text("identity"))
      let named = IdentityObject.all(of: record, in: call.context.app).first {
        $0.isNamed(provider, id)
      }
      guard let identity = named?.identity else {
        throw .inexistentResource("The user has no such identity.")
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
        throw .fieldsNotYours("A user's token can link a user only with link_with.")
      }
      guard let secondary = try await UserLinks.user(at: provider, id, context) else {
        throw .notLinkable("The secondary user does not exist.")
      }
      try await UserLinks.link(secondary, shownBy: nil, to: user, context)
    }
  }

  private static func list(
    of user: UserID, _ status: Status, _ context: RequestContext
  ) async throws(Failure) -> Response {
    let record = try await UserRecords.read(of: user, context)
    let all = IdentityObject.all(of: record, in: context.app).map(\.json)
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

/// An identity of a user, with the provider and the id by which clients know it.
struct IdentityObject {
  let provider: String
  let id: String
  /// The identity itself; nil for a user without one.
  let identity: UserRecord.Identity?
  private let connection: String
  /// Whether the operator has connected a service that Auth0 counts as social.
  private var isOfSocialConnection = false
  /// Whether the provider and the id find the user, since the operator has connected the service.
  private var findsUser = false

  /// Returns the identities of a user, the primary one first; there is at least one, as at Auth0.
  ///
  /// Clients join a provider and an id with `|` to find the user again. So the primary identity has
  /// those of the user, unless another one does.
  static func all(of record: UserRecord, in app: App) -> [IdentityObject] {
    let own = record.foreignID ?? ForeignIDs.id(of: record.profile.id)
    let provider = String(own.prefix { $0 != "|" })
    var all = record.identities.map { IdentityObject($0, of: own, app.connections) }
    guard let first = all.first else {
      let connection = ClientSettings.Connection.password.auth0Name
      return [IdentityObject("auth0", own, connection, nil)]
    }
    if !first.findsUser, !all.contains(where: { "\($0.provider)|\($0.id)".hasSameBytes(as: own) }) {
      all[0] = IdentityObject(provider, own, first.connection, first.identity)
      all[0].isOfSocialConnection = first.isOfSocialConnection
    }
    return all
  }

  private init(
    _ identity: UserRecord.Identity, of own: String, _ connections: AppConnections
  ) {
    let known = identity.formerID ?? own
    switch identity.provider {
    case .password, .linkedPassword:
      self.init("auth0", known, ClientSettings.Connection.password.auth0Name, identity)
    case .email:
      self.init("email", known, ClientSettings.Connection.emailCode.auth0Name, identity)
    case .anonymous: self.init("anonymous", known, "anonymous", identity)
    case .apiKey, .passkey, .issuer:
      if let connection = connections.connection(of: identity.provider) {
        self.init(
          connections.auth0Provider(of: connection), "|" + identity.subject,
          connections.auth0Name(of: connection), identity)
        isOfSocialConnection = connection.isSocial
        findsUser = connection.provider != nil
        return
      }
      let stated = identity.provider.issuer ?? identity.provider.text
      // A connection to another service may have the operator's name for the issuer.
      let issuer = identity.issuer.flatMap { connections.named(auth0: $0) == nil ? $0 : nil }
      self.init(issuer ?? stated, "|" + identity.subject, issuer ?? stated, identity)
    }
  }

  /// `known` is the id of the user, whose provider is left out.
  private init(
    _ provider: String, _ known: String, _ connection: String, _ identity: UserRecord.Identity?
  ) {
    (self.provider, self.connection, self.identity) = (provider, connection, identity)
    id = String(known.drop { $0 != "|" }.dropFirst())
  }

  /// The names that Auth0 gives its social connections.
  private static let social: Set<String> = [
    "amazon", "apple", "bitbucket", "discord", "facebook", "github", "google-oauth2", "line",
    "linkedin", "paypal", "salesforce", "shopify", "slack-oauth-2", "spotify", "twitter",
    "windowslive",
  ]

  /// Returns whether a client means this identity: by what is shown, by the issuer and the id there,
  /// or by its id before the link.
  func isNamed(_ provider: String, _ id: String) -> Bool {
    self.provider.hasSameBytes(as: provider) && self.id.hasSameBytes(as: id)
      || connection.hasSameBytes(as: provider)
        && identity?.subject.hasSameBytes(as: id) == true
      || identity?.formerID?.hasSameBytes(as: "\(provider)|\(id)") == true
  }

  var json: JSON {
    var object = JSONObject()
    object["connection"] = .string(connection)
    object["provider"] = .string(provider)
    object["user_id"] = .string(id)
    object["isSocial"] = .bool(isOfSocialConnection || Self.social.contains(provider))
    var profile = identity?.profile ?? JSONObject()
    let claims = profile["claims"]?.object ?? JSONObject()
    profile["claims"] = nil
    // Of a linked identity, Auth0 shows what the provider stated last.
    if profile.count > 0 { for (name, value) in claims { profile[name] = value } }
    profile["id"] = nil
    profile["foreign_id"] = nil
    if case .issuer = identity?.provider, let subject = identity?.subject,
      !subject.hasSameBytes(as: id)
    {
      profile["sub"] = .string(subject)
    }
    if profile.count > 0 { object["profileData"] = .object(profile) }
    return .object(object)
  }
}

extension UserRecord.Identity {
  /// The id of its user before it was linked; nil if it was not.
  fileprivate var formerID: String? {
    profile["foreign_id"]?.string
      ?? profile["id"]?.string.flatMap { UserID($0) }.map { ForeignIDs.id(of: $0) }
  }
}
