package import EventLoop
package import Postgres
package import Runtime
package import Tenancy

/// A credential that was verified, and its user.
package struct VerifiedCredential: Sendable {
  package enum Kind: Sendable {
    case anonymous
    /// The stored hash of a password.
    case password(hash: String)
    /// The key of an address to which a code was mailed.
    case email(key: String)
    /// The subject at an issuer; the provider is `jwt:` and the issuer.
    case token(provider: IdentityProvider, subject: String)
    case apiKey(APIKeyID)
  }

  package let user: UserID
  let kind: Kind
  /// When the user authenticated at the issuer, in seconds since 1970; nil for now.
  package var authenticatedAt: Int?
  /// Whether the user is made in the transaction that creates the session.
  package var isOfNewUser = false

  package init(
    of user: UserID, _ kind: Kind, at authenticatedAt: Int? = nil, isOfNewUser: Bool = false
  ) {
    self.user = user
    self.kind = kind
    self.authenticatedAt = authenticatedAt
    self.isOfNewUser = isOfNewUser
  }

  /// Reads a credential that an authentication flow has kept.
  package init(
    of user: UserID, provider: IdentityProvider, evidence: String, at authenticatedAt: Int?
  ) {
    let kind: Kind =
      switch provider {
      case .anonymous: .anonymous
      case .password, .linkedPassword: .password(hash: evidence)
      case .email: .email(key: evidence)
      case .apiKey: .apiKey(APIKeyID(trusted: evidence))
      case .issuer: .token(provider: provider, subject: evidence)
      }
    self.init(of: user, kind, at: authenticatedAt)
  }

  /// The provider of the session.
  package var provider: IdentityProvider {
    switch kind {
    case .anonymous: .anonymous
    case .password: .password
    case .email: .email
    case .token(let provider, _): provider
    case .apiKey: .apiKey
    }
  }

  /// The stored form of the credential, by which it is checked again; nil for a guest.
  package var evidence: String? {
    switch kind {
    case .anonymous: nil
    case .password(let hash): hash
    case .email(let key): key
    case .token(_, let subject): subject
    case .apiKey(let id): id.text
    }
  }

  package var apiKey: APIKeyID? { if case .apiKey(let id) = kind { id } else { nil } }

  /// The authentication methods of the session.
  ///
  /// - Source: RFC 8176 section 2, for `pwd` and `otp`.
  package var methods: String {
    switch kind {
    case .anonymous: ""
    case .password: "pwd"
    case .email: "otp"
    case .token: "fed"
    case .apiKey: "key"
    }
  }

  /// Whether a sign-in by it asks for a second factor.
  package var takesSecondFactor: Bool {
    switch kind {
    case .anonymous, .apiKey: false
    case .password, .email, .token: true
    }
  }

  /// Sends the check that the credential is still valid, and that its user is not blocked.
  ///
  /// A request that revokes a credential locks the user first. So lock the user before this.
  /// - Returns: a function that waits, and throws `.wrongCredentials` if it is not valid any more.
  @EventLoop package func sendCheck(in transaction: Transaction) -> Completion {
    let sent =
      switch kind {
      case .anonymous: transaction.send(CredentialQueries.user, user)
      case .password(let hash): transaction.send(CredentialQueries.password, user, hash)
      case .email(let key): transaction.send(CredentialQueries.email, user, key)
      case .token(let provider, let subject):
        transaction.send(CredentialQueries.identity, user, provider, subject)
      case .apiKey(let id): transaction.send(CredentialQueries.apiKey, user, id)
      }
    return { () async throws(Failure) in try await sent.rows(undone: .wrongCredentials) }
  }
}

/// Each undoes the transaction if the credential is not valid any more.
package enum CredentialQueries {
  static let user = Statement<NoRow, UserID>(
    "credentials.user", "select require((select blocked_at is null from users where user_id = $1))"
  )

  static let password = Statement<NoRow, UserID, String>(
    "credentials.password",
    """
    select require((select blocked_at is null from users where user_id = $1)
      and (exists (select 1 from passwords where user_id = $1 and hash = $2)
        or exists (select 1 from identities where user_id = $1 and password_hash = $2)))
    """)

  static let email = Statement<NoRow, UserID, String>(
    "credentials.email",
    """
    select require((
      select blocked_at is null and email_key(email) = $2 from users where user_id = $1))
    """)

  static let identity = Statement<NoRow, UserID, IdentityProvider, String>(
    "credentials.identity",
    """
    select require((select blocked_at is null from users where user_id = $1)
      and exists (
        select 1 from identities where user_id = $1 and provider = $2 and subject = $3))
    """)

  static let apiKey = Statement<NoRow, UserID, APIKeyID>(
    "credentials.api_key",
    """
    select require((select blocked_at is null from users where user_id = $1)
      and exists (
        select 1 from api_keys where user_id = $1 and key_id = $2 and disabled_at is null))
    """)

  package static let all: [any PreparedStatement] = [user, password, email, identity, apiKey]
}

/// The rows of which a user's credentials consist, one statement for each table.
package enum CredentialRowQueries {
  /// Gives a subject at a provider to a user; undoes the transaction if another user has it.
  package static let claim = Statement<NoRow, AppID, IdentityProvider, String, UserID, IdentityID>(
    "credential_rows.claim",
    """
    insert into identity_subjects as s (app_id, provider, subject, user_id, identity_id)
    values ($1, $2, $3, $4, $5)
    on conflict (app_id, provider, subject) do update
    set user_id = case when require(s.user_id = excluded.user_id) then excluded.user_id end,
      identity_id = excluded.identity_id
    """)

  /// Gives a subject at a provider to a user; returns no row if it is taken.
  package static let claimIfFree = Statement<
    String, AppID, IdentityProvider, String, UserID, IdentityID
  >(
    "credential_rows.claim_if_free",
    """
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    values ($1, $2, $3, $4, $5)
    on conflict (app_id, provider, subject) do nothing returning subject
    """)

  /// Gives an address to a user; undoes the transaction if another user has it.
  ///
  /// A former address can return to its user, and goes to others when it is no longer reserved. A
  /// linked address must be unlinked first.
  /// `takeFreeAddress` has the same rule for a new user, and `ImportQueries.claims` for many users.
  /// - Parameter 5: the time of the transaction.
  /// - Parameter 6: whether a back end gives the address. It counts only for a new address: the user
  ///   may have registered the present one.
  package static let takeAddress = Statement<
    NoRow, AppID, String, UserID, IdentityID, ServerTime, Bool
  >(
    "credential_rows.take_address",
    """
    insert into identity_subjects as s (app_id, provider, subject, user_id, identity_id, assigned)
    values ($1, 'email', $2, $3, $4, $6)
    on conflict (app_id, provider, subject) do update
    set user_id = case
        when require(s.user_id = excluded.user_id and s.reserved_until is distinct from 'infinity'
          or s.reserved_until < $5::timestamptz)
        then excluded.user_id end,
      identity_id = excluded.identity_id, reserved_until = null,
      assigned = excluded.assigned and (
        s.assigned or s.user_id <> excluded.user_id or s.reserved_until is not null)
    """)

  /// Gives a linked address to a user, whose own address stays; undoes the transaction if it is
  /// taken.
  ///
  /// It is reserved for ever: nothing but a password finds its user.
  package static let linkAddress = Statement<NoRow, AppID, String, UserID, IdentityID>(
    "credential_rows.link_address",
    """
    insert into identity_subjects as s (
      app_id, provider, subject, user_id, identity_id, reserved_until)
    values ($1, 'email', $2, $3, $4, 'infinity')
    on conflict (app_id, provider, subject) do update
    set user_id = case when require(s.subject <> excluded.subject) then excluded.user_id end
    """)

  /// Gives an address to a new user if it is free; returns no row if another user has it.
  package static let takeFreeAddress = Statement<
    String, AppID, String, UserID, IdentityID, ServerTime
  >(
    "credential_rows.take_free_address",
    """
    insert into identity_subjects as s (app_id, provider, subject, user_id, identity_id)
    values ($1, 'email', $2, $3, $4)
    on conflict (app_id, provider, subject) do update
    set user_id = excluded.user_id, identity_id = excluded.identity_id, reserved_until = null,
      assigned = false
    where s.reserved_until < $5::timestamptz
    returning subject
    """)

  package static let addIdentity = Statement<
    NoRow, UserID, IdentityID, AppID, IdentityProvider, String
  >(
    "credential_rows.add_identity",
    """
    insert into identities (user_id, identity_id, app_id, provider, subject)
    values ($1, $2, $3, $4, $5)
    """)

  /// Writes the password of a user; returns no row if the user has one.
  package static let addPassword = Statement<String, UserID, String>(
    "credential_rows.add_password",
    """
    insert into passwords (user_id, hash) values ($1, $2)
    on conflict (user_id) do nothing returning user_id
    """)

  /// Makes a user with a new credential no guest, and raises its version.
  package static let settle = Statement<NoRow, UserID>(
    "credential_rows.settle",
    """
    with guest as (delete from identities where user_id = $1 and provider = 'anonymous')
    update users set anonymous = false, version = version + 1, updated_at = now()
    where user_id = $1
    """)

  package static let all: [any PreparedStatement] = [
    claim, claimIfFree, takeAddress, linkAddress, takeFreeAddress, addIdentity, addPassword, settle,
  ]
}
