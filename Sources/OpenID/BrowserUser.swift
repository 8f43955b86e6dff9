package import EventLoop
package import Postgres
package import Runtime
package import Sessions

extension SessionStyle {
  /// The style of the sessions at the hosted pages, whose tokens no client gets.
  package static let pages = SessionStyle("pages", scopes: .user)
}

/// A user who is signed in at the pages in one browser.
package struct BrowserUser: RowDecodable {
  package let user: UserID
  package let session: SessionID
  package let device: DeviceID
  /// When the user authenticated, in seconds since 1970.
  package let authenticatedAt: Int
  package let isActive: Bool
  /// The provider of the credential that the user has shown.
  let provider: String
  package let email: String?
  package let name: String?
  /// The name of the picture, for `Pictures.show`.
  package let picture: String?

  package init(from row: Row) throws(DatabaseError) {
    user = UserID(trusted: try row.text(0))
    session = SessionID(trusted: try row.text(1))
    device = DeviceID(trusted: try row.text(2))
    authenticatedAt = try row.int(3)
    isActive = try row.bool(4)
    email = row.text(ifAny: 5)
    name = row.text(ifAny: 6)
    picture = row.text(ifAny: 7)
    provider = try row.text(8)
  }

  /// The principal of a request that this user makes at the pages.
  package func principal(in app: AppID) -> Principal {
    Principal(user, session, device, in: app, scopes: .user)
  }
}

@EventLoop package enum BrowserUsers {
  /// Returns the users who are signed in at the pages in the browser of the request.
  ///
  /// - Returns: the users, the active one first; none without a device.
  /// - Throws: `.databaseUnavailable`.
  package static func list(_ context: RequestContext) async throws(Failure) -> [BrowserUser] {
    guard let device = context.device else { return [] }
    return try await context.readLatest(
      BrowserUserQueries.list,
      device.id,
      context.app.id,
      device.secret.hash(context.keys.master),
      context.app.sessionSettings.allowsSwitching,
      context.app.sessionSettings.mfa == .required
    )
  }
}

extension BrowserUsers {
  /// Signs a user out of the pages in one browser, so that no user is active there.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - issuer: as for `endClients`.
  ///   - context: the context of the request, whose device is the browser's.
  /// - Throws: `.deviceUnknown`, `.databaseUnavailable`.
  package static func signOut(
    _ user: BrowserUser,
    issuer: String,
    _ context: RequestContext
  ) async throws(Failure) {
    try await endClients(of: user, issuer: issuer, context)
    try await Devices.logout(user.user, next: .none, context)
  }

  /// Ends the sessions of clients that came of a session at the pages, and tells the clients.
  ///
  /// A session with `offline_access` stays: the user has given the client access while absent.
  /// - Parameters:
  ///   - user: the user in that session.
  ///   - issuer: the `iss` of the tokens of those clients.
  ///   - context: the context of the request.
  /// - Throws: `.databaseUnavailable`.
  package static func endClients(
    of user: BrowserUser,
    issuer: String,
    _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      let told = try await transaction.run(LogoutNoticeQueries.told, user.user, user.session.text)
      try await LogoutNotices.queue(told, of: user.user, by: issuer, in: transaction, context)
      _ = try await transaction.run(BrowserUserQueries.endClients, user.user, user.session)
    }
  }
}

package enum BrowserUserQueries {
  /// - Parameter 4: whether another user becomes active when the active user signs out.
  /// - Parameter 5: whether the session must have had a second factor.
  static let list = Statement<BrowserUser, DeviceID, AppID, BinaryBytes, Bool, Bool>(
    "browser_users.list",
    """
    select u.user_id, s.session_id, d.device_id, floor(extract(epoch from s.authenticated_at))::bigint,
      p.is_active, u.email, u.name, u.picture, s.provider
    from devices d
    cross join \(.places(switching: "$4::boolean")) p
    join sessions s on s.user_id = p.user_id and s.session_id = p.session_id and s.style = 'pages'
    join users u on u.user_id = p.user_id
    where \(.isProvedDevice) and p.is_live and p.chosen_at < \(.provedUntil)
      and meets_mfa($5::boolean, s.amr, s.provider, u.anonymous)
    order by p.is_active desc, p.chosen_at desc, p.user_id
    """
  )

  /// Ends the sessions of clients below one of the pages, but not those with `offline_access`.
  static let endClients = Statement<NoRow, UserID, SessionID>(
    "browser_users.end_clients",
    """
    update sessions set ended_at = now(), end_reason = 'logout'
    where user_id = $1 and parent_id = $2 and ended_at is null
      and ' ' || scope || ' ' not like '% offline_access %'
    """
  )

  package static let all: [any PreparedStatement] = [list, endClients]
}
