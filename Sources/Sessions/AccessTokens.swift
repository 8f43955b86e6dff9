import Encoding
package import EventLoop
import Glibc
import IdentitySubjects
package import JSON
import Postgres
package import Runtime
import Tenancy
import WebTokens

/// Access tokens: JWTs signed with the keys of an app.
@EventLoop package final class AccessTokens: DomainService {
  private let keys: Keyring
  private let issuer: String
  private let clock: @EventLoop () -> Int
  private var verified = TokenCache()

  /// - Parameters:
  ///   - keys: the keys that sign and verify.
  ///   - issuer: the `iss` of native tokens, the deployment's URL.
  ///   - clock: returns the seconds since 1970.
  package init(
    keys: Keyring, issuer: String, clock: @escaping @EventLoop () -> Int = { time(nil) }
  ) {
    self.keys = keys
    self.issuer = issuer
    self.clock = clock
  }

  /// The longest token that is read; nginx takes no longer field.
  ///
  /// Ours have about 500 bytes and the claims of wires.
  nonisolated static let tokenLimit = 16_384

  /// Makes an access token of the principal's session, for this server.
  ///
  /// - Parameters:
  ///   - principal: the principal.
  ///   - lifetime: the lifetime of the token.
  ///   - claims: other claims. They replace none that this server reads.
  /// - Returns: a JWT.
  /// - Throws: `.databaseUnavailable`.
  package func token(
    of principal: Principal, lifetime: Duration, _ claims: [(String, JSON)] = []
  ) async throws(Failure) -> String {
    let signer = try await keys.signer(for: principal.app, .native)
    var token = SessionClaims(of: principal, at: clock(), for: lifetime, claims)
    token.add("scope", principal.scopes.text)
    token.add("iss", issuer)
    token.add("aud", issuer)
    do {
      return try signer.token(token.serialized())
    } catch {
      throw .internalError(reason: "a token cannot be signed")
    }
  }

  /// Returns the principal of a token that was verified before.
  ///
  /// - Parameters:
  ///   - token: the token as the client sent it; it may have any bytes.
  ///   - app: the app of the route.
  ///   - audience: as for `principal`.
  /// - Returns: nil if the caller must call `principal`.
  /// - Throws: `.tokenInvalid`, `.tokenExpired`.
  package func known(
    _ token: Span<UInt8>, app: AppID, audience: String? = nil
  ) throws(Failure) -> Principal? {
    guard let known = verified[token], known.keys.isFresh(),
      known.removals == known.keys.removals
    else { return nil }
    guard known.expires > clock() else { throw .tokenExpired }
    guard known.principal.app == app else { throw .tokenInvalid }
    try check(known, for: audience)
    return known.principal
  }

  /// Verifies a token, and returns its principal.
  ///
  /// The signature is verified once. The result is cached until the token expires, or until a key
  /// of the app is removed.
  /// - Parameters:
  ///   - token: the token as the client sent it.
  ///   - app: the app of the route.
  ///   - audience: the required audience of a token of OpenID Connect, so that the API that receives
  ///     a token cannot use it at another. Nil for the API of the app's `/v1`.
  /// - Returns: the principal.
  /// - Throws: `.tokenInvalid`, `.tokenExpired`, `.sessionEnded`, `.databaseUnavailable`.
  package func principal(
    of token: String, app: AppID, audience: String? = nil
  ) async throws(Failure) -> Principal {
    if let known = try known(token.utf8.span, app: app, audience: audience) { return known }
    let now = clock()
    let claims = try await verify(token, app)
    let principal = try Self.principal(of: claims, app)
    guard let expires = claims["exp"]?.number?.int else { throw .tokenInvalid }
    guard expires > now else { throw .tokenExpired }
    let meant = claims["client_id"] == nil ? nil : claims["aud"]?.audiences
    let entry = TokenCache.Entry(
      token: Array(token.utf8), principal: principal, audience: meant,
      isForUserData: meant.map { isForUserData($0, from: claims["iss"]?.string ?? "") } ?? true,
      expires: expires, keys: keys.keys(of: app))
    verified.insert(entry)
    try check(entry, for: audience)
    return principal
  }

  /// Returns the principal of a native token, even if the token has expired.
  ///
  /// The next statement checks its session.
  /// - Parameters:
  ///   - token: the token as the client sent it.
  ///   - app: the app of the route.
  ///   - grace: how long ago the token may have expired; nil for any time.
  /// - Returns: the principal.
  /// - Throws: `.tokenInvalid`, `.tokenExpired`, `.databaseUnavailable`.
  package func principal(
    ofExpired token: String, app: AppID, within grace: Duration? = nil
  ) async throws(Failure) -> Principal {
    let claims = try await verify(token, app)
    guard claims["client_id"] == nil, !Self.isReadOnly(claims),
      let expires = claims["exp"]?.number?.int
    else { throw .tokenInvalid }
    if let grace, expires + grace.wholeSeconds <= clock() { throw .tokenExpired }
    return try Self.principal(of: claims, app)
  }

  private static func principal(of claims: JSONObject, _ app: AppID) throws(Failure) -> Principal {
    // We signed the token, so a claim of a wrong type is handled like a missing one.
    guard let user = claims.user,
      let session = claims["sid"]?.string.flatMap({ SessionID($0) }),
      let device = claims["did"]?.string.flatMap({ DeviceID($0) }),
      let scope = claims["scope"]?.string
    else { throw .tokenInvalid }
    return Principal(
      user, session, device, in: app, scopes: Scopes(scope), isReadOnly: isReadOnly(claims))
  }

  /// Returns whether a token is of a session of support.
  ///
  /// The claims of a client are the app's choice, and it gets no token of support.
  private static func isReadOnly(_ claims: JSONObject) -> Bool {
    claims["act"] != nil && claims["client_id"] == nil
  }

  /// Returns the claims of a token that a key of the app has signed.
  private func verify(_ token: String, _ app: AppID) async throws(Failure) -> JSONObject {
    // Our tokens are far shorter.
    guard token.utf8.count <= Self.tokenLimit, let read = SignedToken(token),
      let keyID = read.keyID, read.claims["app"]?.string == app.text,
      let key = try await keys.verifier(keyID: keyID, app: app),
      // The wire of OpenID Connect chooses its own issuer. The key belongs to the app.
      key.purpose == .openID
        ? read.head["typ"]?.string == SigningKey.accessType && read.claims["client_id"] != nil
        : read.claims["iss"]?.string == issuer
          && read.claims["aud"]?.string?.hasSameBytes(as: issuer) == true,
      key.hasSigned(read)
    else { throw .tokenInvalid }
    return read.claims
  }

  /// Returns the claims of a valid access token of OpenID Connect, of a user or of a client.
  ///
  /// The caller checks the session and the audience.
  /// - Returns: nil if it is no such token.
  /// - Throws: `.tokenExpired`, `.databaseUnavailable`.
  package func claims(
    ofOpenIDToken token: String, app: AppID, issuer: String
  ) async throws(Failure) -> JSONObject? {
    let claims = try await signedClaims(of: token, SigningKey.accessType, app, issuer)
    guard let claims, let expires = claims["exp"]?.number?.int else { return nil }
    guard expires > clock() else { throw .tokenExpired }
    return claims
  }

  /// Returns the claims of a token of OpenID Connect, even if it has expired.
  ///
  /// - Parameters:
  ///   - token: the token.
  ///   - type: the type of the token in its head.
  ///   - app: the app whose key must have signed it.
  ///   - issuer: the issuer of the app.
  /// - Returns: the claims; nil if it is no such token.
  /// - Throws: `.databaseUnavailable`.
  private func signedClaims(
    of token: String, _ type: String, _ app: AppID, _ issuer: String
  ) async throws(Failure) -> JSONObject? {
    guard token.utf8.count <= Self.tokenLimit, let read = SignedToken(token),
      let keyID = read.keyID, read.head["typ"]?.string == type,
      let key = try await keys.verifier(keyID: keyID, app: app), key.purpose == .openID,
      key.hasSigned(read), read.claims["iss"]?.string?.hasSameBytes(as: issuer) == true
    else { return nil }
    return read.claims
  }

  /// The sign-in that an ID token describes.
  package struct Identity: Sendable {
    package let user: UserID
    package let session: SessionID
    /// The id of the client that got it.
    package let client: String
    /// The address of the user, if the client had the scope for it.
    package let email: String?
    /// When the token expires, in seconds since 1970.
    fileprivate let expiresAt: Int

    /// Returns whether the token has not expired.
    package func isValid() -> Bool { expiresAt > time(nil) }
  }

  /// Returns the sign-in that an ID token of an app describes, even if the token has expired.
  ///
  /// It is a hint, and grants nothing. The result is nil for any other token.
  /// - Source: OpenID Connect Core section 3.1.2.1, for `id_token_hint`.
  package func identity(
    of token: String, app: AppID, issuer: String
  ) async throws(Failure) -> Identity? {
    let claims = try await signedClaims(of: token, "JWT", app, issuer)
    // A logout token has events.
    guard let claims, claims["events"] == nil, let user = claims.user,
      let session = claims["sid"]?.string.flatMap({ SessionID($0) }),
      let client = claims["aud"]?.string, let end = claims["exp"]?.number?.int
    else { return nil }
    return Identity(
      user: user, session: session, client: client, email: claims["email"]?.string, expiresAt: end
    )
  }

  /// Returns whether audiences contain the API of the app's `/v1`.
  ///
  /// It is that of the token's issuer; the URL of the deployment names it too.
  private func isForUserData(_ audiences: [String], from tokenIssuer: String) -> Bool {
    audiences.contains { audience in
      ProvidedAPI.userData.isNamed(by: audience, at: tokenIssuer)
        || audience.hasSameBytes(as: issuer)
    }
  }

  /// Throws `.tokenInvalid` if a token is for other audiences; a native token has none.
  private func check(_ token: TokenCache.Entry, for audience: String?) throws(Failure) {
    guard let audience else {
      if token.isForUserData { return }
      throw .tokenInvalid(token.audience ?? [], not: "the API of /v1, whose audience is the issuer")
    }
    guard let audiences = token.audience,
      !audiences.contains(where: { $0.hasSameBytes(as: audience) })
    else { return }
    throw .tokenInvalid(audiences, not: audience)
  }
}

extension Failure {
  fileprivate static func tokenInvalid(_ audiences: [String], not wanted: String) -> Failure {
    let names = audiences.joined(separator: ", ").excerpt(200)
    return .tokenInvalid("The token is for the audience \(names), not for \(wanted).")
  }
}

/// The claims of a token of a session, written as JSON once.
struct SessionClaims {
  /// The claims that this server reads.
  private static let own = ["aud", "app", "did", "exp", "iat", "iss", "scope", "sid", "sub"]

  private var writer = JSONWriter()

  /// - Parameters:
  ///   - principal: the principal.
  ///   - now: the seconds since 1970.
  ///   - lifetime: the lifetime of the token.
  ///   - others: claims of the wire, without those that this server reads.
  init(
    of principal: Principal, at now: Int, for lifetime: Duration, _ others: [(String, JSON)]
  ) {
    writer.beginObject()
    for (name, value) in others where !Self.own.contains(where: { $0.hasSameBytes(as: name) }) {
      writer.key(name)
      writer.value(value)
    }
    add("sid", principal.session?.text ?? "")
    add("did", principal.device?.text ?? "")
    add("app", principal.app.text)
    add("sub", principal.user?.text ?? "")
    writer.member("iat", now)
    writer.member("exp", now + lifetime.wholeSeconds)
  }

  mutating func add(_ name: String, _ value: String) { writer.member(name, value) }

  consuming func serialized() -> [UInt8] {
    writer.endObject()
    return writer.bytes
  }
}

extension RequestContext {
  package var tokens: AccessTokens { dependencies[AccessTokens.self] }
}

extension JSON {
  /// The audiences of a claim `aud`: one text, or a list of texts.
  fileprivate var audiences: [String] {
    string.map { [$0] } ?? array?.compactMap(\.string) ?? []
  }
}

extension AccessTokens {
  /// Whether a text has the form of an access token, be it one or not: a JWT has two dots.
  package nonisolated static func isOfForm(_ text: String) -> Bool {
    text.utf8.count { $0 == UInt8(ascii: ".") } == 2
  }

  /// The app that an access token says it is of, for routes that name none; nothing is verified.
  package nonisolated static func app(of token: String) -> AppID? {
    guard token.utf8.count <= tokenLimit else { return nil }
    return SignedToken(token)?.claims["app"]?.string.flatMap { AppID($0) }
  }
}

extension AccessTokens {
  /// Returns when a verified token expires, in seconds since 1970.
  package nonisolated static func claimedExpiry(of token: String) -> Int? {
    guard token.utf8.count <= tokenLimit else { return nil }
    return SignedToken(token)?.claims["exp"]?.number?.int
  }

  /// Returns the client that a verified access token of OpenID Connect was issued to.
  package nonisolated static func claimedClient(of token: String) -> ClientID? {
    claimedOwner(of: token)?.client
  }

  /// Returns the client that a token of OpenID Connect names, and whether it is of a user's session.
  package nonisolated static func claimedOwner(
    of token: String
  ) -> (client: ClientID, isOfUser: Bool)? {
    guard token.utf8.count <= tokenLimit, let claims = SignedToken(token)?.claims,
      let client = claims["azp"]?.string.flatMap({ ClientID($0) })
    else { return nil }
    return (client, claims["sid"] != nil)
  }
}

/// A claim about the account in an access token, as the app's setting `access_token_claims` chooses.
///
/// - Source: OpenID Connect Core section 5.1, for the first two.
enum AccountClaim: String, CaseIterable {
  case email
  case emailVerified = "email_verified"
  case anonymous
}

extension AccountClaim {
  /// Returns the claims that the app has chosen, and the claim `ver`, as they are now.
  ///
  /// The database is asked only where the app has set some of them. A user without an address has
  /// neither of the claims about one.
  /// - Parameters:
  ///   - areChosen: whether the token has the claims of the setting `access_token_claims`.
  ///   - context: the context of a request of the user.
  /// - Returns: the claims.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop static func claims(
    chosen areChosen: Bool, _ context: RequestContext
  ) async throws(Failure) -> [(String, JSON)] {
    let settings = context.app.sessionSettings
    let chosen = areChosen ? settings.accessTokenClaims : []
    let hasVersions = settings.tokensHaveVersions
    guard !chosen.isEmpty || hasVersions, let user = context.principal.user,
      let account = try await context.first(AccountClaimQueries.read, user, hasVersions)
    else { return [] }
    let claims = allCases.filter(chosen.contains).compactMap { claim in
      account.value(of: claim).map { (claim.rawValue, $0) }
    }
    return claims + (account.versions.map { [("ver", $0.claim(in: context.app))] } ?? [])
  }
}

/// The columns from which the claims are made.
struct AccountClaimRow: RowDecodable {
  private let email: String?
  private let isVerified: Bool
  private let isAnonymous: Bool
  fileprivate let versions: UserVersions?

  init(from row: Row) throws(DatabaseError) {
    email = row.text(ifAny: 0)
    isVerified = try row.bool(1)
    isAnonymous = try row.bool(2)
    versions = try UserVersions(from: row, at: 3)
  }

  /// Nil for a claim about an address that the user does not have.
  fileprivate func value(of claim: AccountClaim) -> JSON? {
    switch claim {
    case .email: email.map(JSON.string)
    case .emailVerified: email.map { _ in .bool(isVerified) }
    case .anonymous: .bool(isAnonymous)
    }
  }
}

package enum AccountClaimQueries {
  /// Served by the primary keys.
  ///
  /// - Parameter 2: whether to read versions.
  static let read = Statement<AccountClaimRow, UserID, Bool>(
    "account_claims.read",
    """
    select c.email, c.email_verified, c.anonymous, \(.versions(of: "$1", if: "$2::boolean"))
    from users c where c.user_id = $1
    """)
}
