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
    /// A passkey, whose authenticator has verified the user.
    case passkey(IdentityID)
  }

  package let user: UserID
  let kind: Kind
  /// When the user authenticated at the issuer, in seconds since 1970; nil for now.
  package var authenticatedAt: Int?
  /// The session at the issuer, by which its sign-out ends the session here; nil if unknown.
  package var issuerSession: String?
  /// The key of the address whose mail the user has just read, for this sign-in; nil for none.
  package var readAddress: String?
  /// Whether the user is made in the transaction that creates the session.
  package var isOfNewUser = false

  package init(
    of user: UserID, _ kind: Kind, at authenticatedAt: Int? = nil, isOfNewUser: Bool = false
  ) {
    self.user = user
    self.kind = kind
    self.authenticatedAt = authenticatedAt
    self.isOfNewUser = isOfNewUser
    if case .email(let key) = kind { readAddress = key }
  }

  /// Reads a credential that an authentication flow has kept.
  package init(
    of user: UserID, provider: IdentityProvider, evidence: String, at authenticatedAt: Int?,
    issuerSession: String?, readAddress: String?
  ) {
    let kind: Kind =
      switch provider {
      case .anonymous: .anonymous
      case .password, .linkedPassword: .password(hash: evidence)
      case .email: .email(key: evidence)
      case .apiKey: .apiKey(APIKeyID(trusted: evidence))
      case .passkey: .passkey(IdentityID(trusted: evidence))
      case .issuer: .token(provider: provider, subject: evidence)
      }
    self.init(of: user, kind, at: authenticatedAt)
    self.issuerSession = issuerSession
    self.readAddress = readAddress
  }

  /// The provider of the session.
  package var provider: IdentityProvider {
    switch kind {
    case .anonymous: .anonymous
    case .password: .password
    case .email: .email
    case .token(let provider, _): provider
    case .apiKey: .apiKey
    case .passkey: .passkey
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
    case .passkey(let id): id.text
    }
  }

  package var apiKey: APIKeyID? { if case .apiKey(let id) = kind { id } else { nil } }

  /// The identity whose sessions end with it, an API key or a passkey; nil for another credential.
  package var opener: IdentityID? {
    switch kind {
    case .apiKey(let id): IdentityID(trusted: id.text)
    case .passkey(let id): id
    case .anonymous, .password, .email, .token: nil
    }
  }

  /// The authentication methods of the session.
  ///
  /// A passkey proves possession of a key and the user's verification, so it is two factors.
  /// - Source: RFC 8176 section 2, except `fed` and `key`.
  package var methods: String {
    switch kind {
    case .anonymous: ""
    case .password: "pwd"
    case .email: "otp"
    case .token: "fed"
    case .apiKey: "key"
    case .passkey: "pop user mfa"
    }
  }

  /// The methods of a second factor that it adds to a session; empty for others.
  package var secondFactor: String { if case .passkey = kind { methods } else { "" } }

  /// Whether a sign-in by it asks for a second factor.
  package var takesSecondFactor: Bool {
    switch kind {
    case .anonymous, .apiKey, .passkey: false
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
      case .passkey(let id): transaction.send(CredentialQueries.passkey, user, id)
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

  static let passkey = Statement<NoRow, UserID, IdentityID>(
    "credentials.passkey",
    """
    select require((select blocked_at is null from users where user_id = $1)
      and exists (select 1 from passkeys where user_id = $1 and passkey_id = $2))
    """)

  /// Counts the passkeys of a user that were made for a domain.
  package static let passkeyCount = Statement<Int, UserID, String>(
    "credentials.passkey_count",
    "select count(*) from passkeys where user_id = $1 and rp_id = $2"
  )
}
