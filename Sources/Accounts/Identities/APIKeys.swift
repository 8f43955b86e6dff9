import Delivery
package import EventLoop
package import Postgres
import RateLimiting
package import Runtime
package import Sessions
import Tenancy

/// API keys: credentials that users create for their scripts.
///
/// Each key is also an identity, with the same id.
@EventLoop package enum APIKeys {
  /// A new key, which is shown only once.
  package struct Made: Sendable {
    package let id: APIKeyID
    package let key: String
  }

  /// Creates an API key.
  ///
  /// A key signs in without a second factor, so an app that requires one asks for it here.
  /// - Parameters:
  ///   - name: a label of 1 to 100 characters.
  ///   - isSingle: whether the name must be unique among the user's keys.
  ///   - user: the user.
  ///   - context: the context of the request.
  /// - Returns: the key.
  /// - Throws: `.invalid`, `.identityExists` if the name is taken, `.loginMethodDisabled`,
  ///   `.reauthenticationRequired` without a second factor that the app requires,
  ///   `.tooManyAPIKeys`, `.sessionEnded`, `.databaseUnavailable`.
  package static func make(
    _ name: String, isSingle: Bool = false, for user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Made {
    try context.requireOpen(.apiKey)
    if let fault = OperatorName.labelFault(in: name) { throw .invalid([fault]) }
    let id = APIKeyID()
    let key = Credential(.apiKey, of: user, part: id)
    let limit = context.app.accountSettings.apiKeysPerUser
    let master = context.keys.master
    try await RateLimits.countChange(of: user, context)
    try await context.transaction { transaction async throws(Failure) in
      // Serializes key creation of one user, for the limit and the unique name.
      try await Sessions.lockUser(user, in: transaction)
      guard try await Sessions.ofCaller(user, in: transaction).meetsSecondFactor else {
        throw context.reauthenticationRequired
      }
      if isSingle {
        let others = try await transaction.run(APIKeyQueries.named, user, name)
        guard others.isEmpty else { throw .identityExists }
      }
      let made = try await transaction.run(
        APIKeyQueries.make, user, id, name, key.hash(master), limit
      )
      guard !made.isEmpty else { throw .tooManyAPIKeys(limit: limit) }
      _ = transaction.send(
        CredentialRowQueries.addIdentity, user, IdentityID(trusted: id.text), context.app.id,
        .apiKey, id.text
      )
      try await Identities.finish(.apiKey, of: user, in: transaction)
    }
    return Made(id: id, key: key.text(master))
  }

  /// Returns the user's keys without their secrets.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func list(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [APIKeyInfo] {
    try await context.list(APIKeyQueries.list, user, context.principal).orGone(context)
  }

  /// Returns the key that created the session of the request; nil if no key did.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func opener(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> APIKeyID? {
    guard let session = context.principal.session else { return nil }
    let found = try await context.read(APIKeyQueries.opener, user, session)
    return found.first.map(APIKeyID.init(trusted:))
  }

  /// Disables a key and ends the sessions that it created, or enables the key again.
  ///
  /// - Throws: `.notFound`, `.sessionEnded`, `.databaseUnavailable`.
  package static func setDisabled(
    _ isDisabled: Bool, _ key: APIKeyID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await RateLimits.countChange(of: user, context)
    try await context.transaction { transaction async throws(Failure) in
      // A concurrent login with the key finishes first, or finds the key disabled.
      try await Sessions.lockUser(user, in: transaction)
      let found = try await transaction.run(
        APIKeyQueries.setDisabled, user, context.principal, key, isDisabled ? ServerTime() : nil
      ).first
      guard let found, found.isThere else { throw .notFound }
      guard found.isChanged else { return }
      let change: SecurityNotice = isDisabled ? .keyDisabled : .keyEnabled
      try await change.record(of: user, in: transaction)
      guard isDisabled else { return }
      let opener = IdentityID(trusted: key.text)
      try await Sessions.end(
        .opened(by: opener, sparing: nil), of: user, "api_key_disable", in: transaction)
    }
  }

  /// Logs in with an API key.
  ///
  /// - Throws: `.wrongCredentials`, `.loginMethodDisabled`, `.deviceUnknown`, `.deviceFull`,
  ///   `.databaseUnavailable`.
  package static func signIn(
    _ text: String, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let key = try await shown(text, context)
    return try await SignIn.complete(
      VerifiedCredential(of: key.owner, .apiKey(key.id)), as: style, context
    )
  }

  /// Authenticates an API key; a refused key is recorded in the audit log.
  ///
  /// It also refuses the keys of blocked users.
  /// - Throws: `.wrongCredentials`, `.loginMethodDisabled`, `.databaseUnavailable`.
  package static func shown(
    _ text: String, _ context: RequestContext
  ) async throws(Failure) -> (id: APIKeyID, owner: UserID) {
    do throws(Failure) {
      return try await use(text, context)
    } catch .wrongCredentials {
      // The key is forged, deleted or disabled, or its user is blocked.
      let shown = Credential(.apiKey, text, context.keys.master)
      try await RefusedLogin.record("api-key", of: shown?.owner(), context)
      throw .wrongCredentials
    }
  }

  /// Authenticates as `shown` does, and leaves the audit event to the calling code.
  static func use(
    _ text: String, _ context: RequestContext
  ) async throws(Failure) -> (id: APIKeyID, owner: UserID) {
    try context.requireOpen(.apiKey)
    // No rate limit: the MAC in the key rejects guesses without a database query.
    guard let key = Credential(.apiKey, text, context.keys.master) else {
      throw .wrongCredentials
    }
    let user: UserID = key.owner()
    let id: APIKeyID = key.part()
    let used = try await context.write(
      APIKeyQueries.use, user, id, key.hash(context.keys.master), context.app.id
    )
    guard !used.isEmpty else { throw .wrongCredentials }
    return (id, user)
  }
}

/// A key without its secret.
package struct APIKeyInfo: RowDecodable {
  package let id: APIKeyID
  package let name: String
  package let isDisabled: Bool
  package let createdAt: Timestamp
  package let lastUsedAt: Timestamp?

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    name = try row.text(1)
    isDisabled = try row.bool(2)
    createdAt = try row.time(3)
    lastUsedAt = try row.time(ifAny: 4)
  }
}

/// The result of disabling or enabling a key.
struct DisabledKey: RowDecodable {
  let isThere: Bool
  let isChanged: Bool

  init(from row: Row) throws(DatabaseError) {
    isThere = try row.bool(0)
    isChanged = try row.bool(1)
  }
}

package enum APIKeyQueries {
  /// Returns no row if the user has reached its limit of keys.
  static let make = Statement<String, UserID, APIKeyID, String, BinaryBytes, Int>(
    "api_keys.make",
    """
    insert into api_keys as n (user_id, key_id, name, key_hash)
    select u.user_id, $2, $3, $4
    from users u
    where u.user_id = $1 and (select count(*) from api_keys where user_id = $1) < $5::bigint
    returning n.key_id
    """)

  /// Returns the keys with a name, compared by bytes.
  static let named = Statement<String, UserID, String>(
    "api_keys.named",
    """
    select key_id from api_keys where user_id = $1 and name collate "C" = $2
    """)

  static let list = Statement<Found<APIKeyInfo>, UserID, Principal>(
    "api_keys.list",
    """
    select k.key_id, k.name, k.disabled_at is not null, k.created_at, k.last_used_at
    from users c left join api_keys k on k.user_id = $1
    where \(.isAuthorized)
    order by k.created_at, k.key_id
    """)

  static let opener = Statement<String, UserID, SessionID>(
    "api_keys.opener",
    """
    select key_id from sessions where user_id = $1 and session_id = $2 and key_id is not null
    """)

  static let setDisabled = Statement<
    DisabledKey, UserID, Principal, APIKeyID, ServerTime?
  >(
    "api_keys.set_disabled",
    """
    with c as (select user_id from users c where \(.isAuthorized)), changed as (
      update api_keys k set disabled_at = $4::timestamptz
      from c where k.user_id = $1 and k.key_id = $3
        and (k.disabled_at is null) <> ($4::timestamptz is null)
      returning 1
    )
    select exists (select 1 from api_keys k where k.user_id = $1 and k.key_id = $3),
      exists (select 1 from changed)
    from c
    """)

  static let use = Statement<String, UserID, APIKeyID, BinaryBytes, AppID>(
    "api_keys.use",
    """
    update api_keys k set last_used_at = now() from users u
    where k.user_id = $1 and k.key_id = $2 and k.key_hash = $3 and k.disabled_at is null
      and u.user_id = $1 and u.app_id = $4 and u.blocked_at is null
    returning k.user_id
    """)

  /// Deletes all keys of a user.
  static let removeAll = Statement<NoRow, UserID>(
    "api_keys.remove_all",
    """
    with keys as (delete from api_keys where user_id = $1)
    delete from identities where user_id = $1 and provider = 'api-key'
    """)
}

extension APIKeys {
  /// Returns an access token for a key, for a protocol that asks for one before each request.
  ///
  /// The key has one session for that. A new one for each token would end the user's other sessions.
  /// - Parameters:
  ///   - text: the key.
  ///   - user: the user who must own the key.
  ///   - style: the style of the session.
  ///   - context: the context of the request.
  /// - Returns: the token.
  /// - Throws: as `signIn`; `.wrongCredentials` also for a key of another user.
  package static func accessToken(
    by text: String, of user: UserID, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> String {
    let key = try await shown(text, context)
    guard key.owner == user else { throw .wrongCredentials }
    let credential = VerifiedCredential(of: user, .apiKey(key.id))
    if let standing = try await Sessions.standing(by: credential, as: style, context) {
      context.principal = standing
    } else {
      _ = try await SignIn.complete(credential, as: style, context)
    }
    return try await Sessions.accessToken(as: style, context)
  }
}
