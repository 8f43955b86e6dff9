import Accounts
import Documents
package import EventLoop
import Encoding
import IdentitySubjects
package import JSON
package import Postgres
package import Runtime
package import Tenancy

/// The claims about a user, in ID tokens and at the endpoint `/userinfo`.
@EventLoop package enum StandardClaims {
  /// Reads the user of the request, as tokens describe it.
  ///
  /// - Parameters:
  ///   - hasVersions: whether to read the versions for the claim `ver`.
  ///   - context: the context of a request of the user.
  /// - Returns: the user.
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func user(
    withVersions hasVersions: Bool = false, _ context: RequestContext
  ) async throws(Failure) -> ClaimedUser {
    let user = try context.principal.user.orGone(context)
    return try await context.first(
      StandardClaimQueries.user, user, context.principal, hasVersions
    ).orGone(context)
  }

  /// Returns the claims for some scopes.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - scopes: the scopes of the token.
  ///   - client: the client, whose settings choose the form of times and additional claims.
  ///   - provider: this server as the client knows it.
  ///   - context: the context of a request of the user.
  /// - Returns: the claims.
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func members(
    of user: ClaimedUser, for scopes: [String], of client: Client, at provider: Provider,
    _ context: RequestContext
  ) async throws(Failure) -> JSONObject {
    let profile = user.profile
    var claims = try await mapped(client.settings.claims, of: user, at: provider, context)
    if scopes.contains(.profile) {
      add(user, client.settings.claimsProfile, provider, to: &claims)
    }
    if scopes.contains(.email), let email = profile.email {
      claims["email"] = .string(email)
      claims["email_verified"] = .bool(profile.isEmailVerified)
    }
    if scopes.contains(.phone), let phone = profile.phone {
      claims["phone_number"] = .string(phone)
      // No message has ever proven it.
      claims["phone_number_verified"] = false
    }
    return claims
  }

  /// Adds the claims of the scope `profile`.
  ///
  /// - Source: OpenID Connect Core section 5.1.
  private static func add(
    _ user: ClaimedUser, _ form: ClientSettings.ClaimsProfile, _ provider: Provider,
    to claims: inout JSONObject
  ) {
    let profile = user.profile
    claims["name"] = .string(profile.shownName)
    claims["given_name"] = profile.givenName.map(JSON.string)
    claims["family_name"] = profile.familyName.map(JSON.string)
    claims["nickname"] = .string(profile.shownNickname)
    claims["picture"] = .string(provider.picture(profile))
    switch form {
    case .oidc:
      claims["preferred_username"] = .string(profile.shownNickname)
      claims["locale"] = profile.locale.map(JSON.string)
      claims["zoneinfo"] = profile.zone.map(JSON.string)
      claims["updated_at"] = .number(JSONNumber(profile.updatedAt.seconds))
    case .auth0:
      claims["updated_at"] = .string(profile.updatedAt.milliseconds)
      if let url = user.pictureURL { claims["picture"] = .string(url) }
    }
  }

  /// Returns the claims that a map adds.
  package static func mapped(
    _ map: ClaimMap, of user: ClaimedUser, at provider: Provider, _ context: RequestContext
  ) async throws(Failure) -> JSONObject {
    guard !map.isEmpty else { return JSONObject() }
    let profile = user.profile
    let metadata =
      map.readsMetadata ? try await document(.metadata, of: profile.id, context) : .null
    let appMetadata =
      map.readsAppMetadata ? try await document(.appMetadata, of: profile.id, context) : .null
    var claims = JSONObject()
    for entry in map.entries {
      claims[entry.claim] =
        switch entry.source {
        case .profile(.picture): .string(provider.picture(profile))
        case .profile(let member): profile.value(of: member)
        case .metadata(let pointer): metadata.value(at: pointer)
        case .appMetadata(let pointer): appMetadata.value(at: pointer)
        case .constant(let value): value
        }
    }
    return claims
  }

  /// Reads a document without a check of scopes, since the operator has chosen the claims.
  private static func document(
    _ kind: DocumentKind, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> JSON {
    guard let stored = try await Documents.load(kind, of: user, context) else { return .null }
    let bytes = stored.body
    return try await context.calculate(on: bytes.count) { () throws(Failure) in
      try Documents.parsed(bytes)
    }
  }
}

extension Profile {
  fileprivate func value(of member: ClaimMap.ProfileMember) -> JSON? {
    switch member {
    case .name: name.map(JSON.string)
    case .givenName: givenName.map(JSON.string)
    case .familyName: familyName.map(JSON.string)
    case .nickname: nickname.map(JSON.string)
    case .email: email.map(JSON.string)
    case .emailVerified: email.map { _ in .bool(isEmailVerified) }
    case .phone: phone.map(JSON.string)
    case .locale: locale.map(JSON.string)
    case .zone: zone.map(JSON.string)
    // Only the provider knows its URL.
    case .picture: nil
    case .createdAt: .string(createdAt.text)
    case .updatedAt: .string(updatedAt.text)
    }
  }
}

/// A user as tokens describe it.
package struct ClaimedUser: RowDecodable {
  let profile: Profile
  /// The id with which the user came; nil for a user of this server.
  private let foreignID: String?
  /// A picture elsewhere, which a back end has set; nil for none.
  fileprivate let pictureURL: String?
  /// The versions of the user's parts; nil if they were not read.
  let versions: UserVersions?

  package init(from row: Row) throws(DatabaseError) {
    profile = try Profile(from: row)
    foreignID = row.text(ifAny: 16)
    pictureURL = row.text(ifAny: 17)
    versions = try UserVersions(from: row, at: 18)
  }

  /// Returns the `sub` for a client.
  package func subject(for client: Client) -> String {
    client.subject(of: profile.id, foreignID)
  }
}

package enum StandardClaimQueries {
  /// Returns one row if the session is live.
  ///
  /// - Parameter 3: whether to read versions.
  static let user = Statement<ClaimedUser, UserID, Principal, Bool>(
    "standard_claims.user",
    """
    select \(.profile), c.foreign_id, c.picture_url, \(.versions(of: "$1", if: "$3::boolean"))
    from users c where \(.isAuthorized)
    """)
}
