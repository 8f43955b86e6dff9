package import Tenancy
package import Postgres
package import Runtime

/// A user who is known on a device.
package struct DeviceUser: RowDecodable {
  package enum State: Sendable {
    case active
    /// Logged in, and not active.
    case inactive
    case loggedOut
  }

  package let user: UserID
  package let activatedAt: Timestamp
  /// Whether the user is the active one of the device.
  package fileprivate(set) var isActive = false
  package let isAnonymous: Bool
  package let name: String?
  package let nickname: String?
  package let email: String?
  /// The same value as in the profile.
  package let picture: String?
  package let locale: String?
  /// The newest live session of the user on the device.
  package let session: DeviceSession?

  package var state: State { session == nil ? .loggedOut : isActive ? .active : .inactive }

  package init(from row: Row) throws(DatabaseError) {
    session = row.isNull(0) ? nil : try DeviceSession(from: row)
    user = try row.id(5)
    activatedAt = try row.time(6)
    isAnonymous = try row.bool(7)
    name = row.text(ifAny: 8)
    nickname = row.text(ifAny: 9)
    email = row.text(ifAny: 10)
    picture = row.text(ifAny: 11)
    locale = row.text(ifAny: 12)
  }
}

/// The live session of a user on a device.
package struct DeviceSession: RowDecodable {
  package let live: LiveSession
  /// The name of the style of its tokens.
  package let style: String
  /// The provider of the credential that the user has shown.
  package let provider: IdentityProvider
  /// When the user authenticated, in seconds since 1970.
  package let authenticatedAt: Int
  /// The authentication methods (RFC 8176).
  package let methods: [String]
  /// Whether the session has passed a second factor, or needs none.
  package let meetsSecondFactor: Bool

  package init(from row: Row) throws(DatabaseError) {
    live = try LiveSession(from: row)
    style = try row.text(13)
    provider = IdentityProvider(try row.text(14))
    authenticatedAt = try row.int(15)
    methods = try row.text(16).split(separator: " ").map(String.init)
    meetsSecondFactor = try row.bool(17)
  }

  /// Returns whether the tokens of a style may be issued for the session.
  func isUsable(as style: SessionStyle) -> Bool { self.style == style.name && meetsSecondFactor }
}

/// The row of a device.
package struct DeviceState: RowDecodable {
  /// The users as the database prints them: `{id,id}`.
  let list: String
  /// No user is active whose last activation is not later; nil for no such time.
  let inactiveSince: Timestamp?

  package init(from row: Row) throws(DatabaseError) {
    list = try row.text(0)
    inactiveSince = try row.time(ifAny: 1)
  }

  /// The users who have signed in on the device.
  ///
  /// The accounts of users decide who is still known there.
  var users: [UserID] { Self.users(in: list) }

  /// Returns the users of a list, as the database prints it.
  package static func users(in list: String) -> [UserID] {
    list.split { "{,}".contains($0) }.map { UserID(trusted: String($0)) }
  }
}

/// A device whose credential a client has sent.
package struct DeviceRecord: RowDecodable {
  let state: DeviceState
  /// Whether the client's secret is the current one.
  let isCurrent: Bool
  /// Whether the secret is the current one, or the previous one within its grace period.
  let isRight: Bool
  /// The secret acts only for users who were activated before this time; nil for all users.
  let until: Timestamp?
  /// Whether the time of the last use is an hour old.
  let isStale: Bool

  package init(from row: Row) throws(DatabaseError) {
    state = try DeviceState(from: row)
    isCurrent = try row.bool(2)
    isRight = try row.bool(3)
    until = try row.time(ifAny: 4)
    isStale = try row.bool(5)
  }

  /// Returns whether the client's secret is right, and the device lists a user.
  ///
  /// The user may have left it since: the account of the user decides.
  package func lists(_ user: UserID?) -> Bool {
    guard isRight, let user else { return false }
    return state.users.contains(user)
  }

  /// Returns whether the client's secret acts for a user.
  func reaches(_ user: DeviceUser) -> Bool {
    user.activatedAt.microseconds < until?.microseconds ?? .max
  }
}

/// The users of a device, the most recently activated first.
struct DeviceUsers {
  let all: [DeviceUser]
  private let inactiveSince: Timestamp?

  init(_ rows: [DeviceUser], on device: DeviceState) {
    inactiveSince = device.inactiveSince
    all = rows.sorted {
      ($1.activatedAt.microseconds, $0.user.text) < ($0.activatedAt.microseconds, $1.user.text)
    }
  }

  /// The last activation of a user; nil without users.
  var latest: Timestamp? { all.first?.activatedAt }

  subscript(_ user: UserID) -> DeviceUser? { all.first { $0.user == user } }

  /// Returns the active user.
  ///
  /// With switching, another user becomes active when the active user logs out.
  func active(switching: Bool) -> DeviceUser? {
    guard let user = switching ? all.first(where: { $0.session != nil }) : all.first,
      user.session != nil, user.activatedAt.microseconds > inactiveSince?.microseconds ?? .min
    else { return nil }
    return user
  }

  /// Returns the users for whom a credential acts, the active one first.
  func reached(by record: DeviceRecord, switching: Bool) -> [DeviceUser] {
    shown(switching: switching, where: record.reaches)
  }

  /// Returns some of the users, the active one first.
  func shown(switching: Bool, where isShown: (DeviceUser) -> Bool) -> [DeviceUser] {
    let active = active(switching: switching)?.user
    var users = all.filter(isShown)
    if let place = users.firstIndex(where: { $0.user == active }) {
      var user = users.remove(at: place)
      user.isActive = true
      users.insert(user, at: 0)
    }
    return users
  }
}
