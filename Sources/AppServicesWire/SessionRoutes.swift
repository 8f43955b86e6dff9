import Accounts
import Runtime
import Sessions
import Tenancy
import EventLoop
import HTTP
import JSON
import WireKit

/// The routes of the current session: `/auth/session`, `/auth/profile`, `/auth/delete`.
@EventLoop enum SessionRoutes {
  nonisolated static let routes = [
    Route(
      .post, "\(AppServicesWire.authPrefix)/session", access: .refreshToken,
      summary: "Get an access token with the custom data of now"
    ) { (call) async throws(Failure) in
      try await Sessions.renew(as: .appServices, call.context)
      let token = try await Sessions.accessToken(as: .appServices, call.context)
      let body: JSON = ["access_token": .string(token)]
      return Response(.created, json: body.serialized())
    },
    Route(
      .delete, "\(AppServicesWire.authPrefix)/session", access: .refreshToken, summary: "Log out"
    ) { (call) async throws(Failure) in
      try await Sessions.logout(call.user, call.context)
      return Response(.noContent)
    },
    Route(
      .get, "\(AppServicesWire.authPrefix)/profile", access: .user(scope: Scopes.readUser),
      summary: "Read the profile and the identities"
    ) { (call) async throws(Failure) in
      try await profile(call)
    },
    Route(
      .delete, "\(AppServicesWire.authPrefix)/delete",
      access: .user(scope: Scopes.updateMetadata, proof: .session), summary: "Delete the user"
    ) { (call) async throws(Failure) in
      try LoginRoutes.requireOwnAccessToken(of: call, for: Scopes.updateMetadata)
      try await call.requireProof()
      try await Users.delete(call.user, if: VersionCondition(), call.context)
      return Response(.noContent)
    },
  ]

  private static func profile(_ call: Call) async throws(Failure) -> Response {
    let (user, context) = (try call.user, call.context)
    let profile = try await Profiles.read(of: user, context)
    let identities = try await Identities.list(of: user, context)
    let began = try await UserOrigins.wasAnonymous(user, context)
    let shown = UserIdentity.all(
      identities, of: profile, in: context.app, wasAnonymous: began)
    let picture = profile.picture.map { call.origin + PicturePaths.path($0) }
    let body: JSON = [
      "user_id": .string(user.text), "domain_id": .string(context.app.id.text),
      "identities": .array(shown.map { $0.json(context.app.id) }),
      "data": UserIdentity.data(of: profile, identities, picture: picture), "type": "normal",
    ]
    return Response(.ok, json: body.serialized())
  }
}

extension Call {
  /// Checks that the user may make a sensitive change: a link, an API key or a deletion.
  ///
  /// The SDKs cannot authenticate a user again in a session.
  func requireProof() async throws(Failure) {
    try await Sessions.requireFreshProof(of: user, orSessionOf: .appServices, context)
  }
}

extension Access {
  /// Returns access by a refresh token of this wire, or by a token without a type claim.
  ///
  /// Sensitive routes also call `requireProof`.
  static let refreshToken = Access.bearer(
    BearerKind("refresh token", isOfForm: { _ in true }) { (token, call) async throws(Failure) in
      let principal = try call.context.tokens.principal(ofSignedRefreshToken: token, call.context)
      let type = AccessTokens.claimedType(of: token)
      guard type == nil || type == "refresh" else { throw .tokenInvalid }
      return .user(principal)
    },
    proof: .session
  )
}

/// An identity in the form of an App Services profile.
struct UserIdentity: Sendable {
  private let id: String
  private let provider: Provider
  private let email: String?

  /// Returns the identities of a user in the order of their creation, the anonymous one first.
  ///
  /// The address of a user who signs in at a provider is no identity of its own, as at App Services.
  static func all(
    _ identities: [IdentityInfo], of profile: Profile, in app: App, wasAnonymous: Bool
  ) -> [UserIdentity] {
    let hasProvider = identities.contains { $0.provider.issuer != nil }
    let found = identities.filter { $0.provider != .email || !hasProvider }
      .map { UserIdentity($0, of: profile, in: app) }
    // The domain has no anonymous identity once the user has another login method. Clients show how
    // a user began.
    guard wasAnonymous, !found.contains(where: { $0.provider == .anonymous })
    else { return found }
    return [UserIdentity(anonymous: profile.id)] + found
  }

  private init(_ identity: IdentityInfo, of profile: Profile, in app: App) {
    let provider = Provider(of: identity.provider, in: app)
    switch provider {
    case .anonymous: self.init(anonymous: profile.id)
    case .customToken, .google, .apple, .facebook: self.init(identity.subject, provider)
    case .localUserpass:
      let isOwn = identity.provider.isAddress
      self.init(identity.id.text, provider, email: isOwn ? profile.email : identity.subject)
    case .apiKey: self.init(identity.id.text, provider)
    }
  }

  private init(_ id: String, _ provider: Provider, email: String? = nil) {
    self.id = id
    self.provider = provider
    self.email = email
  }

  /// Creates the anonymous identity in the form of App Services: an id and 24 meaningless letters.
  private init(anonymous user: UserID) {
    let letters = user.text.utf8.map { byte in
      UInt8(ascii: "a") + (byte >= UInt8(ascii: "a") ? byte - UInt8(ascii: "a") + 10 : byte & 15)
    }
    self.init("\(user)-\(String(decoding: letters, as: UTF8.self))", .anonymous)
  }

  func json(_ app: AppID) -> JSON {
    var json = JSONObject()
    json["id"] = .string(id)
    json["provider_type"] = .string(provider.rawValue)
    json["provider_id"] = .string(app.text)
    if let email { json["provider_data"] = ["email": .string(email)] }
    return .object(json)
  }

  /// Returns the profile's members under their App Services names, without missing ones.
  ///
  /// The claims of the issuers' last tokens replace names of the profile, as App Services reads
  /// them at each sign-in. They replace neither the address nor the picture of the user. realm-core
  /// accepts only strings.
  static func data(of profile: Profile, _ identities: [IdentityInfo], picture: String?) -> JSON {
    var data = JSONObject()
    func add(_ members: [(String, String?)]) {
      for (name, value) in members { if let value { data[name] = .string(value) } }
    }
    add([
      ("name", profile.name), ("first_name", profile.givenName), ("last_name", profile.familyName),
    ])
    for identity in identities {
      add(identity.claims.map { (Self.names[$0.key] ?? $0.key, $0.value.string) })
    }
    if let shown = data["picture"]?.string { add([("picture_url", shown)]) }
    add([("email", profile.email), ("picture", picture), ("picture_url", picture)])
    return .object(data)
  }

  /// The App Services names of members of the profile.
  private static let names = ["given_name": "first_name", "family_name": "last_name"]
}
