import Accounts
import Administration
import Documents
import JSON
import Runtime
import Sessions
import Tenancy

/// An identity of a user, with the provider and the id by which clients know it.
struct IdentityObject {
  let provider: String
  let id: String
  /// The identity itself; nil for a user without one.
  let identity: UserRecord.Identity?
  private let connection: String

  /// Returns the identities of a user, the primary one first; there is at least one, as at Auth0.
  static func all(of record: UserRecord) -> [IdentityObject] {
    let own = record.foreignID ?? ForeignIDs.id(of: record.profile.id)
    let all = record.identities.map { IdentityObject($0, of: own) }
    return all.isEmpty
      ? [IdentityObject("auth0", own, ClientSettings.Connection.password.auth0Name, nil)] : all
  }

  private init(_ identity: UserRecord.Identity, of own: String) {
    let known = identity.formerID ?? own
    switch identity.provider {
    case .password:
      self.init("auth0", known, ClientSettings.Connection.password.auth0Name, identity)
    case .email:
      self.init("email", known, ClientSettings.Connection.emailCode.auth0Name, identity)
    case .anonymous: self.init("anonymous", known, "anonymous", identity)
    case .apiKey, .issuer:
      let issuer = identity.issuer ?? identity.provider.text
      self.init(issuer, "|" + identity.subject, issuer, identity)
    }
  }

  /// `known` is the id of the user, whose provider is left out.
  private init(
    _ provider: String,
    _ known: String,
    _ connection: String,
    _ identity: UserRecord.Identity?
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

  /// Returns whether a client means this identity: by what is shown, or by its id before the link.
  func isNamed(_ provider: String, _ id: String) -> Bool {
    self.provider.hasSameBytes(as: provider) && self.id.hasSameBytes(as: id)
      || identity?.formerID?.hasSameBytes(as: "\(provider)|\(id)") == true
  }

  var json: JSON {
    var object = JSONObject()
    object["connection"] = .string(connection)
    object["provider"] = .string(provider)
    object["user_id"] = .string(id)
    object["isSocial"] = .bool(Self.social.contains(provider))
    if let identity, identity.profile.count > 0 {
      var profile = identity.profile
      profile["id"] = nil
      profile["foreign_id"] = nil
      object["profileData"] = .object(profile)
    }
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
