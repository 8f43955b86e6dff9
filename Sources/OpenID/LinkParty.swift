import IdentitySubjects
import Tenancy
import JSON
import Postgres
import Runtime

/// A user of a link, with the identities that it signs in with.
struct LinkParty: RowDecodable {
  let isAnonymous: Bool
  let isBlocked: Bool
  let picture: String?
  let foreignID: String?
  let email: String?
  let isEmailVerified: Bool
  /// The key of the address; nil without one.
  let key: String?
  /// The hash of the password of the address; nil without one.
  let hash: String?
  /// The names of the profile.
  let names: JSONObject
  /// Whether one of its identities has a refresh token of a service.
  let hasTokens: Bool
  /// Oldest first; API keys and the identity of a guest are none.
  let identities: [Identity]

  /// The identity with the address; nil for a user who does not sign in with one.
  var address: Identity? { identities.first(where: \.provider.isAddress) }

  init(from row: Row) throws(DatabaseError) {
    isAnonymous = try row.bool(0)
    isBlocked = try row.bool(1)
    picture = row.text(ifAny: 2)
    foreignID = row.text(ifAny: 3)
    email = row.text(ifAny: 4)
    isEmailVerified = try row.bool(5)
    hash = row.text(ifAny: 6)
    names = try row.json(7).object ?? JSONObject()
    identities = (try row.json(8).array ?? []).compactMap(Identity.init)
    key = row.text(ifAny: 9)
    hasTokens = try row.bool(10)
  }

  struct Identity {
    let id: IdentityID
    let provider: IdentityProvider
    let subject: String
    /// The subject by which the identity belongs to one user of the app.
    let uniqueSubject: Subject
    let isProvedByReader: Bool
    /// The hash of the password of a linked address; nil for another identity.
    let hash: String?
    /// The profile that a link has stored, and the claims of the issuer's last token.
    let profile: JSONObject

    /// The user of the identity before the link; nil if it was none's.
    var formerUser: UserID? { profile["id"]?.string.flatMap { UserID($0) } }

    init?(_ json: JSON) {
      guard let id = json["id"]?.string.flatMap({ IdentityID($0) }),
        let provider = json["provider"]?.string.map({ IdentityProvider($0) }),
        let subject = json["subject"]?.string,
        let uniqueSubject = Subject(ofIdentityAt: provider, subject)
      else { return nil }
      self.id = id
      (self.provider, self.subject, self.uniqueSubject) = (provider, subject, uniqueSubject)
      isProvedByReader = json["verified_via_mail_only"]?.bool ?? false
      hash = json["password_hash"]?.string
      profile = json["profile"]?.object ?? JSONObject()
    }

    /// Returns the row of the identity for another user.
    ///
    /// - Parameters:
    ///   - party: the user who had it.
    ///   - user: that user's id.
    ///   - identity: the new id of the identity.
    ///   - provider: the new provider of the identity.
    /// - Returns: the row.
    func row(
      of party: LinkParty, _ user: UserID, as identity: IdentityID, _ provider: IdentityProvider
    ) -> JSON {
      // The claims of the issuer's last token are there before a link, too.
      let isLinked = profile.keys.contains { $0 != "claims" }
      var kept = party.names
      kept["claims"] = profile["claims"]
      kept["id"] = .string(user.text)
      kept["foreign_id"] = party.foreignID.map(JSON.string)
      kept["email"] = party.email.map(JSON.string)
      kept["email_verified"] = party.email.map { _ in .bool(party.isEmailVerified) }
      return [
        "id": .string(identity.text), "provider": .string(provider.text),
        "subject": .string(subject), "verified_via_mail_only": .bool(isProvedByReader),
        "profile": .object(isLinked ? profile : kept),
        "password_hash": (provider == .linkedPassword ? hash ?? party.hash : nil)
          .map(JSON.string) ?? .null,
      ]
    }

    /// Returns the row of the user who has the identity after it is unlinked.
    ///
    /// - Parameter party: the user who had it.
    /// - Returns: the row.
    func userRow(of party: LinkParty) -> JSON {
      var row = JSONObject()
      for name in ["name", "given_name", "family_name", "nickname", "foreign_id"] {
        row[name] = profile[name]
      }
      if provider.isAddress {
        row["email"] = party.email.map(JSON.string)
        row["email_verified"] = .bool(party.isEmailVerified)
        row["hash"] = party.hash.map(JSON.string)
      } else if let hash {
        row["email"] = profile["email"] ?? .string(subject)
        row["email_verified"] = true
        row["hash"] = .string(hash)
      }
      return .object(row)
    }
  }
}

package enum UserLinkQueries {
  /// Returns the user of a subject at an issuer, which is named as the operator or the issuer does.
  ///
  /// Served by the primary keys.
  static let issued = Statement<String, AppID, String, String>(
    "user_links.issued",
    """
    select s.user_id
    from issuers i join identity_subjects s on s.app_id = i.app_id and s.subject = $3
      and s.provider = 'jwt:' || i.issuer
    where i.app_id = $1 and (i.name = $2 or i.issuer = $2)
    limit 1
    """)

  /// Returns the users of a subject at any issuer of an app.
  ///
  /// Served by the primary keys.
  static let anyIssued = Statement<String, AppID, String>(
    "user_links.any_issued",
    """
    select s.user_id
    from issuers i join identity_subjects s on s.app_id = i.app_id and s.subject = $2
      and s.provider = 'jwt:' || i.issuer
    where i.app_id = $1
    """)

  static let party = Statement<LinkParty, UserID, AppID>(
    "user_links.party",
    """
    select u.anonymous, u.blocked_at is not null, u.picture, u.foreign_id, u.email,
      u.email_verified, (select p.hash from passwords p where p.user_id = $1),
      jsonb_strip_nulls(jsonb_build_object('name', u.name, 'given_name', u.given_name,
        'family_name', u.family_name, 'nickname', u.nickname)),
      (select coalesce(jsonb_agg(jsonb_build_object('id', i.identity_id, 'provider', i.provider,
          'subject', i.subject, 'verified_via_mail_only', i.verified_via_mail_only, 'profile', i.profile,
          'password_hash', i.password_hash)
          order by i.created_at, i.identity_id), '[]')
        from identities i
        where i.user_id = $1 and i.provider not in ('anonymous', 'api-key', 'passkey')),
      email_key(u.email),
      (select count(*) from identity_tokens t where t.user_id = $1 and not t.is_due) > 0
    from users u where u.user_id = $1 and u.app_id = $2
    """)

  /// Returns one row if a session is live and has authenticated its user in that time.
  static let fresh = Statement<String, UserID, String, Duration>(
    "user_links.fresh",
    """
    select s.session_id
    from users c join sessions s on s.user_id = $1 and s.session_id = $2
    where s.authenticated_at > now() - $3::interval and \(.isAuthorized)
    """)

  static let setAddress = Statement<NoRow, UserID, String, Bool>(
    "user_links.set_address", "update users set email = $2, email_verified = $3 where user_id = $1"
  )

  /// Writes identities, whose former user was deleted before.
  ///
  /// - Parameter 4: the time of the transaction.
  static let adopt = Statement<NoRow, UserID, AppID, TextBytes, ServerTime>(
    "user_links.adopt",
    """
    insert into identities (
      user_id, identity_id, app_id, provider, subject, verified_via_mail_only, profile,
      password_hash, created_at)
    select u.user_id, e.row ->> 'id', $2, e.row ->> 'provider', e.row ->> 'subject',
      (e.row ->> 'verified_via_mail_only')::boolean, e.row -> 'profile', e.row ->> 'password_hash',
      $4::timestamptz + e.place * interval '1 microsecond'
    from users u cross join jsonb_array_elements($3::jsonb) with ordinality as e (row, place)
    where u.user_id = $1
    """)

  static let count = Statement<NoRow, UserID>(
    "user_links.count",
    "update users set version = version + 1, updated_at = now() where user_id = $1"
  )

  /// Returns one row if a user has the id.
  static let known = Statement<String, UserID>(
    "user_links.known", "select user_id from users where user_id = $1"
  )

  /// Creates the user of an identity.
  ///
  /// - Parameter 4: the id that clients knew, if it is free.
  static let create = Statement<NoRow, UserID, AppID, TextBytes, String?>(
    "user_links.create",
    """
    insert into users (user_id, app_id, foreign_id, anonymous, email, email_verified, name,
      given_name, family_name, nickname)
    values ($1, $2, $4, false, $3::jsonb ->> 'email',
      coalesce(($3::jsonb ->> 'email_verified')::boolean, false), $3::jsonb ->> 'name',
      $3::jsonb ->> 'given_name', $3::jsonb ->> 'family_name', $3::jsonb ->> 'nickname')
    """)

  static let addIdentity = Statement<
    NoRow, UserID, AppID, IdentityID, IdentityProvider, String, Bool
  >(
    "user_links.add_identity",
    """
    insert into identities (user_id, identity_id, app_id, provider, subject, verified_via_mail_only)
    values ($1, $3, $2, $4, $5, $6)
    """)
}
