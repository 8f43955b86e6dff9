package import Accounts
import Encoding
package import EventLoop
import JSON
import Outbound
package import Postgres
package import Runtime
import Records
package import Sessions
import Tenancy

extension SessionStyle {
  /// The style of the sessions of the console, whose tokens no client gets.
  ///
  /// A session ends an hour after its last request.
  package static let console = SessionStyle(
    "console", scopes: Scopes(""), lifetime: ConsoleSession.idleLifetime)
}

/// A live session of an administrator in the console.
package struct ConsoleSession: RowDecodable {
  /// How long a session lasts after its last request.
  package static let idleLifetime = Duration.seconds(3_600)
  /// How long a session lasts after its sign-in.
  package static let longestLifetime = Duration.seconds(43_200)

  package let administrator: Administrator
  package let email: String
  package let session: SessionID
  /// The secret of the session, for a cookie; empty until the session has been found by it.
  package fileprivate(set) var cookie = ""
  /// The new secret of the device, for a cookie that outlives sessions; nil if it stays the same.
  package fileprivate(set) var deviceSecret: String?
  /// When the session ends after this request; nil if that is not worth a write.
  fileprivate let renewedEnd: Timestamp?

  /// Whether the administrator has authenticated within the last minutes, by password and code.
  package var isRecent: Bool { administrator.isRecent }

  package init(from row: Row) throws(DatabaseError) {
    let stored = try Stored<AdministratorRecord>(from: row)
    administrator = stored.administrator(isRecent: try row.bool(9))
    email = stored.record.email
    session = try row.id(8)
    renewedEnd = try row.time(ifAny: 10)
  }
}

/// Sign-in of administrators at the console.
///
/// All functions take the context of a request of any app, and act in the app of administrators.
@EventLoop package enum ConsoleSessions {
  /// Signs an administrator in by address and password, as far as the second step.
  ///
  /// - Returns: the flow of the second step.
  /// - Throws: `.wrongCredentials` also for a disabled administrator and from another network than the
  ///   administrator's, `.secondFactorMissing`,
  ///   `.tooManyAttempts`, `.tooManyRequests`, `.deviceFull`, `.overloaded`, `.databaseUnavailable`.
  package static func signIn(
    _ credentials: Credentials, _ context: RequestContext
  ) async throws(Failure) -> String {
    let context = try await context.inAppOfAdministrators()
    do throws(Failure) {
      _ = try await Users.signIn(credentials, as: .console, context)
    } catch let error where error.is(.additionalFactorRequired) {
      guard let flow = error["flow"]?.string,
        let user = Credential(.flow, flow, context.keys.master)?.part(as: UserID.self),
        let found = try await context.read(
          ConsoleSessionQueries.mayEnter, user, on: .exclusive
        ).first,
        found.isReached(from: context)
      else { throw .wrongCredentials }
      guard SecondFactorFlow.methods(of: error).contains(.totp) else {
        throw .secondFactorMissing
      }
      return flow
    }
    // The app requires a second factor.
    throw .internalError(reason: "an administrator signed in without a second factor")
  }

  /// Completes a sign-in by a code of an authenticator app, or a recovery code.
  ///
  /// - Throws: `.invalidCode` also for a flow that is finished or expired, `.wrongCredentials`,
  ///   `.networkRefused`, `.tooManyAttempts`, `.tooManyRequests`, `.deviceFull`,
  ///   `.databaseUnavailable`.
  package static func complete(
    _ flow: String, by code: String, _ context: RequestContext
  ) async throws(Failure) -> ConsoleSession {
    let context = try await context.inAppOfAdministrators()
    let (opened, _) = try await SecondFactorFlow.complete(flow, by: code, as: .console, context)
    return try await session(opened, context)
  }

  /// Returns the session of a cookie, which lasts an hour from now on.
  ///
  /// - Returns: nil if it has ended, or the administrator is disabled.
  /// - Throws: `.networkRefused`, `.databaseUnavailable`.
  package static func find(
    _ cookie: String, _ context: RequestContext
  ) async throws(Failure) -> ConsoleSession? {
    guard let credential = Credential(.console, cookie, context.keys.master) else { return nil }
    let (user, id) = (credential.owner(as: UserID.self), credential.part(as: SessionID.self))
    let found = try await context.read(
      ConsoleSessionQueries.find, user, id, BinaryBytes(credential.salt),
      Administrator.proofLifetime, ConsoleSession.idleLifetime, ConsoleSession.longestLifetime,
      on: .exclusive)
    guard var session = found.first else { return nil }
    session.cookie = cookie
    guard session.administrator.isReached(from: context) else { throw .networkRefused }
    if let end = session.renewedEnd {
      _ = try await context.write(ConsoleSessionQueries.extend, user, id, end)
    }
    return session
  }

  /// Authenticates the administrator of a session again, and replaces the session by a new one.
  ///
  /// It is a sign-in with all its limits, so neither password nor code alone is enough.
  /// - Throws: as `signIn` and `complete`.
  package static func stepUp(
    _ session: ConsoleSession, password: String, code: String, _ context: RequestContext
  ) async throws(Failure) -> ConsoleSession {
    let flow = try await signIn(Credentials(email: session.email, password: password), context)
    let renewed = try await complete(flow, by: code, context)
    try await end(session, "reauthenticate", context)
    return renewed
  }

  /// Ends a session; it may have ended already.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func end(
    _ session: ConsoleSession, _ context: RequestContext
  ) async throws(Failure) {
    try await end(session, "logout", context)
  }

  /// Returns the live sessions of the administrator of a session, the newest first.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func list(
    _ session: ConsoleSession, _ context: RequestContext
  ) async throws(Failure) -> [SessionInfo] {
    let context = try await ownContext(of: session, context)
    return try await Sessions.page(of: session.administrator.id, context).items
  }

  /// Ends all other sessions of the administrator of a session.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func endOthers(
    than session: ConsoleSession, _ context: RequestContext
  ) async throws(Failure) {
    let own = try await ownContext(of: session, context)
    for other in try await list(session, context) where other.id != session.session {
      try await Sessions.end(other.id, of: session.administrator.id, "logout", own)
    }
  }

  /// Returns the authenticator apps of the administrator of a session, and how many recovery codes are
  /// left.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func factors(
    of session: ConsoleSession, _ context: RequestContext
  ) async throws(Failure) -> (factors: [SecondFactor], recoveryCodesLeft: Int) {
    try await SecondFactors.list(
      of: session.administrator.id, ownContext(of: session, context))
  }

  /// Returns the language of the emails to the administrator of a session; nil for none.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func language(
    of session: ConsoleSession, _ context: RequestContext
  ) async throws(Failure) -> String? {
    try await context.first(AdministratorQueries.language, session.administrator.id)?.language
  }

  /// Changes that language; nil removes it.
  ///
  /// - Throws: `.invalid`, `.databaseUnavailable`.
  package static func setLanguage(
    _ language: String?, of session: ConsoleSession, _ context: RequestContext
  ) async throws(Failure) {
    _ = try await Profiles.change(
      JSONObject([("locale", language.map(JSON.string) ?? .null)]), if: VersionCondition(),
      of: session.administrator.id, ownContext(of: session, context))
  }

  /// Returns the context in which an administrator reads the own account.
  private static func ownContext(
    of session: ConsoleSession, _ context: RequestContext
  ) async throws(Failure) -> RequestContext {
    let context = try await context.inAppOfAdministrators()
    context.principal = Principal(session.administrator, in: context.app.id)
    return context
  }

  private static func end(
    _ session: ConsoleSession, _ reason: String, _ context: RequestContext
  ) async throws(Failure) {
    let context = try await context.inAppOfAdministrators()
    try await Sessions.end(session.session, of: session.administrator.id, reason, context)
  }

  /// Returns the session that a sign-in has opened.
  static func session(
    _ opened: OpenSession, _ context: RequestContext
  ) async throws(Failure) -> ConsoleSession {
    guard var session = try await find(opened.credential(.console), context) else {
      throw .wrongCredentials
    }
    session.deviceSecret = opened.deviceSecret
    return session
  }
}

package enum ConsoleSessionQueries {
  /// Returns a row if an administrator may sign in.
  static let mayEnter = Statement<Stored<AdministratorRecord>, UserID>(
    "console_sessions.may_enter",
    """
    select \(AdministratorRecord.table.columns), '' from administrators r
    where r.user_id = $1 and not r.disabled
    """)

  /// Returns a live session; no row if it has ended or the administrator is disabled.
  ///
  /// - Parameter 4: the greatest age of a recent authentication.
  /// - Parameter 5: how long a session lasts after its last request.
  /// - Parameter 6: how long a session lasts after its sign-in.
  static let find = Statement<
    ConsoleSession, UserID, SessionID, BinaryBytes, Duration, Duration, Duration
  >(
    "console_sessions.find",
    """
    select \(AdministratorRecord.table.columns), '', s.session_id,
      s.authenticated_at > now() - $4::interval,
      case when s.expires_at
          < least(now() + $5::interval - interval '1 minute', s.created_at + $6::interval)
        then least(now() + $5::interval, s.created_at + $6::interval) end
    from sessions s join administrators r on r.user_id = $1 join users u on u.user_id = $1
    where s.user_id = $1 and s.session_id = $2 and s.refresh_salt = $3 and s.style = 'console'
      and s.ended_at is null and s.expires_at > now() and s.created_at > now() - $6::interval
      and has_second_factor(s.amr) and u.blocked_at is null and not r.disabled
    """)

  /// - Parameter 3: when the session ends.
  static let extend = Statement<NoRow, UserID, SessionID, Timestamp>(
    "console_sessions.extend",
    """
    update sessions set refreshed_at = now(), expires_at = $3
    where user_id = $1 and session_id = $2 and ended_at is null
    """)
}

extension Stored<AdministratorRecord> {
  @EventLoop func isReached(from context: RequestContext) -> Bool {
    administrator(isRecent: false).isReached(from: context)
  }
}

extension Administrator {
  /// Returns whether the administrator may call from the network of a request.
  @EventLoop func isReached(from context: RequestContext) -> Bool {
    networks.isEmpty || context.address.isIn(networks.compactMap { IPNetwork($0) })
  }
}

extension Failure {
  /// An administrator without an authenticator app gets a new link, which no password replaces.
  package static let secondFactorMissing = Failure("second_factor_missing", .forbidden)
    .titled("The administrator has no authenticator app.")
    .remedied("Make a new link: dossier administrator link ADDRESS.")
  package static let networkRefused = Failure("network_refused", .notFound)
    .titled("The administrator may not use the console from this network.")
    .remedied("An owner can change the networks: dossier administrator set.")
}
