import Postgres

/// The user, API client or operator that makes a request, with its scopes.
///
/// A principal is what a token says. A statement that uses it checks that its session is live.
package final class Principal: Sendable {
  package enum Kind: Sendable {
    /// A request without a valid credential.
    case anyone
    /// A user, in a session on a device.
    case user(UserID, SessionID, DeviceID)
    /// An API client.
    case client(ClientID)
    /// The operator, on the command line.
    case `operator`
    /// Dossier itself.
    case system
  }

  package let kind: Kind
  /// The app in which the principal acts; `.deployment` outside of apps.
  package let app: AppID
  package let scopes: Scopes

  package init(_ kind: Kind, in app: AppID, scopes: Scopes) {
    self.kind = kind
    self.app = app
    self.scopes = scopes
  }

  package static let anyone = Principal(.anyone, in: .deployment, scopes: Scopes(""))

  /// Nil if the principal is no user.
  package var user: UserID? {
    if case .user(let user, _, _) = kind { user } else { nil }
  }

  package var session: SessionID? {
    if case .user(_, let session, _) = kind { session } else { nil }
  }

  package var device: DeviceID? {
    if case .user(_, _, let device) = kind { device } else { nil }
  }

  /// The name of the principal in events.
  package var name: String {
    switch kind {
    case .anyone: "anyone"
    case .user: "user"
    case .client(let id): "client:\(id)"
    case .operator: "operator"
    case .system: "system"
    }
  }
}

/// The second argument of the database's function `caller`, which decides what the principal reaches.
extension Principal: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    switch kind {
    case .user(_, let session, _): session.text.appendText(to: &bytes)
    case .client, .operator, .system: "app:\(app)".appendText(to: &bytes)
    // No session has this id.
    case .anyone: "".appendText(to: &bytes)
    }
  }
}

/// The scopes of a token, as in OAuth.
package struct Scopes: Sendable, Equatable {
  package static let readUser = "read:current_user"
  package static let updateMetadata = "update:current_user_metadata"
  package static let updateIdentities = "update:current_user_identities"
  /// The scopes of a user's own session.
  package static let user = Scopes("\(readUser) \(updateMetadata) \(updateIdentities)")

  /// Everything, in every app.
  package static let everything = Scopes()

  /// The scopes, separated by spaces.
  package let text: String
  /// A search through this short list is faster than a hash.
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
