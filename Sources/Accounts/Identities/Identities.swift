import Delivery
package import EventLoop
import IdentitySubjects
package import JSON
package import Postgres
import RateLimiting
package import Runtime
package import Sessions
package import Tenancy

/// Lists, links and unlinks the identities of users.
@EventLoop package enum Identities {
  /// The most accounts at issuers that a user can link.
  nonisolated static let mostOfIssuers = 10

  /// Returns the user's identities, oldest first.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func list(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [IdentityInfo] {
    try await context.list(IdentitiesQueries.list, user, context.principal).orGone(context)
  }

  /// Adds the same read to a batch; it throws as `list` does.
  package static func addList(
    of user: UserID, to batch: inout ReadBatch, _ context: RequestContext
  ) -> BatchRead<[IdentityInfo]> {
    let place = batch.add(IdentitiesQueries.list, user, context.principal)
    return { (results) throws(Failure) in
      try Found<IdentityInfo>.items(results.rows(place)).orGone(context)
    }
  }

  /// Links credentials to the user of the session, and replaces the session by a new one.
  ///
  /// An attacker may have copied the tokens of the old one. A guest has passed no second factor: if
  /// the app requires one, the link ends the session, and begins the second step of a sign-in.
  ///
  /// `write` writes the credential. It returns the credential, or nil if the new session keeps that
  /// of the old one, and whether it is new.
  /// - Returns: the new session.
  /// - Throws: `.additionalFactorRequired` (the identity is linked), errors of `write` and of `renew`.
  package static func link(
    _ provider: IdentityProvider, to user: UserID, as style: SessionStyle,
    _ context: RequestContext,
    _ write: @EventLoop (Transaction) async throws(Failure) -> (VerifiedCredential?, isNew: Bool)
  ) async throws(Failure) -> OpenSession {
    try await RateLimits.countChange(of: user, context)
    let live = try await context.transaction {
      transaction async throws(Failure) -> Result<LiveSession, Failure> in
      let credential = try await link(provider, to: user, in: transaction, write)
      if let credential, SecondFactorFlow.mayFollow(credential, in: transaction),
        try await Sessions.ofCaller(user, in: transaction).provider == .anonymous,
        let enrolled = SecondFactorFlow.sendIsEnrolled(after: credential, in: transaction),
        let secondStep = try await SecondFactorFlow.begin(
          after: credential, enrolled, in: transaction
        )
      {
        try await Sessions.end(.all, of: user, "link", in: transaction)
        return .failure(secondStep)
      }
      return .success(
        try await Sessions.renew(
          user, by: credential, secondFactor: credential?.secondFactor ?? "", as: style, "link",
          in: transaction)
      )
    }.get()
    return OpenSession(live, of: user, as: style, context)
  }

  /// Links credentials to the user of the session, which stays, since its client accepts no other.
  ///
  /// - Throws: as `link`; `.reauthenticationRequired` if the app requires a second factor, and the
  ///   session has had none.
  package static func linkKeepingSession(
    _ provider: IdentityProvider, to user: UserID, _ context: RequestContext,
    _ write: @EventLoop (Transaction) async throws(Failure) -> (VerifiedCredential?, isNew: Bool)
  ) async throws(Failure) {
    try await RateLimits.countChange(of: user, context)
    try await context.transaction { transaction async throws(Failure) in
      _ = try await link(provider, to: user, in: transaction, write)
      // A guest, and a session from before the app has required a second factor, have passed none.
      guard try await Sessions.ofCaller(user, in: transaction).meetsSecondFactor else {
        throw context.reauthenticationRequired
      }
    }
  }

  /// Links credentials to the user of the session: the part that all links share.
  ///
  /// The first link of a guest revokes the guest's credentials. `write` writes the credential, and
  /// returns a value and whether the credential is new.
  static func link<Value>(
    _ provider: IdentityProvider, to user: UserID, in transaction: Transaction,
    _ write: @EventLoop (Transaction) async throws(Failure) -> (Value, isNew: Bool)
  ) async throws(Failure) -> Value {
    try await Sessions.lockUser(user, in: transaction)
    try await requireNoRestore(of: user, in: transaction)
    try await revokeGuestCredentials(of: user, in: transaction)
    let (value, isNew) = try await write(transaction)
    if isNew { try await finish(provider, of: user, in: transaction) }
    return value
  }

  /// Makes a guest who has got an identity a permanent user, and records and mails the identity.
  package static func finish(
    _ provider: IdentityProvider, of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    _ = transaction.send(CredentialRowQueries.settle, user)
    try await SecurityNotice.linked(provider).record(of: user, in: transaction)
  }

  /// Checks that no removed address of a user without another can be restored.
  ///
  /// Until then, no credential can be linked. A restore hands over the user with all stored data.
  /// Otherwise an attacker could link the address of another person, wait until that person stores
  /// data, and restore. The restore link cannot be revoked instead: a thief would revoke the owner's.
  /// A user who has an address can change it meanwhile, because the code verifies the new address.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - isRemoved: whether the transaction deletes the user, and with it the restore of a user who
  ///     has another address.
  ///   - transaction: the transaction that has locked the user.
  /// - Throws: `.emailRestorePending`, `.databaseUnavailable`.
  package static func requireNoRestore(
    of user: UserID, removed isRemoved: Bool = false, in transaction: Transaction
  ) async throws(Failure) {
    if let end = try await transaction.run(IdentitiesQueries.restoreEnd, user, isRemoved).first {
      throw .emailRestorePending(until: end)
    }
  }

  /// Checks the same before a transaction, so that no mail is sent in vain.
  static func requireNoRestore(of user: UserID, _ context: RequestContext) async throws(Failure) {
    if let end = try await context.read(IdentitiesQueries.restoreEnd, user, false).first {
      throw .emailRestorePending(until: end)
    }
  }

  /// Links the identity of an issuer's token to the user, unless the user already has it.
  ///
  /// - Parameters:
  ///   - token: the token.
  ///   - nonce: as in `ExternalTokens.identity`.
  ///   - isAccepted: whether the route accepts identities of a provider.
  ///   - user: the user.
  ///   - style: the protocol of the new session; nil if the client cannot accept one, which keeps
  ///     its session.
  ///   - context: the context of the request.
  /// - Returns: the new session.
  /// - Throws: `.identityTaken` if another user has the identity, `.emailRestorePending`,
  ///   `.invalidExternalToken`, `.additionalFactorRequired`, `.loginMethodDisabled`,
  ///   `.sessionEnded`, `.databaseUnavailable`.
  @discardableResult
  package static func linkToken(
    _ token: String, for nonce: String? = nil,
    accepting isAccepted: (IdentityProvider) -> Bool = { _ in true },
    to user: UserID, as style: SessionStyle?, _ context: RequestContext
  ) async throws(Failure) -> OpenSession? {
    try context.requireOpen(.jwt)
    try await context.requireSession(of: user)
    let external = try await TokenLogin.identity(
      of: token, for: nonce, accepting: isAccepted, shownBy: user, context
    )
    return try await link(external, to: user, as: style, context)
  }

  /// Links a verified identity to the user, unless the user already has it.
  ///
  /// - Throws: as `linkToken`.
  @discardableResult
  package static func link(
    _ external: ExternalTokens.Identity, to user: UserID, as style: SessionStyle?,
    _ context: RequestContext
  ) async throws(Failure) -> OpenSession? {
    @EventLoop func write(
      _ transaction: Transaction
    ) async throws(Failure) -> (VerifiedCredential?, isNew: Bool) {
      let credential = external.credential(of: user)
      let isGuest = try await transaction.run(IdentitiesQueries.isNoGuest, user).isEmpty
      if try await !external.add(to: user, in: transaction) {
        // Not a first sign-in but a reauthentication, which only `auth_time` proves.
        return (external.authenticatedAt == nil ? nil : credential, isNew: false)
      }
      // A session that has proved more than the new identity does keeps its own credential.
      return (isGuest || external.signedInAt != 0 ? credential : nil, isNew: true)
    }
    guard let style else {
      try await context.transaction { transaction async throws(Failure) in
        _ = try await link(external.provider, to: user, in: transaction, write)
      }
      return nil
    }
    return try await link(external.provider, to: user, as: style, context, write)
  }

  /// Revokes what a guest had before the first link: API keys, other sessions, and other devices.
  ///
  /// The session of the request and its device stay. Another person may have used the guest before,
  /// in the same browser, and created an API key. A session of such a key becomes one of the guest.
  static func revokeGuestCredentials(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    guard try await transaction.run(IdentitiesQueries.isNoGuest, user).isEmpty else { return }
    let session = transaction.principal.session
    try await Sessions.revokeCredentials(of: user, in: transaction)
    _ = transaction.send(IdentitiesQueries.forgetKey, user, session)
    try await Sessions.end(.others(than: session), of: user, "link", in: transaction)
  }

  /// Unlinks an identity of the user, and ends the other sessions that it signed in.
  ///
  /// A user who began as a guest becomes one again without its last API key.
  /// - Throws: `.notFound`, `.lastIdentity` if the user has no other login method,
  ///   `.sessionEnded`, `.databaseUnavailable`.
  package static func unlink(
    _ identity: IdentityID, from user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await RateLimits.countChange(of: user, context)
    try await context.transaction { transaction async throws(Failure) in
      // Two concurrent requests must not remove the last two identities.
      try await Sessions.lockUser(user, in: transaction)
      let found = try await transaction.run(IdentitiesQueries.others, user, identity)
      guard let found = found.first else { throw .notFound }
      if found.others == 0 {
        // A guest whose only credential was an API key still has its session.
        guard found.provider == .apiKey,
          let app = try await transaction.run(UserOriginQueries.comeBack, user).first
        else { throw .lastIdentity }
        _ = transaction.send(
          CredentialRowQueries.addIdentity, user, IdentityID(), app, .anonymous, user.text
        )
      }
      // The identity of an issuer can have the address of the user too.
      let isAddress =
        if found.provider.isAddress { true } else {
          try await Subjects.names(found.address, identity, of: user, in: transaction)
        }
      try await SecurityNotice.unlinked(found.provider)
        .record(of: user, removesAddress: isAddress, in: transaction)
      if let subject = found.subject, !found.provider.isAddress {
        Subjects.release([subject], of: user, in: transaction)
      }
      if isAddress, let address = found.address {
        let isReserved = found.isVerified
        Subjects.release(email: address, reserved: isReserved, of: user, in: transaction)
      }
      _ = transaction.send(IdentitiesQueries.unlink, user, identity, isAddress)
      if isAddress { _ = transaction.send(IdentitiesQueries.removePassword, user) }
      let own = context.principal.session
      let (ended, reason): (Sessions.Ending, String) =
        switch found.provider {
        case .apiKey: (.opened(by: identity, sparing: nil), "api_key_delete")
        case .passkey: (.opened(by: identity, sparing: own), "unlink")
        default: (.signedIn(by: found.provider, sparing: own), "unlink")
        }
      try await Sessions.end(ended, of: user, reason, in: transaction)
    }
  }
}

/// An identity of a user: an address, a subject at an issuer, an API key or a passkey.
package struct IdentityInfo: RowDecodable {
  package let id: IdentityID
  package let provider: IdentityProvider
  package let subject: String
  /// Whether the address is verified; true for an identity of another kind.
  package let isVerified: Bool
  package let createdAt: Timestamp
  /// The claims of the last token of its issuer, as texts; see `IdentityClaims`.
  package let claims: JSONObject

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    provider = IdentityProvider(try row.text(1))
    subject = try row.text(2)
    isVerified = try row.bool(3)
    createdAt = try row.time(4)
    claims = row.isNull(5) ? JSONObject() : try row.json(5).object ?? JSONObject()
  }
}

/// An identity to be unlinked.
struct IdentityToUnlink: RowDecodable {
  let provider: IdentityProvider
  /// Nil for an API key.
  let subject: Subject?
  /// The number of other credentials of the user.
  let others: Int
  /// The key of the address of the user; nil without one.
  let address: String?
  let isVerified: Bool

  init(from row: Row) throws(DatabaseError) {
    provider = IdentityProvider(try row.text(0))
    subject = Subject(ofIdentityAt: provider, try row.text(1))
    others = try row.int(2)
    address = row.text(ifAny: 3)
    isVerified = try row.bool(4)
  }
}

extension SQL {
  /// The new value of a name of the user `c`, which stays if the identity `i` has not set it.
  fileprivate static func refreshed(_ name: SQL) -> SQL {
    """
    case when $4::jsonb ? '\(name)'
      and c.\(name) is not distinct from i.profile -> 'claims' ->> '\(name)'
      then $4::jsonb ->> '\(name)' else c.\(name) end
    """
  }
}

package enum IdentitiesQueries {
  /// Returns at least one row if the session is live.
  static let list = Statement<Found<IdentityInfo>, UserID, Principal>(
    "identities.list",
    """
    select i.identity_id, i.provider, i.subject,
      i.provider not in ('password', 'email') or c.email_verified, i.created_at,
      i.profile -> 'claims'
    from users c left join identities i on i.user_id = $1
    where \(.isAuthorized)
    order by i.created_at, i.identity_id
    """)

  /// Keeps the claims of a token with its identity, and removes those whose value is null.
  ///
  /// Others stay, such as the address that an import stored.
  static let keepClaims = Statement<NoRow, UserID, IdentityProvider, String, TextBytes>(
    "identities.keep_claims",
    """
    update identities set profile = jsonb_set(profile, '{claims}',
      jsonb_strip_nulls(coalesce(profile -> 'claims', '{}') || $4::jsonb))
    where user_id = $1 and provider = $2 and subject = $3
      and jsonb_strip_nulls(coalesce(profile -> 'claims', '{}') || $4::jsonb)
        <> coalesce(profile -> 'claims', '{}')
    """)

  /// Sets the names of a user that are still those of the identity's last sign-in.
  ///
  /// Returns a row if one has changed.
  /// - Parameter 4: the new names, in an object.
  static let refreshNames = Statement<UserID, UserID, IdentityProvider, String, TextBytes>(
    "identities.refresh_names",
    """
    update users c set name = \(.refreshed("name")), given_name = \(.refreshed("given_name")),
      family_name = \(.refreshed("family_name")), nickname = \(.refreshed("nickname")),
      version = c.version + 1, updated_at = now()
    from identities i
    where c.user_id = $1 and i.user_id = $1 and i.provider = $2 and i.subject = $3
      and (c.name, c.given_name, c.family_name, c.nickname) is distinct from (
        \(.refreshed("name")), \(.refreshed("given_name")), \(.refreshed("family_name")),
        \(.refreshed("nickname")))
    returning c.user_id
    """)

  /// Sets the address of a user; the same address stays verified if it was.
  ///
  /// - Parameter 3: the key of the address.
  static let setAddress = Statement<NoRow, UserID, String, String>(
    "identities.set_address",
    """
    update users set email = btrim($2),
      email_verified = email_verified and email_key(email) is not distinct from $3
    where user_id = $1
    """)

  /// Counts the identities of a user at issuers.
  static let countOfIssuers = Statement<Int, UserID>(
    "identities.count_of_issuers",
    """
    select count(*) from identities
    where user_id = $1 and provider not in (
      'anonymous', 'password', 'linked-password', 'email', 'api-key', 'passkey')
    """)

  /// Returns until when a user can restore an address; no row if it cannot.
  ///
  /// - Parameter 2: whether the restore counts although the user has another address.
  static let restoreEnd = Statement<Timestamp, UserID, Bool>(
    "identities.restore_end",
    """
    select max(t.expires_at) from mail_tokens t
    where t.user_id = $1 and t.purpose = 'restore' and t.expires_at > now()
      and ($2::boolean or not exists (
        select 1 from identities i
        where i.user_id = $1 and i.provider in ('password', 'email')))
    having count(*) > 0
    """)

  /// Returns one row if the user has more than what a guest can have.
  package static let isNoGuest = Statement<String, UserID>(
    "identities.is_no_guest",
    """
    select identity_id from identities
    where user_id = $1 and provider not in ('anonymous', 'api-key') limit 1
    """)

  /// Makes the session of an API key that was revoked a session of a guest.
  static let forgetKey = Statement<NoRow, UserID, SessionID?>(
    "identities.forget_key",
    """
    update sessions set provider = 'anonymous', key_id = null
    where user_id = $1 and session_id = $2 and provider = 'api-key'
    """)

  /// Returns the number of other credentials of the user; no row if it has no such identity.
  static let others = Statement<IdentityToUnlink, UserID, IdentityID>(
    "identities.others",
    """
    select i.provider, i.subject, (select count(*) from identities o
      where o.user_id = $1 and o.identity_id <> i.identity_id and o.provider <> 'anonymous'),
      email_key(u.email), u.email_verified
    from identities i join users u on u.user_id = $1
    where i.user_id = $1 and i.identity_id = $2
    """)

  /// Deletes an identity with its credential.
  ///
  /// - Parameter 3: whether the address of the user goes with it.
  package static let unlink = Statement<NoRow, UserID, IdentityID, Bool>(
    "identities.unlink",
    """
    with gone as (
      delete from identities where user_id = $1 and identity_id = $2
    ), key as (
      delete from api_keys where user_id = $1 and key_id = $2
    ), passkey as (
      delete from passkeys where user_id = $1 and passkey_id = $2
    ), tokens as (
      update identity_tokens set is_due = true where user_id = $1 and identity_id = $2
    )
    update users set version = version + 1, updated_at = now(),
      email = case when not $3::boolean then email end,
      email_verified = email_verified and not $3::boolean
    where user_id = $1
    """)

  /// Deletes the password and the mailed tokens of a user without an address.
  ///
  /// Former addresses can still be restored.
  package static let removePassword = Statement<NoRow, UserID>(
    "identities.remove_password",
    """
    with password as (delete from passwords where user_id = $1)
    delete from mail_tokens where user_id = $1 and purpose <> 'restore'
    """)
}

extension Failure {
  package static let identityTaken = Failure("identity_taken", .conflict)
    .titled("Another user already has this identity.")
    .remedied("Sign in with that identity, or unlink it from the other user first.")
  /// The user already has an identity of that kind, or an API key with that name.
  package static let identityExists = Failure("identity_exists", .conflict)
    .titled("The user already has an identity of this kind.")
    .remedied(
      "Unlink the existing identity first, or change the password or the address. If the user "
        + "has only signed in with codes, set a password with POST /v1/password/reset-request."
    )
  package static let emailRestorePending = Failure("email_restore_pending", .conflict)
    .titled("The previous email address can still be restored.")
    .remedied(
      "Wait until the time that `until` states. Or restore the address with POST /v1/email/restore and the "
        + "token from its email, then change it with POST /v1/me/email."
    )
  package static let tooManyIdentities = Failure("identity_limit", .conflict)
    .titled("The user has the maximum number of accounts at issuers.")
    .remedied("Unlink one that is no longer used.")
  package static let lastIdentity = Failure("last_identity", .conflict)
    .titled("The last login method cannot be removed.")
    .remedied("Link another login method first, or delete the user.")
  package static let tooManyAPIKeys = Failure("api_key_limit", .conflict)
    .titled("The user has the maximum number of API keys.")
    .remedied("Delete an API key, or raise the app's api_keys_per_user.")

  /// Returns the error for an address that can be restored until a time.
  package static func emailRestorePending(until end: Timestamp) -> Failure {
    .emailRestorePending(
      "The token that was mailed to that address restores it until \(end.text).",
      members: [("until", .string(end.text))]
    )
  }
}
