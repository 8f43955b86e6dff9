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
  /// Whether the user has passed a second factor in this session.
  let hasSecondFactor: Bool
  /// Whether the app requires a second factor, which this session lacks.
  let lacksFactor: Bool
  package let email: String?
  package let name: String?
  /// The name of the picture, for `Pictures.show`.
  package let picture: String?
  package let locale: String?

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
    hasSecondFactor = try row.bool(9)
    lacksFactor = try row.bool(10)
    locale = row.text(ifAny: 11)
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
    try await all(context).filter { !$0.lacksFactor }
  }

  /// Returns also the users whose session lacks a second factor that the app requires by now.
  package static func all(_ context: RequestContext) async throws(Failure) -> [BrowserUser] {
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

  /// Returns whether the browser knows a user, who may be signed out.
  static func areKnown(_ context: RequestContext) async throws(Failure) -> Bool {
    do throws(Failure) {
      return try await Devices.list(context).users.contains { !$0.isAnonymous }
    } catch .deviceUnknown {
      return false
    }
  }

  /// Returns the user of the browser whose live session a client has got under an id.
  ///
  /// - Parameters:
  ///   - id: the id of the session.
  ///   - client: the client that may have it; nil for any.
  ///   - users: the users of the browser.
  ///   - context: the context of the request.
  /// - Returns: the user; nil if none of them has such a session.
  /// - Throws: `.databaseUnavailable`.
  package static func user(
    ofClientSession id: SessionID,
    of client: ClientID?,
    among users: [UserID],
    _ context: RequestContext
  ) async throws(Failure) -> UserID? {
    guard let device = context.device else { return nil }
    for user in users {
      let found = try await context.readLatest(
        BrowserUserQueries.ofClient,
        user,
        id,
        device.id,
        client
      )
      if !found.isEmpty { return user }
    }
    return nil
  }
}

package enum BrowserUserQueries {
  /// - Parameter 4: whether another user becomes active when the active user signs out.
  /// - Parameter 5: whether the session must have had a second factor.
  static let list = Statement<BrowserUser, DeviceID, AppID, BinaryBytes, Bool, Bool>(
    "browser_users.list",
    """
    select u.user_id, s.session_id, d.device_id, floor(extract(epoch from s.authenticated_at))::bigint,
      p.is_active, u.email, u.name, u.picture, s.provider, has_second_factor(s.amr),
      not meets_mfa($5::boolean, s.amr, s.provider, u.anonymous), u.locale
    from devices d
    cross join \(.places(switching: "$4::boolean")) p
    join sessions s on s.user_id = p.user_id and s.session_id = p.session_id and s.style = 'pages'
    join users u on u.user_id = p.user_id
    where \(.isProvedDevice) and p.is_live and p.activated_at < \(.provedUntil)
    order by p.is_active desc, p.activated_at desc, p.user_id
    """
  )

  /// Returns one row if a client has a session that it got in a browser.
  ///
  /// - Parameter 4: the client; null for any.
  static let ofClient = Statement<String, UserID, SessionID, DeviceID, ClientID?>(
    "browser_users.of_client",
    """
    select session_id from sessions
    where user_id = $1 and session_id = $2 and browser_id = $3 and ended_at is null
      and ($4::text is null or client_id = $4)
    """
  )

  package static let all: [any PreparedStatement] = [list, ofClient]
}
