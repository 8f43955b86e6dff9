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
  ///
  /// Clients join a provider and an id with `|` to find the user again. So the primary identity has
  /// those of the user, unless another one does.
  static func all(of record: UserRecord) -> [IdentityObject] {
    let own = record.foreignID ?? ForeignIDs.id(of: record.profile.id)
    let provider = String(own.prefix { $0 != "|" })
    var all = record.identities.map { IdentityObject($0, of: own) }
    guard let first = all.first else {
      let connection = ClientSettings.Connection.password.auth0Name
      return [IdentityObject("auth0", own, connection, nil)]
    }
    if !all.contains(where: { "\($0.provider)|\($0.id)".hasSameBytes(as: own) }) {
      all[0] = IdentityObject(provider, own, first.connection, first.identity)
    }
    return all
  }

  private init(_ identity: UserRecord.Identity, of own: String) {
    let known = identity.formerID ?? own
    switch identity.provider {
    case .password, .linkedPassword:
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
    object["isSocial"] = .bool(Self.social.contains(provider))
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
