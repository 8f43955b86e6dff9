package import EventLoop
import JSON
package import Postgres
import RateLimiting
package import Runtime
package import Tenancy

/// The authorizations whose users are at the pages.
@EventLoop package enum Authorizations {
  /// Stores a request.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - client: its client; nil for the pages.
  ///   - browser: the browser that sent it, which alone may continue it.
  ///   - user: the user who is signed in there; nil for none. Requests fill the table: a limit of the
  ///     user applies, or else one of the network.
  ///   - context: the context of the request.
  /// - Returns: the authorization.
  /// - Throws: `.tooManyAttempts`, `.tooManyRequests`, `.databaseUnavailable`.
  package static func begin(
    _ request: AuthorizationRequest, for client: Client?, in browser: BrowserKey,
    by user: BrowserUser? = nil, _ context: RequestContext
  ) async throws(Failure) -> Authorization {
    let limit = RateLimitSet(
      user.map { [.ofUser(.authorization, $0.user, context)] }
        ?? RateLimit.ofNetwork(.authorization, context),
      context
    )
    // A stranger who uses up the limit takes no connections of writers.
    if user == nil { try await limit.refuseEarly() }
    let id = AuthorizationID()
    do throws(Failure) {
      try await context.transaction { transaction async throws(Failure) in
        let counted = limit.sendSpending(in: transaction)
        let begun = transaction.send(
          AuthorizationQueries.begin, context.app.id, id, request.client,
          TextBytes(request.json.serialized()), browser.hash(context.keys.master),
          Authorization.lifetime
        )
        transaction.sendCommit()
        try await counted()
        try await begun.rows()
      }
    } catch let error where error.is(.tooManyRequests) || error.is(.tooManyAttempts) {
      // This reports the limit, and records it.
      try await limit.requireLeft()
      throw error
    }
    return Authorization(
      id: id, request: request, client: client, state: AuthorizationState(), step: 0,
      isRecent: false
    )
  }

  /// Returns an authorization of this browser.
  ///
  /// - Throws: `.authorizationExpired` if it has expired, is finished or is another browser's;
  ///   `.databaseUnavailable`.
  package static func find(
    _ id: AuthorizationID, in browser: BrowserKey?, _ context: RequestContext
  ) async throws(Failure) -> Authorization {
    try await found(id, browser, context).authorization
  }

  /// Returns an authorization of this browser that has expired without a code; nil for none.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func expired(
    _ id: AuthorizationID, in browser: BrowserKey, _ context: RequestContext
  ) async throws(Failure) -> Authorization? {
    let master = context.keys.master
    return try await context.read(
      AuthorizationQueries.expired, context.app.id, id, browser.hash(master), on: .exclusive
    ).first?.authorization(id, master)
  }

  /// Returns where an authorization began, of any browser and in any state; nil if it is unknown.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func origin(
    of id: AuthorizationID, _ context: RequestContext
  ) async throws(Failure) -> AuthorizationOrigin? {
    try await context.first(AuthorizationQueries.origin, context.app.id, id)
  }

  private static func found(
    _ id: AuthorizationID, _ browser: BrowserKey?, _ context: RequestContext
  ) async throws(Failure) -> (authorization: Authorization, isFree: Bool) {
    let master = context.keys.master
    guard let browser,
      let row = try await context.read(
        AuthorizationQueries.find, context.app.id, id, browser.hash(master), on: .exclusive
      ).first,
      let authorization = row.authorization(id, master)
    else { throw .authorizationExpired }
    return (authorization, row.isFree)
  }

  /// Reserves a form for this request, so that the same form is handled only once.
  ///
  /// If another request has the form, this one waits until that one has stored its result, or has
  /// died.
  /// - Parameters:
  ///   - authorization: the authorization, as it was read.
  ///   - step: the number in the form.
  ///   - browser: the browser.
  ///   - context: the context of the request.
  /// - Returns: whether this request handles the form. If not, the caller shows the current page.
  /// - Throws: `.authorizationExpired`, `.databaseUnavailable`.
  package static func claim(
    _ authorization: Authorization, step: Int, in browser: BrowserKey, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    // A number from outside may be any.
    let step = (0...999_999_999).contains(step) ? step : -1
    func claim() async throws(Failure) -> Bool {
      try await !context.write(AuthorizationQueries.claim, context.app.id, authorization.id, step)
        .isEmpty
    }
    if try await claim() { return true }
    // A request that has died with its worker never settles: this one takes over after 30 seconds.
    for _ in 0..<300 {
      if try await found(authorization.id, browser, context).isFree { break }
      await EventLoop.sleep(for: .milliseconds(100))
    }
    return try await claim()
  }

  /// Stores the state of the pages, and admits the next form.
  ///
  /// - Returns: the authorization as it is stored now.
  /// - Throws: `.authorizationExpired` if it has expired meanwhile; `.databaseUnavailable`.
  package static func settle(
    _ authorization: Authorization, _ state: AuthorizationState, _ context: RequestContext
  ) async throws(Failure) -> Authorization {
    let stored = try await context.write(
      AuthorizationQueries.settle, context.app.id, authorization.id,
      try state.sealed(for: authorization.id, context)
    )
    guard let step = stored.first else { throw .authorizationExpired }
    // The last form is that of this request.
    return Authorization(
      id: authorization.id, request: authorization.request, client: authorization.client,
      state: state, step: step, isRecent: true
    )
  }
}

extension AuthorizationState {
  /// Returns the state encrypted: it has credentials.
  @EventLoop func sealed(
    for id: AuthorizationID, _ context: RequestContext
  ) throws(Failure) -> BinaryBytes {
    BinaryBytes(try context.keys.master.sealed(json.serialized(), as: id.text))
  }
}

extension SQL {
  /// Reads the `AuthorizationRow` of an authorization `a`.
  static let authorization: SQL = """
    select \(.clientColumns), a.request, a.state, a.step,
      a.is_settled or a.claimed_at < now() - interval '30 seconds',
      coalesce(a.claimed_at > now() - interval '10 seconds', false)
    from authorizations a
    left join clients c on c.client_id = a.client_id and c.app_id = a.app_id and c.disabled_at is null
    where a.app_id = $1 and a.authorization_id = $2
    """
}

package enum AuthorizationQueries {
  static let begin = Statement<
    NoRow, AppID, AuthorizationID, ClientID, TextBytes, BinaryBytes, Duration
  >(
    "authorizations.begin",
    """
    insert into authorizations (
      app_id, authorization_id, client_id, request, browser_hash, expires_at)
    values ($1, $2, $3, $4, $5, now() + $6::interval)
    """)

  /// Also returns an authorization with a code that no client has exchanged yet.
  static let find = Statement<AuthorizationRow, AppID, AuthorizationID, BinaryBytes>(
    "authorizations.find",
    """
    \(.authorization)
      and a.browser_hash = $3 and a.redeemed_at is null and a.expires_at > now()
    """)

  static let origin = Statement<AuthorizationOrigin, AppID, AuthorizationID>(
    "authorizations.origin",
    """
    select client_id, request ->> 'redirect', code_hash is not null from authorizations
    where app_id = $1 and authorization_id = $2
    """)

  static let expired = Statement<AuthorizationRow, AppID, AuthorizationID, BinaryBytes>(
    "authorizations.expired",
    """
    \(.authorization)
      and a.browser_hash = $3 and a.code_hash is null and a.expires_at <= now()
    """)

  /// Returns one row if the form has this step and no other request has it.
  ///
  /// A request that has had it for 30 seconds has died with its worker.
  static let claim = Statement<String, AppID, AuthorizationID, Int>(
    "authorizations.claim",
    """
    update authorizations set step = step + 1, is_settled = false, claimed_at = now()
    where app_id = $1 and authorization_id = $2 and code_hash is null
      and (step = $3::bigint and is_settled
        or step = $3::bigint + 1 and not is_settled and claimed_at < now() - interval '30 seconds')
      and expires_at > now()
    returning authorization_id
    """)

  /// Returns the number of the next form; no row if the authorization has expired or ended.
  static let settle = Statement<Int, AppID, AuthorizationID, BinaryBytes>(
    "authorizations.settle",
    """
    update authorizations set state = $3, is_settled = true, claimed_at = now()
    where app_id = $1 and authorization_id = $2 and code_hash is null and expires_at > now()
    returning step
    """)
}

package typealias AuthorizationID = ID<Authorization>

/// An authorization request whose user is at the pages.
package struct Authorization: Sendable {
  package let id: AuthorizationID
  package let request: AuthorizationRequest
  /// The client; nil for the pages, and if it was removed or disabled meanwhile.
  package let client: Client?
  package internal(set) var state: AuthorizationState
  /// The number of the next form; each form is handled only once.
  package let step: Int
  /// Whether the last form was handled within the last ten seconds.
  package let isRecent: Bool

  /// The code that has ended it; nil while the user is at the pages.
  package var code: String? { state.code }

  /// Creates an authorization that is not stored, to find its first step.
  package init(unstored request: AuthorizationRequest, for client: Client) {
    self.init(
      id: AuthorizationID(), request: request, client: client, state: AuthorizationState(), step: 0,
      isRecent: true
    )
  }

  init(
    id: AuthorizationID, request: AuthorizationRequest, client: Client?, state: AuthorizationState,
    step: Int, isRecent: Bool
  ) {
    (self.id, self.request, self.client) = (id, request, client)
    (self.state, self.step, self.isRecent) = (state, step, isRecent)
  }

  /// How long the user may take.
  package static let lifetime = Duration.seconds(3_600)
}

/// The client that has begun an authorization, and where its response goes.
package struct AuthorizationOrigin: RowDecodable {
  package let client: ClientID
  package let redirect: String
  /// Whether it has ended by a code.
  package let isFinished: Bool

  package init(from row: Row) throws(DatabaseError) {
    client = ClientID(trusted: try row.text(0))
    redirect = try row.text(1)
    isFinished = try row.bool(2)
  }
}

/// A row of the table.
struct AuthorizationRow: RowDecodable {
  let client: Client?
  let request: [UInt8]
  let state: [UInt8]?
  let step: Int
  /// Whether no request handles a form, or the one that does has died.
  let isFree: Bool
  let isRecent: Bool

  init(from row: Row) throws(DatabaseError) {
    client = row.isNull(0) ? nil : try Client(from: row)
    request = try row.bytes(6)
    state = row.isNull(7) ? nil : try row.binary(7)
    step = try row.int(8)
    isFree = try row.bool(9)
    isRecent = try row.bool(10)
  }

  /// Returns the authorization; nil if it is damaged, or sealed with a lost master key.
  func authorization(_ id: AuthorizationID, _ master: MasterKey) -> Authorization? {
    guard let json = try? JSON.parse(request), let request = AuthorizationRequest(json) else {
      return nil
    }
    var state = AuthorizationState()
    if let sealed = self.state {
      guard let json = master.openedJSON(sealed, as: id.text) else { return nil }
      state = AuthorizationState(json)
    }
    return Authorization(
      id: id, request: request, client: client, state: state, step: step, isRecent: isRecent
    )
  }
}
