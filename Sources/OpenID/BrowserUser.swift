import Encoding
package import EventLoop
package import Postgres
package import Runtime
package import Sessions
package import Tenancy

extension SessionStyle {
  /// The style of the sessions at the hosted pages, whose tokens no client gets.
  package static let pages = SessionStyle("pages", scopes: .user)
}

/// A user who is signed in at the pages in one browser.
package struct BrowserUser: Sendable {
  package let user: UserID
  package let session: SessionID
  package let device: DeviceID
  /// When the user authenticated, in seconds since 1970.
  package let authenticatedAt: Int
  package let isActive: Bool
  /// The provider of the credential that the user has shown.
  package let provider: IdentityProvider
  /// The authentication methods of this session.
  let methods: [String]
  /// Whether the app requires a second factor, which this session lacks.
  let lacksFactor: Bool
  package let email: String?
  package let name: String?
  /// The name of the picture, for `Pictures.show`.
  package let picture: String?
  package let locale: String?

  /// Returns a user of a device; nil for a user who is not signed in at the pages.
  init?(_ user: DeviceUser) {
    guard let session = user.session, session.style == SessionStyle.pages.name else { return nil }
    self.user = user.user
    self.session = session.live.session
    device = session.live.device
    authenticatedAt = session.authenticatedAt
    isActive = user.isActive
    email = user.email
    name = user.name
    picture = user.picture
    provider = session.provider
    methods = session.methods
    lacksFactor = !session.meetsSecondFactor
    locale = user.locale
  }

  /// The principal of a request that this user makes at the pages.
  package func principal(in app: AppID) -> Principal {
    Principal(user, session, device, in: app, scopes: .user)
  }
}

@EventLoop package enum BrowserUsers {
  /// Returns the users who are signed in at the pages in the browser of the request.
  ///
  /// - Parameters:
  ///   - isLatest: whether to read on the lane of writes. A page that only shows them need not.
  ///   - context: the context of the request.
  /// - Returns: the users, the active one first; none without a device.
  /// - Throws: `.databaseUnavailable`.
  package static func list(
    isLatest: Bool = true, _ context: RequestContext
  ) async throws(Failure) -> [BrowserUser] {
    try await all(isLatest: isLatest, context).filter { !$0.lacksFactor }
  }

  /// Returns also the users whose session lacks a second factor that the app requires by now.
  package static func all(
    isLatest: Bool = true, _ context: RequestContext
  ) async throws(Failure) -> [BrowserUser] {
    do throws(Failure) {
      return try await Devices.list(isLatest: isLatest, context).users.compactMap(BrowserUser.init)
    } catch .deviceUnknown {
      return []
    }
  }

  /// Returns whether the browser knows a user, who may be signed out.
  package static func areKnown(_ context: RequestContext) async throws(Failure) -> Bool {
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
    ofClientSession id: SessionID, of client: ClientID?, among users: [UserID],
    _ context: RequestContext
  ) async throws(Failure) -> UserID? {
    guard let device = context.device else { return nil }
    for user in users {
      let found = try await context.read(
        BrowserUserQueries.ofClient, user, id, device.id, client, on: .exclusive
      )
      if !found.isEmpty { return user }
    }
    return nil
  }

  /// Returns the newest session that a client got in the browser, which may have ended.
  ///
  /// Its user is the one whom the client knows.
  /// - Parameters:
  ///   - client: the client.
  ///   - users: the users of the browser.
  ///   - context: the context of the request.
  /// - Returns: the session; nil if the client has got none, or maintenance has deleted it.
  /// - Throws: `.databaseUnavailable`.
  package static func newestSession(
    of client: ClientID, among users: [UserID], _ context: RequestContext
  ) async throws(Failure) -> BrowserClientSession? {
    guard let device = context.device?.id else { return nil }
    let statement = BrowserUserQueries.newestOfClient
    let calls = users.map { PendingQuery(statement, $0, device, client) }
    let found = try await context.read(statement, calls, on: .exclusive)
    return found.joined().max { $0.id.text < $1.id.text }
  }

  /// Returns whether clients have sessions in the browser that a sign-out of a user would end.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func haveClientSessions(
    _ users: [UserID], _ context: RequestContext
  ) async throws(Failure) -> Bool {
    guard let device = context.device?.id else { return false }
    let statement = BrowserUserQueries.ofClients
    let calls = users.map { PendingQuery(statement, $0, device) }
    let found = try await context.read(statement, calls, on: .exclusive)
    return !found.joined().isEmpty
  }
}

/// A session of a client in a browser.
package struct BrowserClientSession: RowDecodable {
  package let user: UserID
  fileprivate let id: SessionID
  /// Whether it is live, or the client itself has just ended it, as SDKs do before a sign-out.
  package let isInUse: Bool

  package init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    id = try row.id(1)
    isInUse = try row.bool(2)
  }
}

package enum BrowserUserQueries {
  /// Returns one row if a client has a session that it got in a browser.
  ///
  /// - Parameter 4: the client; null for any.
  static let ofClient = Statement<String, UserID, SessionID, DeviceID, ClientID?>(
    "browser_users.of_client",
    """
    select session_id from sessions
    where user_id = $1 and session_id = $2 and browser_id = $3 and ended_at is null
      and ($4::text is null or client_id = $4)
    """)

  /// Returns the newest session of a client in a browser.
  static let newestOfClient = Statement<BrowserClientSession, UserID, DeviceID, ClientID>(
    "browser_users.newest_of_client",
    """
    select user_id, session_id, case when ended_at is null then expires_at > now()
      else end_reason is not distinct from 'revoked_by_client'
        and ended_at > now() - interval '10 minutes' end
    from sessions where user_id = $1 and browser_id = $2 and client_id = $3
    order by session_id desc limit 1
    """)

  /// Returns one row if clients have live sessions that end with a sign-out of the browser.
  ///
  /// Served by `sessions_live`.
  static let ofClients = Statement<SessionID, UserID, DeviceID>(
    "browser_users.of_clients",
    """
    select s.session_id from sessions s
    where s.user_id = $1 and s.browser_id = $2 and s.ended_at is null and s.expires_at > now()
      and \(.endsWithBrowser)
    limit 1
    """)
}

/// The random value in a cookie that identifies a browser to the pages.
///
/// It has no rights. It binds forms and authorizations to the browser that began them.
package struct BrowserKey: Sendable {
  /// The value of the cookie.
  package let text: String
  private let bytes: [UInt8]

  private static let length = 16

  /// Creates a key for a browser without one.
  package init() {
    bytes = Credential.salt()
    text = bytes.base64URL
  }

  /// Reads the value of a cookie; nil if it is malformed.
  package init?(_ text: String) {
    guard let bytes = [UInt8](base64URL: text), bytes.count == Self.length else { return nil }
    (self.text, self.bytes) = (text, bytes)
  }

  /// Returns the hash that is stored with an authorization.
  func hash(_ master: MasterKey) -> BinaryBytes {
    BinaryBytes(master.hash(of: Array("browser ".utf8) + bytes, by: 0))
  }

  /// Returns the mark of a form that this browser has sent with its pass.
  ///
  /// A form may have no secret, so the key and the form alone do not tell who sent it.
  package func mark(of form: [UInt8], with pass: String?, _ master: MasterKey) -> String {
    let pass = Array("\(pass ?? "")\0".utf8)
    return master.mark(of: Array("sent\0".utf8) + bytes + pass + form, by: 0).base64URL
  }

  /// Returns the token of a form, which only this browser can send.
  ///
  /// - Parameters:
  ///   - form: the name of the form, and the flow that it belongs to.
  ///   - master: the master key.
  /// - Returns: the token.
  package func formToken(_ form: String, _ master: MasterKey) -> String {
    master.mark(of: Array("form \(form)\0".utf8) + bytes, by: 0).base64URL
  }
}
