package import Outbound
import Postgres

/// Whose data a call is about, and by what right it is made.
///
/// Whether that right still holds is for the statement to check that does the call's work.
package final class Caller: Sendable {
  package let user: UserID
  package let authority: Authority
  package let app: AppID
  package let scopes: Scopes
  /// For the audit trail.
  let actor: String

  /// The user itself, as a verified access token says.
  init(user: UserID, session: SessionID, device: DeviceID, app: AppID, scopes: Scopes) {
    self.user = user
    authority = .session(session, device)
    self.app = app
    self.scopes = scopes
    actor = "user"
  }

  /// A program of the app, which works on the data of any of its users, blocked ones too.
  package init(_ program: Actor, scopes: Scopes, on user: UserID, of app: AppID) {
    self.user = user
    authority = .program(app)
    self.app = app
    self.scopes = scopes
    actor = program.text
  }

  package var session: SessionID? {
    if case .session(let session, _) = authority { session } else { nil }
  }

  package var device: DeviceID? {
    if case .session(_, let device) = authority { device } else { nil }
  }

  /// What it means that there is no such user, or that the right does not hold any more.
  var gone: Failure {
    switch authority {
    case .session: .unauthenticated(.sessionEnded)
    case .program: .notFound
    }
  }
}

/// The second argument of the function `caller` in the database.
///
/// Indirect, since it is copied often and read once.
package indirect enum Authority: Sendable, Bindable {
  case session(SessionID, DeviceID)
  case program(AppID)

  package func appendText(to bytes: inout [UInt8]) -> Bool {
    switch self {
    case .session(let session, _): session.text.appendText(to: &bytes)
    case .program(let app): "app:\(app)".appendText(to: &bytes)
    }
  }
}

/// What a token allows, by OAuth's names.
package struct Scopes: Sendable, Equatable {
  package static let readUser = "read:current_user"
  package static let updateMetadata = "update:current_user_metadata"
  package static let updateIdentities = "update:current_user_identities"
  /// What a user's own session may do.
  package static let user = Scopes("\(readUser) \(updateMetadata) \(updateIdentities)")

  /// What the operator and its programs may do: everything, in every app.
  package static let everything = Scopes()

  /// Space-separated, as on the wire.
  package let text: String
  /// Few: looked through faster than hashed.
  private let names: [Substring]
  private let isEverything: Bool

  package init(_ text: String) {
    self.text = text
    names = text.utf8.split(separator: UInt8(ascii: " ")).map { Substring($0) }
    isEverything = false
  }

  private init() {
    (text, names, isEverything) = ("", [], true)
  }

  package func contains(_ scope: String) -> Bool {
    if isEverything { return true }
    for name in names where name == scope { return true }
    return false
  }
}

/// From where a call came, for the guards, the session list and the audit trail.
package struct Origin: Sendable {
  /// As the web server gave it: read when it is needed, which most calls do not.
  private let text: String?
  package let agent: String?

  /// - Parameters:
  ///   - address: the client's, as a trusted web server gave it.
  ///   - agent: the `User-Agent`; cut to 512 characters.
  package init(address: String?, agent: String?) {
    text = address
    // Every request comes by here: characters are counted only of what may be too long.
    self.agent = agent.map { $0.utf8.count <= 512 ? $0 : String($0.prefix(512)) }
  }
  private var ip: IPAddress? { text.flatMap(IPAddress.init) }

  /// The IP address in one spelling, with mapped IPv4 as IPv4; nil if the text is no IP address.
  package var address: String? { ip?.description }

  /// The network of the address, as `IPAddress.network` has it; empty without an address.
  package var network: [UInt8] { ip?.network ?? [] }

  /// The site that the network belongs to, as `IPAddress.site` has it; nil without one.
  package var site: [UInt8]? { ip?.site }

  /// Whether the caller is on this machine.
  ///
  /// `unix:` is what nginx says of a client on a Unix socket.
  package var isLocal: Bool { text == "unix:" || ip?.isLoopback == true }

  /// Whether the caller is in one of some networks.
  package func isIn(_ networks: [IPNetwork]) -> Bool {
    !networks.isEmpty && ip.map { ip in networks.contains { $0.contains(ip) } } == true
  }
}
