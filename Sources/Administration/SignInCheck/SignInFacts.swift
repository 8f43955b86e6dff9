import Accounts
import IdentitySubjects
import JSON
import Postgres
import Runtime
import Tenancy

/// The facts of a user on which sign-ins depend.
struct SignInFacts: RowDecodable {
  let email: String?
  let isVerified: Bool
  let isAnonymous: Bool
  let blockedAt: Timestamp?
  let hasPassword: Bool
  let hasFactor: Bool
  let hasPasskey: Bool
  let hasAPIKey: Bool
  /// The keys of the address, and of linked ones.
  let keys: [String]
  let issuers: [IdentityProvider]
  /// The IP addresses of the newest sessions.
  let networks: [String]
  let devices: [DeviceID]

  init(from row: Row) throws(DatabaseError) {
    email = row.text(ifAny: 0)
    isVerified = try row.bool(2)
    isAnonymous = try row.bool(3)
    blockedAt = try row.time(ifAny: 4)
    let identities = try row.json(6).array ?? []
    let linked = identities.filter {
      $0["provider"]?.string == IdentityProvider.linkedPassword.text
    }
    hasPassword = try row.bool(5) || linked.contains { $0["password"] == true }
    hasFactor = try row.bool(7)
    hasPasskey = try row.bool(8)
    hasAPIKey = try row.bool(9)
    keys = [row.text(ifAny: 1)].compactMap(\.self) + linked.compactMap { $0["subject"]?.string }
    issuers = identities.compactMap { $0["provider"]?.string }.map { IdentityProvider($0) }
      .filter { $0.issuer != nil }
    networks = (try row.json(10).array ?? []).compactMap(\.string)
    devices = (try row.json(11).array ?? []).compactMap(\.string).map { DeviceID(trusted: $0) }
  }

  /// Returns the methods for which the user has a credential.
  func methods(in app: App) -> [SignInMethod] {
    var methods: [SignInMethod] = hasPassword ? [.password] : []
    if email != nil, app.accountSettings.isOpen(.emailCode) { methods.append(.emailCode) }
    if hasPasskey { methods.append(.passkey) }
    for issuer in issuers {
      let method = Self.method(of: issuer, in: app)
      if !methods.contains(method) { methods.append(method) }
    }
    if hasAPIKey { methods.append(.apiKey) }
    return methods
  }

  static func method(of issuer: IdentityProvider, in app: App) -> SignInMethod {
    issuer.connection(in: app).map(SignInMethod.connection) ?? .token
  }
}

/// The user of an address.
struct AddressHolder: RowDecodable {
  let user: UserID
  /// Until when the address is reserved for the user, who has another one; nil for a present address.
  let reservedUntil: Timestamp?

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    reservedUntil = try row.time(ifAny: 1)
  }
}

/// A sign-in, or one that failed.
struct SignInEvent: RowDecodable {
  let isSignIn: Bool
  let at: Timestamp
  let address: String?
  let provider: String?

  init(from row: Row) throws(DatabaseError) {
    isSignIn = try row.text(0) == "login"
    at = try row.time(1)
    address = row.text(ifAny: 2)
    provider = try row.json(3)["provider"]?.string
  }
}

/// The event of a deletion.
struct DeletionEvent: RowDecodable {
  let at: Timestamp
  let actor: String
  let detail: JSON

  init(from row: Row) throws(DatabaseError) {
    at = try row.time(0)
    actor = try row.text(1)
    detail = try row.json(2)
  }
}

/// A client, also a disabled one.
struct CheckedClient: RowDecodable {
  let client: Client
  let isDisabled: Bool

  init(from row: Row) throws(DatabaseError) {
    client = try Client(from: row)
    isDisabled = try row.bool(6)
  }
}

package enum SignInCheckQueries {
  /// Returns no row if the app has no such user.
  ///
  /// Served by the primary keys.
  /// - Parameter 3: the domain whose passkeys sign in.
  static let facts = Statement<SignInFacts, UserID, AppID, String>(
    "sign_in_check.facts",
    """
    select u.email, email_key(u.email), u.email_verified, u.anonymous, u.blocked_at,
      exists (select 1 from passwords p where p.user_id = $1 and p.hash <> '*'),
      (select coalesce(json_agg(json_build_object('provider', i.provider, 'subject', i.subject,
          'password', i.password_hash is not null) order by i.created_at, i.identity_id), '[]')
        from identities i where i.user_id = $1),
      exists (select 1 from second_factors f where f.user_id = $1 and f.confirmed_at is not null),
      exists (select 1 from passkeys k where k.user_id = $1 and k.rp_id = $3),
      exists (select 1 from api_keys a where a.user_id = $1 and a.disabled_at is null),
      (select coalesce(json_agg(distinct host(s.address)), '[]') from (
          select address from sessions where user_id = $1 and address is not null
          order by session_id desc limit 20) s),
      (select coalesce(json_agg(d.device_id), '[]') from (
          select device_id from device_accounts where user_id = $1 limit 20) d)
    from users u where u.user_id = $1 and u.app_id = $2
    """)

  /// Returns the newest 200 sign-ins, and those that failed, of the last day.
  ///
  /// Served by the primary key.
  static let events = Statement<SignInEvent, UserID, AppID>(
    "sign_in_check.events",
    """
    select action, at, host(address), detail from audit
    where user_id = $1 and app_id = $2 and action in ('login', 'login_failure')
      and event_id > lpad(to_hex(extract(epoch from now() - interval '1 day')::bigint), 8, '0')
    order by event_id desc limit 200
    """)

  /// Served by the primary key.
  static let deletion = Statement<DeletionEvent, UserID, AppID>(
    "sign_in_check.deletion",
    """
    select at, actor, detail from audit
    where user_id = $1 and app_id = $2 and action = 'user_delete'
    order by event_id desc limit 1
    """)

  /// Returns the user of an address; of a former one, also until when it is reserved.
  ///
  /// Served by the primary key.
  static let holder = Statement<AddressHolder, AppID, String>(
    "sign_in_check.holder",
    """
    select user_id, case when reserved_until < 'infinity' then reserved_until end
    from identity_subjects where app_id = $1 and provider = 'email' and subject = $2
    """)

  /// Returns until when the newest sign-up with an address waits.
  static let waiting = Statement<Timestamp, FlowPlace, AppID, String>(
    "sign_in_check.waiting",
    """
    select expires_at from authentication_flows
    where place = $1 and app_id = $2 and email_key = $3
      and purpose in ('register', 'sign_in', 'passwordless') and expires_at > now()
    order by expires_at desc limit 1
    """)

  /// Returns the first 500 users whose addresses begin with a text, of all shards.
  ///
  /// Served by `users_by_email`.
  static let similar = Statement<AddressOfUser, AppID, String>(
    "sign_in_check.similar",
    """
    select u.user_id, u.email, email_key(u.email) from users u
    where u.app_id = $1 and u.email is not null
      and email_key(u.email) collate "C" between $2 and $2 || repeat(chr(1114111), 256)
    order by email_key(u.email) collate "C" limit 500
    """)

  /// Served by the primary key.
  static let client = Statement<CheckedClient, ClientID, AppID>(
    "sign_in_check.client",
    """
    select \(.clientColumns), c.disabled_at is not null from clients c
    where c.client_id = $1 and c.app_id = $2
    """)
}
