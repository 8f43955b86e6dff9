import Crypto
import Encoding
package import EventLoop
import Glibc
import JSON
import PasswordHashes
import Postgres
package import Runtime
import Sessions
package import Tenancy

/// The codes that clients exchange for tokens.
///
/// - Source: RFC 6749 section 4.1; RFC 7636; RFC 9700 section 2.1.1.
@EventLoop package enum AuthorizationCodes {
  package nonisolated static let lifetime = Duration.seconds(60)
  /// The seconds for which the same client may repeat an exchange whose response it has lost.
  ///
  /// SDKs repeat one after a time limit of ten seconds.
  nonisolated static let grace = 30
  /// How long a repeated exchange is recognized.
  private nonisolated static let memory = Duration.seconds(86_400)

  /// Ends an authorization by a code.
  ///
  /// - Parameters:
  ///   - authorization: the authorization.
  ///   - principal: the user, in the session of the pages.
  ///   - context: the context of the request.
  /// - Returns: the code. If another request has ended the authorization, it is that one's code.
  /// - Throws: `.authorizationExpired`, `.databaseUnavailable`.
  package static func issue(
    for authorization: Authorization, to principal: Principal, _ context: RequestContext
  ) async throws(Failure) -> String {
    let code = Credential(.authorizationCode, of: authorization.id)
    let master = context.keys.master
    var state = AuthorizationState()
    state.deviceSecret = authorization.state.deviceSecret
    // A second click of the same user gets the same code.
    (state.lastForm, state.pass) = (authorization.state.lastForm, authorization.state.pass)
    state.user = principal.user
    state.code = code.text(master)
    let issued = try await context.write(
      AuthorizationCodeQueries.issue,
      context.app.id,
      authorization.id,
      principal.user?.text ?? "",
      principal.session?.text ?? "",
      principal.device?.text ?? "",
      authorization.request.scopes.joined(separator: " "),
      code.hash(master),
      try state.sealed(for: authorization.id, context),
      lifetime
    )
    if !issued.isEmpty { return code.text(master) }
    let ended = try await context.read(
      AuthorizationCodeQueries.ended, context.app.id, authorization.id, on: .exclusive
    )
    guard let code = ended.first?.authorization(authorization.id, master)?.code else {
      throw .authorizationExpired
    }
    return code
  }

  /// The proof that comes with a code.
  package struct Proof: Sendable {
    package let redirect: String?
    package let verifier: String?
    /// The API that the client names again; nil if it names none.
    package let audience: String?

    package init(redirect: String?, verifier: String?, audience: String? = nil) {
      (self.redirect, self.verifier, self.audience) = (redirect, verifier, audience)
    }
  }

  /// Exchanges a code for tokens.
  ///
  /// If a code is exchanged again, its session ends: the code was stolen. The same client may repeat the
  /// exchange within thirty seconds.
  /// - Parameters:
  ///   - text: the code.
  ///   - client: the client, which is authenticated.
  ///   - proof: the values that the client sends with the code.
  ///   - provider: this server as the client knows it.
  ///   - context: the context of the request.
  /// - Returns: the tokens.
  /// - Throws: `.invalidCodeOfClient`, `.otherRedirect`, `.invalidVerifier`,
  ///   `.audienceNotGranted`, `.overloaded`, `.databaseUnavailable`.
  package static func redeem(
    _ text: String, by client: Client, _ proof: Proof, at provider: Provider,
    _ context: RequestContext
  ) async throws(Failure) -> IssuedTokens {
    guard let code = Credential(.authorizationCode, text, context.keys.master) else {
      throw .invalidCodeOfClient
    }
    let id = code.owner(as: AuthorizationID.self)
    let result = try await context.transaction { transaction async throws(Failure) -> Redemption in
      let found = try await transaction.run(
        AuthorizationCodeQueries.lock, context.app.id, id, code.hash(context.keys.master)
      )
      guard let row = found.first, row.client == client.id, let request = row.request,
        request.issuer.hasSameBytes(as: provider.issuer)
      else { throw .invalidCodeOfClient }
      // A refusal must not use the code up.
      try provider.require(proof.audience, toBe: request.audience)
      let fault = proof.fault(for: request)
      // A callback that the client no longer has gets no tokens.
      let isRegistered = client.mayReceive(at: request.redirect, by: request.mode)
      // Concurrent changes of credentials run before this, or end the new session. The transaction of
      // an earlier exchange has ended, also on the node of the session.
      _ = transaction.send(SessionsQueries.lockUser, row.user)
      if let redeemed = row.redeemed {
        guard fault == nil, row.age <= grace else {
          try await revoke(redeemed, of: row.user, in: transaction)
          return .refused(.invalidCodeOfClient)
        }
        let session = try await transaction.run(ClientSessionQueries.find, row.user, redeemed)
        guard isRegistered, let session = session.first, session.generation == 1 else {
          throw .invalidCodeOfClient
        }
        return .tokens(session, request)
      }
      if let fault { throw fault }
      guard row.isValid, isRegistered else { throw .invalidCodeOfClient }
      let session = try await open(row, request, for: client, in: transaction)
      _ = transaction.send(
        AuthorizationCodeQueries.redeem, context.app.id, id, session.session, memory
      )
      return .tokens(session, request)
    }
    switch result {
    case .refused(let failure): throw failure
    case .tokens(let session, let request):
      return try await TokenIssue.tokens(
        of: session, session.scopes, nonce: request.nonce, wanted: request.wantedClass, for: client,
        at: provider, context
      )
    }
  }

  private enum Redemption {
    case tokens(ClientSession, AuthorizationRequest)
    /// The transaction must commit although the exchange is refused.
    case refused(Failure)
  }

  private static func open(
    _ row: CodeRow, _ request: AuthorizationRequest, for client: Client, in transaction: Transaction
  ) async throws(Failure) -> ClientSession {
    let context = transaction.context
    let scopes = row.scope.split(separator: " ").map(String.init)
    let server = try await request.server(in: transaction)
    if client.needsConsent(to: request, at: server) {
      try await Consents.require(request, by: row.user, in: transaction)
    }
    let lifetime = ClientSession.lifetime(of: scopes, for: client, at: server)
    let place = ClientSessions.place(of: client.id, on: row.device, context)
    let limit = ClientSession.limit - 1
    _ = transaction.send(ClientSessionQueries.makeRoom, row.user, place, client.id, limit)
    func opened(while live: SessionID) async throws(Failure) -> ClientSession? {
      try await transaction.run(
        ClientSessionQueries.open,
        row.user,
        row.principal(in: live, of: context.app.id),
        SessionID(),
        place,
        client.id,
        row.scope,
        request.audience,
        BinaryBytes(Credential.salt()),
        lifetime,
        context.address.text,
        context.agent,
        request.issuer,
        client.settings.backchannelLogoutURL != nil,
        row.session
      ).first
    }
    var session = try await opened(while: row.session)
    if session == nil {
      // The user has perhaps signed in again in another tab.
      let successor = try await transaction.run(
        ClientSessionQueries.successor, row.user, row.session
      )
      if let successor = successor.first { session = try await opened(while: successor) }
    }
    guard let session else { throw .invalidCodeOfClient }
    Event(
      "client_sign_in", of: row.user,
      detail: ["client_id": .string(client.id.text), "session_id": .string(session.session.text)]
    ).record(in: transaction)
    return session
  }

  private static func revoke(
    _ session: SessionID, of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    try await Sessions.end(.one(session), of: user, "code_reuse", in: transaction)
  }
}

extension AuthorizationCodes.Proof {
  /// The lengths of a verifier.
  private static let lengths = 43...128

  /// Returns why the proof does not belong to the request; nil if it does.
  fileprivate func fault(for request: AuthorizationRequest) -> Failure? {
    if request.namesRedirect || redirect != nil {
      guard let redirect, redirect.hasSameBytes(as: request.redirect) else {
        return .otherRedirect
      }
    }
    switch (request.challenge, verifier) {
    case (nil, nil): return nil
    // A verifier without a challenge: an attacker has removed the challenge from the request.
    case (nil, .some): return .needlessVerifier
    case (.some, nil): return .missingVerifier
    case (.some(let challenge), .some(let verifier)):
      guard Self.lengths.contains(verifier.utf8.count),
        areSame(
          Array(Array(SHA256.hash(data: Array(verifier.utf8))).base64URL.utf8),
          Array(challenge.utf8)
        )
      else { return .invalidVerifier }
      return nil
    }
  }
}

/// An authorization with a code.
struct CodeRow: RowDecodable {
  let client: ClientID
  let user: UserID
  let session: SessionID
  let device: DeviceID
  let scope: String
  private let stored: [UInt8]
  /// Whether the code can be exchanged.
  let isValid: Bool
  /// The session that came of an exchange.
  let redeemed: SessionID?
  /// The seconds since that exchange.
  let age: Int

  init(from row: Row) throws(DatabaseError) {
    client = ClientID(trusted: try row.text(0))
    user = UserID(trusted: try row.text(1))
    session = SessionID(trusted: try row.text(2))
    device = DeviceID(trusted: try row.text(3))
    scope = try row.text(4)
    stored = try row.bytes(5)
    isValid = try row.bool(6)
    redeemed = row.id(ifAny: 7)
    age = try row.int(8)
  }

  var request: AuthorizationRequest? {
    (try? JSON.parse(stored)).flatMap(AuthorizationRequest.init)
  }

  /// The user in a session of the pages.
  func principal(in session: SessionID, of app: AppID) -> Principal {
    Principal(user, session, device, in: app, scopes: Scopes(scope))
  }
}

package enum AuthorizationCodeQueries {
  /// Returns no row if the authorization has a code, or has expired.
  ///
  /// Only the pages needed the hints, which name a user.
  static let issue = Statement<
    String, AppID, AuthorizationID, String, String, String, String, BinaryBytes, BinaryBytes,
    Duration
  >(
    "authorization_codes.issue",
    """
    update authorizations set user_id = $3, session_id = $4, device_id = $5, scope = $6,
      code_hash = $7, state = $8, is_settled = true, claimed_at = now(),
      expires_at = now() + $9::interval,
      request = request - '{login_hint,hinted_user}'::text[]
    where app_id = $1 and authorization_id = $2 and code_hash is null and expires_at > now()
    returning authorization_id
    """)

  /// Returns an authorization with a code that no client has exchanged yet.
  static let ended = Statement<AuthorizationRow, AppID, AuthorizationID>(
    "authorization_codes.ended",
    """
    \(.authorization)
      and a.code_hash is not null and a.redeemed_at is null and a.expires_at > now()
    """)

  /// Locks the authorization of a code.
  static let lock = Statement<CodeRow, AppID, AuthorizationID, BinaryBytes>(
    "authorization_codes.lock",
    """
    select client_id, user_id, session_id, device_id, scope, request, expires_at > now(),
      redeemed_as, coalesce(ceil(extract(epoch from now() - redeemed_at)), 0)::bigint
    from authorizations
    where app_id = $1 and authorization_id = $2 and code_hash = $3
    for no key update
    """)

  static let redeem = Statement<NoRow, AppID, AuthorizationID, SessionID, Duration>(
    "authorization_codes.redeem",
    """
    update authorizations set redeemed_at = now(), redeemed_as = $3, state = null,
      request = request - 'state', expires_at = now() + $4::interval
    where app_id = $1 and authorization_id = $2
    """)
}
