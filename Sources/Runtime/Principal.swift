import Encoding
package import Postgres

/// The user, API client, operator or administrator that makes a request, with its scopes.
///
/// A principal is the content of a credential. A statement that uses it checks that its session is
/// live.
package final class Principal: Sendable {
  package enum Role: Sendable {
    /// A request without a valid credential.
    case anyone
    case user
    case client
    /// The operator, on the command line.
    case `operator`
    /// An administrator, in the console.
    case administrator
    /// Dossier itself.
    case system
  }

  package let role: Role
  /// The app in which the principal acts; `.deployment` outside of apps.
  package let app: AppID
  package let scopes: Scopes
  /// Nil unless the principal is a user, as are the session and the device.
  package let user: UserID?
  package let session: SessionID?
  package let device: DeviceID?
  private let client: ClientID?
  /// Nil unless the principal is an administrator, who is no user of the app.
  package let administrator: Administrator?
  /// The person on the command line; nil unless the principal is the operator.
  package let person: CommandLinePerson?
  /// Whether the user only reads: a session of support, whose tokens have the claim `act`.
  package let isReadOnly: Bool

  /// A principal that is neither a user, an API client nor an administrator.
  package init(_ role: Role, in app: AppID, scopes: Scopes) {
    (self.role, self.app, self.scopes) = (role, app, scopes)
    (user, session, device, client, administrator) = (nil, nil, nil, nil, nil)
    (person, isReadOnly) = (nil, false)
  }

  /// The operator, with the person who uses the command line; nil if that is unknown.
  package init(operator person: CommandLinePerson?, in app: AppID) {
    (role, self.app, scopes) = (.operator, app, .everything)
    (user, session, device, client, administrator) = (nil, nil, nil, nil, nil)
    (self.person, isReadOnly) = (person, false)
  }

  /// A user, in a session on a device.
  package init(
    _ user: UserID, _ session: SessionID, _ device: DeviceID, in app: AppID, scopes: Scopes,
    isReadOnly: Bool = false
  ) {
    (role, self.app, self.scopes) = (.user, app, scopes)
    (self.user, self.session, self.device) = (user, session, device)
    (client, administrator, person) = (nil, nil, nil)
    self.isReadOnly = isReadOnly
  }

  /// An API client.
  package init(_ client: ClientID, in app: AppID, scopes: Scopes) {
    (role, self.app, self.scopes) = (.client, app, scopes)
    (user, session, device, self.client) = (nil, nil, nil, client)
    (administrator, person, isReadOnly) = (nil, nil, false)
  }

  /// An administrator, whose rights the routes check.
  package init(_ administrator: Administrator, in app: AppID) {
    (role, self.app, scopes) = (.administrator, app, .everything)
    (user, session, device, client) = (nil, nil, nil, nil)
    self.administrator = administrator
    (person, isReadOnly) = (nil, false)
  }

  /// Returns a user without a session, as the actor of events.
  package static func user(of app: AppID) -> Principal {
    Principal(.user, in: app, scopes: Scopes(""))
  }

  package static let anyone = Principal(.anyone, in: .deployment, scopes: Scopes(""))

  /// The name of the principal in events.
  package var name: String {
    switch role {
    case .anyone: "unauthenticated"
    case .user: "user"
    case .client: "client:\(client?.text ?? "")"
    case .operator: person?.actor ?? "operator"
    case .administrator: "administrator:\(administrator?.id.text ?? "")"
    case .system: "system"
    }
  }
}

extension SQL {
  /// The condition that the principal `$2` may access the user `$1`, who is `c` in the statement.
  ///
  /// A session must be live, and its user not blocked. A back end reaches the users of its app. The
  /// keys are parameters, so that one node of a distributed database has all rows.
  package static let isAuthorized: SQL = """
    c.user_id = $1 and ($2::text = 'app:' || c.app_id or c.blocked_at is null and exists (
        select 1 from sessions s
        where s.user_id = $1 and s.session_id = $2::text and s.ended_at is null
          and s.expires_at > now()))
    """
}

/// The second parameter of statements with `SQL.isAuthorized`.
extension Principal: Bindable {
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    switch role {
    case .user: (session?.text ?? "").appendText(to: &bytes)
    case .client, .operator, .administrator, .system: "app:\(app)".appendText(to: &bytes)
    // No session has this id.
    case .anyone: "".appendText(to: &bytes)
    }
  }
}

/// The scopes of a token, as in OAuth.
package struct Scopes: Sendable, Equatable {
  package static let readUser = "read:current_user"
  package static let createMetadata = "create:current_user_metadata"
  package static let updateMetadata = "update:current_user_metadata"
  package static let deleteMetadata = "delete:current_user_metadata"
  package static let updateIdentities = "update:current_user_identities"
  /// The scopes that a client can get for a user.
  ///
  /// - Source: the scope names of Auth0's management API.
  package static let ofUser = [
    readUser, createMetadata, updateMetadata, deleteMetadata, updateIdentities,
  ]
  /// The scopes of a user's own session.
  package static let user = Scopes("\(readUser) \(updateMetadata) \(updateIdentities)")

  /// All scopes, in every app.
  package static let everything = Scopes()

  /// The scopes, separated by spaces.
  package let text: String
  /// A linear search of this short list is faster than hashing.
  private let names: [Substring]
  private let isEverything: Bool

  package init(_ text: String) {
    self.text = text
    var names: [Substring] = []
    // Each token makes its scopes, and `split` takes several times as long.
    let bytes = text.utf8.span
    var start = 0
    for end in 0...bytes.count where end == bytes.count || bytes[end] == UInt8(ascii: " ") {
      if start < end {
        let first = text.utf8.index(text.startIndex, offsetBy: start)
        names.append(text[first..<text.utf8.index(first, offsetBy: end - start)])
      }
      start = end + 1
    }
    self.names = names
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

extension Scopes {
  package static let readUsers = "read:users"
  package static let updateUsers = "update:users"
  package static let deleteUsers = "delete:users"
  package static let createUsers = "create:users"
  package static let readAppMetadata = "read:users_app_metadata"
  package static let updateAppMetadata = "update:users_app_metadata"
  package static let readUserLogs = "read:logs_users"
  package static let readEvents = "read:events"
  package static let readRevocations = "read:revocations"
  /// The scopes that a client of an app can have.
  ///
  /// - Source: the scope names of Auth0's management API.
  package static let management = [
    readUsers, updateUsers, deleteUsers, createUsers, readAppMetadata, updateAppMetadata,
    readUserLogs, readEvents, readRevocations,
  ]
}

/// Names that operators give to apps and issuers.
package enum OperatorName {
  /// Returns the rule that the name of an app or an issuer breaks; nil if it is valid.
  ///
  /// The name is also part of a path.
  package static func fault(in name: String) -> FieldError? {
    let bytes = Array(name.utf8)
    let isFit =
      (1...63).contains(bytes.count) && bytes.first != UInt8(ascii: "-")
      && bytes.allSatisfy { byte in
        byte == UInt8(ascii: "-") || byte.isLetterOrDigit && !byte.isUpperCase
      }
    guard !isFit else { return nil }
    let rule = "A name must have 1 to 63 of a-z, 0-9 and -, and not begin with -."
    return FieldError("/name", "name", rule)
  }

  /// Returns the rule that a display label breaks; nil if it is valid.
  package static func labelFault(in label: String) -> FieldError? {
    let isFit =
      (1...100).contains(label.unicodeScalars.count)
      && !label.hasControlCharacters
    let rule = "A name must have 1 to 100 characters in one line."
    guard isFit else { return FieldError("/name", "length", rule) }
    return DisplayName.fault(in: label, at: "/name")
  }
  package static let descriptionRule =
    "A description must be a text of at most 500 characters in one line."

  /// Returns whether a text can be the description of a role or a scope.
  package static func isDescription(_ text: String) -> Bool {
    (0...500).contains(text.unicodeScalars.count)
      && !text.hasControlCharacters
  }
}
